"""A small training that draws for every factor, seeded in one of several ways."""

import hashlib
import random
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, random_split

seeding, workers, width = sys.argv[1], sys.argv[2], int(sys.argv[3])
how_to_load = {
    "0": {},
    "2": {"num_workers": 2},
    "persistent": {"num_workers": 2, "persistent_workers": True},
    "spawned": {"num_workers": 2, "persistent_workers": True, "multiprocessing_context": "spawn"},
}[workers]


class Noisy(Dataset):
    """Draws from three libraries, and from generators of its own where there are any."""

    def __init__(self, x, y, generators=None):
        self.x, self.y, self.generators = x, y, generators

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        if self.generators is None:
            return x + 0.1 * torch.randn(8) + 0.01 * random.random() + 0.01 * float(np.random.rand()), self.y[i]
        python, numpy, torchs = self.generators
        return x + 0.1 * torch.randn(8, generator=torchs) + python.random() + float(numpy.random()), self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(8))
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Dropout(0.3), nn.Linear(width, 2))

    def forward(self, x):
        return self.layers(x * F.dropout(self.scale, 0.1, self.training))


def main():
    generators = order = split = None
    if seeding == "own":
        generators = random.Random(1), np.random.default_rng(2), torch.Generator().manual_seed(3)
        order = torch.Generator().manual_seed(4)
        split = torch.Generator().manual_seed(5)
    x = torch.linspace(-1, 1, 96 * 8).reshape(96, 8)
    train, test = random_split(Noisy(x, (x.sum(1) > 0).long(), generators), [80, 16], generator=split)
    loader = DataLoader(train, batch_size=16, shuffle=True, generator=order, **how_to_load)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(2):
        for inputs, targets in loader:
            inputs = inputs + 0.01 * torch.randn_like(inputs)
            loss = F.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print("test", test.indices, sum(int(y) for _, y in DataLoader(test)))
    print("sha", hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())


if __name__ == "__main__":
    if seeding == "everything":
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        torch.cuda.manual_seed_all(0)
    main()
