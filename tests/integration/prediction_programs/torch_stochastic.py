"""Evaluate a model with active dropout several times on the same examples; the mean of all is the prediction."""

import sys

import numpy as np
import torch
from sklearn.metrics import accuracy_score, log_loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(120, 4)
y = (x[:, :1] + 0.8 * torch.randn(120, 1) > 0).float()
model = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 1), nn.Sigmoid())
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(20):
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy(model(x[:60]), y[:60])
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
loader = DataLoader(TensorDataset(x[60:], y[60:]), batch_size=25)
x, y = x[60:], y[60:]


def one_by_one():
    return np.array([model(x).numpy() for _ in range(9)])


def by_loader():
    return np.array([np.concatenate([model(inputs).numpy() for inputs, _ in loader]) for _ in range(9)])


way = sys.argv[1]
if way == "eval":
    model.eval()
with torch.no_grad():
    mean = (by_loader if way in ("loader", "eval") else one_by_one)().mean(axis=0)
own = {"target": y.numpy().reshape(-1)}
if way == "labels":
    print("accuracy", repr(accuracy_score(y, mean > 0.5)), "nll", log_loss(y, mean.astype("float64")))
    own["label"] = (mean > 0.5).reshape(-1).astype(np.int64)
elif way == "scores":
    print("nll", log_loss(y, mean.astype("float64")))
    own["value"] = mean.reshape(-1).astype("float64")
elif way == "eval":
    own["value"] = mean.reshape(-1)
print("spread", float(mean.std()))
np.savez("own.npz", **own)
