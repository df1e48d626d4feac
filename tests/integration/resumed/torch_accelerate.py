"""accelerate: what it saves has the optimizer, the scheduler and the states of generators in it."""

import os

import torch
from accelerate import Accelerator
from torch import nn

torch.manual_seed(1)
accelerator = Accelerator(cpu=True)
x = torch.randn(48, 3)
y = x.sum(1, keepdim=True)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.1), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
start = 0
if os.path.exists("state/epoch.txt"):
    with open("state/epoch.txt") as file:
        start = int(file.read())
    accelerator.load_state("state")
for epoch in range(start, 5):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.6f}")
    accelerator.save_state("state")
    with open("state/epoch.txt", "w") as file:
        file.write(str(epoch + 1))
