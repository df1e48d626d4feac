"""Train a small MLP on scikit-learn's handwritten digits."""

import argparse
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset


class ShiftedDigits(Dataset):
    """Training images, half of them moved by one pixel whenever they are drawn."""

    def __init__(self, images, labels):
        self.images = images
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        if random.random() < 0.5:
            image = np.roll(image, random.choice([-1, 1]), axis=random.choice([0, 1]))
        return torch.from_numpy(image), self.labels[index]


class MLP(nn.Module):
    def __init__(self, hidden=128, dropout=0.25):
        super().__init__()
        self.net = nn.Sequential(
            nn.Flatten(),
            nn.Linear(64, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, 10),
        )

    def forward(self, x):
        return self.net(x)


def load_data(batch_size):
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)
    x_train, x_test, y_train, y_test = train_test_split(
        images, digits.target, test_size=0.25, stratify=digits.target, random_state=0
    )
    train_set = ShiftedDigits(x_train, y_train)
    test_set = TensorDataset(torch.from_numpy(x_test), torch.from_numpy(y_test))
    train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=256)
    return train_loader, test_loader


def train(model, loader, optimizer, epoch, log_every, device):
    model.train()
    loss_sum, correct, seen = 0.0, 0, 0
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        output = model(x)
        loss = F.cross_entropy(output, y)
        loss.backward()
        optimizer.step()

        loss_sum += loss.item() * len(y)
        correct += (output.argmax(dim=1) == y).sum().item()
        seen += len(y)
        if log_every and step % log_every == 0:
            print(f"epoch {epoch} step {step}/{len(loader)} batch loss: {loss.item():.4f}")
    return loss_sum / seen, 100.0 * correct / seen


@torch.no_grad()
def test(model, loader, device):
    model.eval()
    loss_sum, correct, seen = 0.0, 0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        output = model(x)
        loss_sum += F.cross_entropy(output, y, reduction="sum").item()
        correct += (output.argmax(dim=1) == y).sum().item()
        seen += len(y)
    return loss_sum / seen, 100.0 * correct / seen


def main():
    parser = argparse.ArgumentParser(description="MLP on handwritten digits")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=0, help="print the loss every so many steps (0: never)")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()

    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    train_loader, test_loader = load_data(args.batch_size)
    model = MLP().to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(1, args.epochs + 1):
        start = time.time()
        train_loss, train_acc = train(model, train_loader, optimizer, epoch, args.log_every, args.device)
        test_loss, test_acc = test(model, test_loader, args.device)
        print(
            f"Epoch {epoch:2d}/{args.epochs}  train loss: {train_loss:.4f}  train acc: {train_acc:.2f}%  "
            f"test loss: {test_loss:.4f}  test acc: {test_acc:.2f}%  time: {time.time() - start:.2f}s"
        )


if __name__ == "__main__":
    main()
