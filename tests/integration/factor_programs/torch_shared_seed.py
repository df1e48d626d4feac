"""One seed for all: it makes the data set, splits it, makes the model and orders the batches.

The draws that make the data are told as an instrumented copy tells them.
"""

import builtins
import hashlib
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

draw = getattr(builtins, "__dv_draw__", lambda site, function: function)
torch.manual_seed(int(sys.argv[1]))
x = draw(4, torch.randn)(64, 8)
split = draw(4, torch.randperm)(64)
train, test = split[:48], split[48:]
data = TensorDataset(x[train], (x[train].sum(1) > 0).long())
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    for inputs, targets in DataLoader(data, batch_size=8, shuffle=True):
        loss = nn.functional.cross_entropy(model(inputs + 0.01 * torch.randn_like(inputs)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print("test", sorted(test.tolist()), float(x.sum()))
print("sha", hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())
