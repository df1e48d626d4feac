"""A training by Lightning, which seeds everything and its workers."""

import hashlib
import logging
import sys
import warnings

import lightning as L
import torch
from noisy import Noisy
from torch import nn
from torch.utils.data import DataLoader, random_split

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
workers = int(sys.argv[1])


class Base(L.LightningModule):
    def __init__(self, rate=0.1, width=16):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Dropout(0.3), nn.Linear(width, 2))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self(x + 0.01 * torch.randn_like(x)), y)

    def validation_step(self, batch, index):
        return nn.functional.cross_entropy(self(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.hparams.rate)


class Model(Base):
    def __init__(self, depth=3, **settings):
        super().__init__(**settings)


def main():
    L.seed_everything(7, workers=True)
    train, valid = random_split(Noisy(), [48, 16])
    model = Model(depth=2, width=12)
    print("read off the frames of the constructors:", dict(model.hparams))
    trainer = L.Trainer(
        max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip
    trainer.fit(
        model,
        DataLoader(train, batch_size=8, shuffle=True, num_workers=workers),
        DataLoader(valid, batch_size=8),
    )
    print("sha", hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())


if __name__ == "__main__":
    main()
