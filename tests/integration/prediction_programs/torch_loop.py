"""A plain loop: two evaluations an epoch, the accuracy counted batch by batch."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def test(model, loader):
    model.eval()
    correct, predictions = 0, []
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            pred = out.argmax(dim=1, keepdim=True)
            correct += pred.eq(y.view_as(pred)).sum().item()
            predictions.append(np.stack([pred.flatten().numpy(), y.numpy()]))
    return correct / len(loader.dataset), np.concatenate(predictions, axis=1)


torch.manual_seed(0)
x = torch.randn(160, 6)
y = (x[:, :3] + 0.8 * torch.randn(160, 3)).argmax(1)
train_loader = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=16, shuffle=True)
test_loader = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=20)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    model.train()
    for data, target in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(data), target).backward()
        optimizer.step()
    accuracy, predictions = test(model, test_loader)
    print("epoch", epoch, "accuracy", repr(accuracy))
np.savez("own.npz", label=predictions[0], target=predictions[1], accuracy=accuracy)
