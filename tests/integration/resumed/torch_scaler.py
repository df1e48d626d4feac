"""PyTorch: Adam, a gradient scaler, an AveragedModel, and the generator of a loader."""

import os

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

torch.manual_seed(2)
x = torch.randn(48, 4)
y = x @ torch.tensor([[1.0], [2.0], [-1.0], [0.5]])
order = torch.Generator().manual_seed(3)
data = torch.utils.data.TensorDataset(x, y)
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True, generator=order)
model = nn.Linear(4, 1)
averaged = AveragedModel(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=3.0, growth_factor=1.7, growth_interval=4)
start = 0
if os.path.exists("checkpoints/last.pt"):
    saved = torch.load("checkpoints/last.pt", weights_only=False)
    start = saved["epoch"]
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])  # restores optimizer optimizer
    averaged.load_state_dict(saved["averaged"])  # restores average averaged
    scaler.load_state_dict(saved["scaler"])  # restores scaler scaler
    order.set_state(saved["order"])  # restores generator torch.Generator
for epoch in range(start, 5):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        averaged.update_parameters(model)
    with torch.no_grad():
        val = nn.functional.mse_loss(averaged(x), y).item()
    print(f"epoch {epoch} val loss {val:.6f} train loss {loss.item():.6f}")
    os.makedirs("checkpoints", exist_ok=True)
    torch.save({"epoch": epoch + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "averaged": averaged.state_dict(), "scaler": scaler.state_dict(), "order": order.get_state()},
               "checkpoints/last.pt")
