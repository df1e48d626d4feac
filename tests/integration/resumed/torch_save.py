"""PyTorch: momentum, a scheduler, dropout, an average of the weights in a dictionary, and a step counter."""

import os

import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(64, 4)
y = (x.sum(1) > 0).long()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
ema = {name: value.clone() for name, value in model.state_dict().items()}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
step = start = 0
if os.path.exists("ckpt.pt"):
    saved = torch.load("ckpt.pt", weights_only=False)
    start = saved["epoch"]
    model.load_state_dict(saved["model"])  # restores weights model
    optimizer.load_state_dict(saved["optimizer"])  # restores optimizer optimizer
    scheduler.load_state_dict(saved["scheduler"])  # restores scheduler scheduler
    torch.set_rng_state(saved["rng"])  # restores generator torch
    step = saved["step"]  # restores variable step
    ema = saved["ema"]  # restores variable ema
for epoch in range(start, 5):
    total = 0.0
    for inputs, targets in loader:
        step += 1
        loss = nn.functional.cross_entropy(model(inputs), targets) * (1 + 0.01 * step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for name, value in model.state_dict().items():
            ema[name] = 0.9 * ema[name] + 0.1 * value
        total += loss.item()
    scheduler.step()
    norm = sum(value.norm().item() for value in ema.values())
    print(f"epoch {epoch} loss {total:.4f} ema loss {norm:.4f}")
    torch.save({"epoch": epoch + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(), "rng": torch.get_rng_state(), "step": step, "ema": ema},
               "ckpt.pt")
