"""A LightningModule: validation in `fit`, then a test."""

import lightning as L
import numpy as np
import torch
import torchmetrics
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
        self.accuracy = torchmetrics.classification.MulticlassAccuracy(num_classes=3, average="micro")
        self.rows = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.accuracy(self(x), y)
        self.log("val_accuracy", self.accuracy, on_epoch=True)

    def test_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.rows.append(torch.stack([logits.argmax(1), y]))
        self.log("test_accuracy", (logits.argmax(1) == y).float().mean(), on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)


def main():
    L.seed_everything(1, verbose=False)
    x = torch.randn(192, 6)
    y = (x[:, :3] + 0.8 * torch.randn(192, 3)).argmax(1)
    loaders = [
        DataLoader(TensorDataset(x[part], y[part]), batch_size=16, shuffle=first)
        for first, part in ((True, slice(96)), (False, slice(96, 144)), (False, slice(144, 192)))
    ]
    trainer = L.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )  # fmt: skip
    module = Classifier()
    trainer.fit(module, loaders[0], loaders[1])
    print({name: repr(value.item()) for name, value in trainer.callback_metrics.items()})
    (tested,) = trainer.test(module, loaders[2], verbose=False)
    print(tested)
    labels, targets = torch.cat(module.rows, dim=1).numpy()
    np.savez("own.npz", label=labels, target=targets, accuracy=tested["test_accuracy"])


if __name__ == "__main__":
    main()
