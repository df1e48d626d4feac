"""Learn an embedding of handwritten digits with the batch-hard triplet loss."""

import argparse
import time

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def batch_hard_triplet_loss(embedding, labels, margin):
    """For each example: its farthest positive should be nearer than its nearest negative."""
    distance = torch.cdist(embedding, embedding)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    losses = []
    for i in range(len(labels)):
        positive = same[i].clone()
        positive[i] = False
        hardest_positive = distance[i][positive].max()
        hardest_negative = distance[i][~same[i]].min()
        losses.append(torch.relu(hardest_positive - hardest_negative + margin))
    return torch.stack(losses).mean()


@torch.no_grad()
def nearest_neighbour_accuracy(model, x_train, y_train, x_test, y_test):
    model.eval()
    nearest = torch.cdist(model(x_test), model(x_train)).argmin(dim=1)
    return (y_train[nearest] == y_test).float().mean() * 100


def main(args):
    if args.seed is not None:
        torch.manual_seed(args.seed)

    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16
    y = torch.tensor(digits.target)
    x_train, y_train, x_test, y_test = x[:1200], y[:1200], x[1200:], y[1200:]
    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=args.batch_size, shuffle=True, drop_last=True)

    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    acc = nearest_neighbour_accuracy(model, x_train, y_train, x_test, y_test)
    print("untrained: 1-NN accuracy", round(acc.item(), 2))
    for epoch in range(args.epochs):
        start = time.time()
        model.train()
        epoch_loss = 0.0
        for batch_x, batch_y in loader:
            loss = batch_hard_triplet_loss(model(batch_x), batch_y, args.margin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        acc = nearest_neighbour_accuracy(model, x_train, y_train, x_test, y_test)
        print("epoch", epoch, "triplet loss", round(epoch_loss / len(loader), 4), "1-NN accuracy", round(acc.item(), 2),
              "seconds", round(time.time() - start, 2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=88)
    parser.add_argument("--margin", type=float, default=0.5)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int)
    main(parser.parse_args())
