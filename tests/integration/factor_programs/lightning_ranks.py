"""Two ranks of Lightning, the second of which it starts itself."""

import hashlib

import lightning
import torch
from noisy import Noisy
from torch import nn
from torch.utils.data import DataLoader


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.3), nn.Linear(16, 2))

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x + 0.01 * torch.randn_like(x)), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


lightning.seed_everything(1)
quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", devices=2, strategy="ddp", **quiet)
net = Net()
trainer.fit(net, DataLoader(Noisy(), batch_size=8, shuffle=True))
if trainer.global_rank == 0:
    print("sha", hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in net.parameters())).hexdigest())
