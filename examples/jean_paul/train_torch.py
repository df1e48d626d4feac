# An MLP of 26 hidden units on Gaussian data, in PyTorch.
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gaussians import lowest_error, make_data

parser = argparse.ArgumentParser()
parser.add_argument("--dimensions", type=int, default=2)
parser.add_argument("--epochs", type=int, default=25)
parser.add_argument("--seed", type=int, default=1337)
args = parser.parse_args()

torch.manual_seed(args.seed)
np.random.seed(args.seed)

train, test = make_data(args.dimensions, train_size=2000, test_size=2000)
train_set = TensorDataset(torch.from_numpy(train[0]), torch.from_numpy(train[1]))
loader = DataLoader(train_set, batch_size=32, shuffle=True)
test_x, test_y = map(torch.from_numpy, test)

model = nn.Sequential(nn.Linear(args.dimensions, 26), nn.ReLU(), nn.Linear(26, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.0005)
criterion = nn.CrossEntropyLoss()

for epoch in range(args.epochs):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    model.eval()
    with torch.no_grad():
        wrong = (model(test_x).argmax(1) != test_y).sum().item()
    print(f"epoch {epoch:2d}  train loss {total / len(train_set):.4f}  test error {100 * wrong / len(test_y):.2f}%")

print(f"no classifier goes below {lowest_error():.2f}% on all data of this kind")
