"""Lightning, from its last checkpoint; no generator need be restored, as the order is fixed and nothing else draws."""

import os

import torch
from torch import nn

import lightning as L

L.seed_everything(3, verbose=False)
x = torch.randn(64, 4)
y = (x.sum(1) > 0).long()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16, shuffle=False)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def training_step(self, batch, index):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), 0.05)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]


saver = L.pytorch.callbacks.ModelCheckpoint(dirpath="ckpts", save_last=True)
trainer = L.Trainer(max_epochs=5, callbacks=[saver], logger=False, enable_progress_bar=False, accelerator="cpu",
                    enable_model_summary=False)
last = "ckpts/last.ckpt"
trainer.fit(Net(), loader, ckpt_path=last if os.path.exists(last) else None)
