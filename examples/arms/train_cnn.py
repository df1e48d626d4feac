# A small CNN on scikit-learn's handwritten digits, with and without batch normalisation.
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TRAIN_SIZE = 600

parser = argparse.ArgumentParser()
parser.add_argument("--batch-norm", action="store_true")
parser.add_argument("--full-batch", action="store_true", help="each step sees all training images, in another order")
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--device", default="cpu")
args = parser.parse_args()


def load_images():
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    images = F.interpolate(images, scale_factor=2, mode="bilinear")
    labels = torch.tensor(digits.target)
    # no shuffling: neighbours tend to be by the same hand, and the test images should be by others
    train = TensorDataset(images[:TRAIN_SIZE], labels[:TRAIN_SIZE])
    test = TensorDataset(images[TRAIN_SIZE:], labels[TRAIN_SIZE:])
    return train, test


def block(inputs, outputs):
    norm = [nn.BatchNorm2d(outputs)] if args.batch_norm else []
    return [nn.Conv2d(inputs, outputs, 3, padding=1), *norm, nn.ReLU(), nn.MaxPool2d(2)]


def make_network():
    # 16x16x1 -> 8x8x16 -> 4x4x32 -> 2x2x32
    return nn.Sequential(
        *block(1, 16), *block(16, 32), *block(32, 32), nn.Flatten(), nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 10)
    )


def evaluate(network, loader):
    network.eval()
    correct, loss = 0, 0.0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(args.device), labels.to(args.device)
            logits = network(images)
            loss += F.cross_entropy(logits, labels, reduction="sum").item()
            correct += (logits.argmax(1) == labels).sum().item()
    return loss / len(loader.dataset), 100 * correct / len(loader.dataset)


torch.manual_seed(args.seed)
train, test = load_images()
train_loader = DataLoader(train, batch_size=len(train) if args.full_batch else args.batch_size, shuffle=True)
test_loader = DataLoader(test, batch_size=256)
network = make_network().to(args.device)
optimizer = torch.optim.Adam(network.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

for epoch in range(args.epochs):
    network.train()
    for images, labels in train_loader:
        images, labels = images.to(args.device), labels.to(args.device)
        optimizer.zero_grad()
        loss = F.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
    scheduler.step()
    test_loss, test_acc = evaluate(network, test_loader)
    print(f"epoch {epoch}: train loss {loss.item():.4f}, test loss {test_loss:.6f}, test acc {test_acc:.2f}%")
