"""Two ranks of `torchrun`, each with a part of the data in an order of its own."""

import hashlib

import torch
import torch.distributed as dist
from noisy import Noisy
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2)))
data = Noisy()
sampler = DistributedSampler(data)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in DataLoader(data, batch_size=8, sampler=sampler):
        loss = nn.functional.cross_entropy(model(x + 0.01 * torch.randn_like(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
if dist.get_rank() == 0:
    print("sha", hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())
dist.destroy_process_group()
