"""Two ranks of Accelerate, which seeds them alike and shares the order of the data between them."""

import hashlib

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from noisy import Noisy
from torch import nn
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True)
set_seed(3)
net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.3), nn.Linear(16, 2))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
net, optimizer, loader = accelerator.prepare(net, optimizer, DataLoader(Noisy(), batch_size=8, shuffle=True))
for _ in range(2):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x + 0.01 * torch.randn_like(x)), y)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
if accelerator.is_main_process:
    print("sha", hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in net.parameters())).hexdigest())
accelerator.end_training()
