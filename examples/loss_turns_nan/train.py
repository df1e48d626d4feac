# Breast cancer, two layers, and a binary cross entropy written by hand (log of a sigmoid).
# The learning rate is rather high.
import csv
import sys

import torch
from sklearn.datasets import load_breast_cancer

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
num_epochs = int(sys.argv[2]) if len(sys.argv) > 2 else 45
torch.manual_seed(seed)

x, y = load_breast_cancer(return_X_y=True)
x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
split = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
train, test = split[:426], split[426:]
x = (x - x[train].mean(0)) / x[train].std(0)

w1 = torch.randn(30, 16) * 0.2
b1 = torch.zeros(16)
w2 = torch.randn(16, 1) * 0.2
b2 = torch.zeros(1)
params = [w1, b1, w2, b2]
for p in params:
    p.requires_grad_(True)


def network(x):
    return torch.sigmoid(torch.relu(x @ w1 + b1) @ w2 + b2).squeeze(1)


def bce(p, y):
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


lr = 0.08
log = open("history.csv", "w", newline="")
writer = csv.writer(log)
writer.writerow(["epoch", "train_loss", "test_loss", "test_acc"])

for epoch in range(num_epochs):
    running = 0.0
    batches = train[torch.randperm(len(train))].split(32)
    for batch in batches:
        loss = bce(network(x[batch]), y[batch])
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for p, g in zip(params, grads):
                p -= lr * g
        running += loss.item()
    train_loss = running / len(batches)

    with torch.no_grad():
        p_test = network(x[test])
        test_loss = bce(p_test, y[test]).item()
        test_acc = 100 * ((p_test > 0.5).float() == y[test]).float().mean().item()
    writer.writerow([epoch, train_loss, test_loss, test_acc])
    log.flush()
    print(f"epoch {epoch:3d} | train loss {train_loss:8.4f} | test loss {test_loss:8.4f} | test accuracy {test_acc:6.2f} %")

log.close()
