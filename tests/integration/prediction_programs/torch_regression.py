"""A regression: the errors are computed by hand from what the loss compares."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(128, 5)
y = x @ torch.arange(1.0, 6.0) + 0.5 * torch.randn(128)
train_loader = DataLoader(TensorDataset(x[:96], y[:96, None]), batch_size=16, shuffle=True)
test_loader = DataLoader(TensorDataset(x[96:], y[96:, None]), batch_size=10)
model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(2):
    model.train()
    for data, target in train_loader:
        optimizer.zero_grad()
        criterion(model(data), target).backward()
        optimizer.step()
    model.eval()
    values, targets, loss = [], [], 0.0
    with torch.no_grad():
        for data, target in test_loader:
            out = model(data)
            loss += criterion(out, target).item() * len(data)
            values.append(out.flatten())
            targets.append(target.flatten())
    print("epoch", epoch, "mse", repr(loss / 32))
np.savez("own.npz", value=torch.cat(values), target=torch.cat(targets))
