import torch
import torch.nn.functional as F
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Dropout(0.2), nn.Linear(128, 5)).to(device)
step_model = torch.compile(model)
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
g = torch.Generator().manual_seed(1)
data = torch.randn(640, 32, generator=g).to(device)
target = (data[:, :5]).argmax(1)
for epoch in range(4):
    model.train()
    for pick in torch.randperm(512).to(device).split(64):
        loss = F.cross_entropy(step_model(data[pick]), target[pick])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        acc = (step_model(data[512:]).argmax(1) == target[512:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.6f} val_acc {acc:.4f}")
