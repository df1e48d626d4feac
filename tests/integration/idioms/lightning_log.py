"""A module of Lightning that logs: by step, for the epoch, in validation, for both splits in one function."""

# needs lightning
# expect step_loss = ^step_loss (\S+)
# expect train/loss = 'train/loss': ([^,}]+)
# expect train_error = 'train_error': ([^,}]+)
# expect val/loss = 'val/loss': ([^,}]+)
# expect val_gap = 'val_gap': ([^,}]+)
# expect total_error = 'total_error': ([^,}]+)

import logging
import sys
import warnings

import lightning as L
import torch

logging.getLogger('lightning.pytorch').setLevel(logging.ERROR)
warnings.filterwarnings('ignore')


class Line(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
        self.total_error = 0.0

    def forward(self, x):
        return self.layer(x).squeeze(-1)

    def shared_step(self, batch, stage):
        x, y = batch
        error = self(x) - y
        loss = error.pow(2).mean()
        self.log(f'{stage}/loss', loss, on_step=False, on_epoch=True)
        self.total_error += error.abs().sum().item()
        return loss, error

    def training_step(self, batch, index):
        loss, error = self.shared_step(batch, 'train')
        self.log('step_loss', loss, prog_bar=True)
        self.log('train_error', error.abs().mean(), on_step=True, on_epoch=True)
        sys.stdout.write('step_loss %.9g\n' % loss.item())
        return loss

    def validation_step(self, batch, index):
        _, error = self.shared_step(batch, 'val')
        self.log('val_gap', error.max() - error.min())

    def on_train_epoch_end(self):
        self.log('total_error', self.total_error)
        self.total_error = 0.0

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Table(L.Callback):
    def on_train_epoch_end(self, trainer, module):
        print({name: value.item() for name, value in trainer.callback_metrics.items()})


L.seed_everything(0)
x = torch.randn(48, 3)
data = torch.utils.data.TensorDataset(x, x.sum(dim=1))
loader = torch.utils.data.DataLoader(data, batch_size=16)
trainer = L.Trainer(
    max_epochs=3,
    accelerator='cpu',
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[Table()],
)
trainer.fit(Line(), loader, loader)
print({'total_error': trainer.callback_metrics['total_error'].item()})
