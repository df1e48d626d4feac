"""A module of Lightning with metric objects, several validation loaders, and a test after the training."""

# needs lightning, torchmetrics
# expect loss = 'loss': ([^,}]+)
# expect double_loss = 'double_loss': ([^,}]+)
# expect val_error/dataloader_idx_0 = 'val_error/dataloader_idx_0': ([^,}]+)
# expect val_error/dataloader_idx_1 = 'val_error/dataloader_idx_1': ([^,}]+)
# expect val_mean/dataloader_idx_0 = 'val_mean/dataloader_idx_0': ([^,}]+)
# expect val_mean/dataloader_idx_1 = 'val_mean/dataloader_idx_1': ([^,}]+)
# expect test_mae = 'test_mae': ([^,}]+)
# expect test_mse = 'test_mse': ([^,}]+)

import logging
import warnings

import lightning as L
import torch
import torchmetrics

logging.getLogger('lightning.pytorch').setLevel(logging.ERROR)
warnings.filterwarnings('ignore')


class Line(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
        self.mean_error = torchmetrics.MeanMetric()
        errors = {'mae': torchmetrics.MeanAbsoluteError(), 'mse': torchmetrics.MeanSquaredError()}
        self.test_metrics = torchmetrics.MetricCollection(errors, prefix='test_')

    def forward(self, x):
        return self.layer(x).squeeze(-1)

    def training_step(self, batch, index):
        x, y = batch
        loss = (self(x) - y).pow(2).mean()
        self.log('loss', loss, on_step=False, on_epoch=True)
        self.log('double_loss', 2 * loss, on_step=False, on_epoch=True, prog_bar=True)
        return loss

    def validation_step(self, batch, index, dataloader_idx=0):
        x, y = batch
        error = (self(x) - y).abs().mean()
        self.mean_error(error)
        self.log('val_error', error, logger=False)
        self.log('val_mean', self.mean_error)

    def test_step(self, batch, index):
        x, y = batch
        self.test_metrics(self(x), y)
        self.log_dict(self.test_metrics)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Table(L.Callback):
    def on_train_epoch_end(self, trainer, module):
        print({name: value.item() for name, value in trainer.callback_metrics.items()})

    def on_test_end(self, trainer, module):
        print({name: value.item() for name, value in trainer.callback_metrics.items() if 'test' in name})


L.seed_everything(0)
x = torch.randn(64, 3)
parts = [torch.utils.data.TensorDataset(one, one.sum(dim=1)) for one in (x[:32], x[32:48], x[48:])]
train, first, second = (torch.utils.data.DataLoader(part, batch_size=8) for part in parts)
trainer = L.Trainer(
    max_epochs=3,
    accelerator='cpu',
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[Table()],
)
model = Line()
trainer.fit(model, train, [first, second])
trainer.test(model, first, verbose=False)
