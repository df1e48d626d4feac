# A small network that tells blond from other faces, in made data with groups of unequal size.
import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from faces import test_part, training_part

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=6)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--device", default="cpu")
args = parser.parse_args()
torch.manual_seed(args.seed)


def data_set(faces, blond, male, old):
    return TensorDataset(torch.from_numpy(faces), torch.from_numpy(blond))


train_loader = DataLoader(data_set(*training_part()), batch_size=64, shuffle=True)
test_loader = DataLoader(data_set(*test_part()), batch_size=1000)
network = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
network.to(args.device)
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)

for epoch in range(args.epochs):
    network.train()
    for faces, blond in train_loader:
        faces, blond = faces.to(args.device), blond.to(args.device)
        optimizer.zero_grad()
        loss = F.cross_entropy(network(faces), blond)
        loss.backward()
        optimizer.step()
    network.eval()
    correct = 0
    with torch.no_grad():
        for faces, blond in test_loader:
            faces, blond = faces.to(args.device), blond.to(args.device)
            correct += (network(faces).argmax(1) == blond).sum().item()
    print(f"epoch {epoch}: train loss {loss.item():.4f}, test acc {100 * correct / len(test_loader.dataset):.2f}%")
