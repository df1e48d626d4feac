import argparse

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
parser.add_argument("--out")
args = parser.parse_args()
np.random.seed(2)
x = np.random.randn(60, 5)
y = (x[:, 0] > 0) * 1.0
w, losses = np.zeros(5), []
for epoch in range(args.epochs):
    p = 1 / (1 + np.exp(-x @ w))
    loss = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    acc = np.mean((p > 0.5) == y)
    w -= 0.5 * x.T @ (p - y) / len(y)
    losses.append(loss)
    print(f"epoch {epoch:3d} loss {loss:.4f} acc {acc:.3f}", flush=True)
np.save(f"{args.out}/losses.npy", losses)
