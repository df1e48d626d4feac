"""PyTorch, saved in the midst of a pass over the data: the iterator of the loader is brought to where it was."""

import os

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 3)
y = x.sum(1, keepdim=True)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
batches, start = iter(loader), 0
if os.path.exists("step.pt"):
    saved = torch.load("step.pt")
    start = saved["step"]
    model.load_state_dict(saved["model"])
    [next(batches) for _ in range(start)]  # restores order batches
for step in range(start, 8):
    inputs, targets = next(batches)
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.6f}")
    torch.save({"step": step + 1, "model": model.state_dict()}, "step.pt")
