"""Train a small CNN on scikit-learn's digits, enlarged to 32 x 32, on a GPU where there is one.

Written as users write trainings: nothing in it knows of Deviate. Bilinear interpolation, index_add and cuDNN's
convolutions are there because their backward passes add up in an order that changes from run to run.
"""

import argparse

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SmallCNN(nn.Module):
    """Three convolutions with batch normalisation, pooling by bilinear interpolation, dropout."""

    def __init__(self, width):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU())
        self.third = nn.Sequential(nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.ReLU())
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(2 * width * 16, 10))

    def forward(self, x):
        x = F.interpolate(self.first(x), size=16, mode="bilinear", align_corners=False)
        x = F.interpolate(self.second(x), size=8, mode="bilinear", align_corners=False)
        return self.head(F.max_pool2d(self.third(x), 2))


def augment(images):
    """Move a batch by up to two pixels."""
    shift = torch.randint(-2, 3, (2,)).tolist()
    return torch.roll(images, shifts=shift, dims=(2, 3))


def load(batch_size):
    digits = load_digits()
    images = torch.from_numpy((digits.images / 16).astype(np.float32)).unsqueeze(1)
    images = F.interpolate(images, size=32, mode="nearest")
    labels = torch.from_numpy(digits.target)
    train, test = train_test_split(np.arange(len(labels)), test_size=0.3, random_state=0, stratify=digits.target)
    loader = DataLoader(TensorDataset(images[train], labels[train]), batch_size=batch_size, shuffle=True)
    return loader, images[test], labels[test]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loader, test_images, test_labels = load(args.batch_size)
    test_images, test_labels = test_images.to(device), test_labels.to(device)
    model = SmallCNN(args.width).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=args.epochs * len(loader))

    for epoch in range(args.epochs):
        model.train()
        seen_per_class = torch.zeros(10, device=device)
        for images, labels in loader:
            images, labels = augment(images.to(device)), labels.to(device)
            seen_per_class.index_add_(0, labels, torch.ones_like(labels, dtype=torch.float32))
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            output = model(test_images)
        test_acc = 100 * (output.argmax(1) == test_labels).float().mean().item()
        test_loss = F.cross_entropy(output, test_labels).item()
        print(f"epoch {epoch} train loss {loss.item():.4f} test loss {test_loss:.4f} test acc {test_acc:.2f}%")
    np.save("predictions.npy", output.argmax(1).cpu().numpy())


if __name__ == "__main__":
    main()
