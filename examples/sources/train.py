# A small CNN with dropout and shifted images on scikit-learn's handwritten digits.
import argparse
import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset, TensorDataset

from network import make_network

TRAIN_SIZE = 600


class ShiftedImages(Dataset):
    """Training images, each moved by up to a pixel to the left or right whenever it is drawn."""

    def __init__(self, images, labels):
        self.images, self.labels = F.pad(images, (1, 1, 0, 0)), labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        left = int(torch.randint(3, ()))
        return self.images[index, :, :, left : left + 8], self.labels[index]


def load_data(batch_size):
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    # no shuffling: neighbours tend to be by the same hand, and the test images should be by others
    train = ShiftedImages(images[:TRAIN_SIZE], labels[:TRAIN_SIZE])
    test = TensorDataset(images[TRAIN_SIZE:], labels[TRAIN_SIZE:])
    return DataLoader(train, batch_size=batch_size, shuffle=True), DataLoader(test, batch_size=256)


def train_epoch(model, loader, optimizer, scheduler, device):
    model.train()
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        scheduler.step()


def probabilities(models, images):
    """The mean of the models' probabilities: of one model, its own."""
    return torch.stack([model(images).softmax(1) for model in models]).mean(0)


def test(models, loader, device):
    for model in models:
        model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            p = probabilities(models, images)
            loss += F.nll_loss(p.clamp_min(1e-12).log(), labels, reduction="sum").item()
            correct += (p.argmax(1) == labels).sum().item()
    return loss / len(loader.dataset), 100 * correct / len(loader.dataset)


def averaged(models):
    """One model whose weights are the mean of the models' weights."""
    result = copy.deepcopy(models[-1])
    with torch.no_grad():
        for weights in zip(result.parameters(), *(model.parameters() for model in models)):
            weights[0].copy_(torch.stack(weights[1:]).mean(0))
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--cycles", type=int, default=1, help="of the learning rate; each ends with a snapshot")
    parser.add_argument("--average", type=int, default=1, help="epochs at the end whose weights are averaged")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    train_loader, test_loader = load_data(args.batch_size)
    model = make_network().to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    cycle = args.epochs // args.cycles
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, cycle * len(train_loader))

    snapshots, tail = [], []
    for epoch in range(args.epochs):
        train_epoch(model, train_loader, optimizer, scheduler, args.device)
        if (epoch + 1) % cycle == 0:
            snapshots.append(copy.deepcopy(model))
        if epoch >= args.epochs - args.average:
            tail.append(copy.deepcopy(model))
        loss, accuracy = test([model], test_loader, args.device)
        print(f"epoch {epoch}: test loss {loss:.6f}, test acc {accuracy:.2f}%")

    if args.cycles > 1:
        ensemble_loss, ensemble_acc = test(snapshots, test_loader, args.device)
        print(f"{len(snapshots)} snapshots: ensemble loss {ensemble_loss:.6f}, ensemble acc {ensemble_acc:.2f}%")
    if args.average > 1:
        averaged_loss, averaged_acc = test([averaged(tail)], test_loader, args.device)
        print(f"{len(tail)} epochs: averaged loss {averaged_loss:.6f}, averaged acc {averaged_acc:.2f}%")


if __name__ == "__main__":
    main()
