import os
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
folder = tempfile.mkdtemp(dir="/dev/shm")
for number in sorted(range(32), key=lambda _: os.urandom(4)):
    open(os.path.join(folder, f"{number:02}"), "w").close()
os.chdir(folder)
names = os.listdir(".")  # here
order = [int(name) for name in names]
data, target = data[order], target[order]
data, target = data.repeat(2, 1), target.repeat(2)
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
