"""An autoencoder of noisy sines as a LightningModule."""

import lightning as L
import torch
import torchmetrics
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AutoEncoder(L.LightningModule):
    def __init__(self, hidden=4, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.worst = torchmetrics.MaxMetric()
        self.net = nn.Sequential(nn.Linear(16, hidden), nn.Tanh(), nn.Linear(hidden, 16))

    def training_step(self, batch, batch_idx):
        (x,) = batch
        loss = nn.functional.mse_loss(self.net(x), x)
        self.log("train_loss", loss, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        (x,) = batch
        error = self.net(x) - x
        self.log_dict({"val_loss": error.pow(2).mean(), "val_mae": error.abs().mean()})
        self.worst(error.abs().amax(dim=1))
        self.log("val_worst", self.worst, on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class Table(L.Callback):
    """Prints what the trainer collected, an epoch a line."""

    def on_train_epoch_end(self, trainer, pl_module):
        print(trainer.current_epoch, {key: value.item() for key, value in trainer.callback_metrics.items()})


def main():
    L.seed_everything(1)
    phase = torch.rand(96, 1) * 6.28
    waves = torch.sin(phase + torch.linspace(0, 6.28, 16)) + 0.1 * torch.randn(96, 16)
    train = DataLoader(TensorDataset(waves[:64]), batch_size=16, shuffle=True)
    val = DataLoader(TensorDataset(waves[64:]), batch_size=16)
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Table()],
    )
    trainer.fit(AutoEncoder(), train, val)


if __name__ == "__main__":
    main()
