"""A data set that several programs train on."""

import torch
from torch.utils.data import Dataset


class Noisy(Dataset):
    """Draws noise for each example that is fetched."""

    def __init__(self):
        self.x = torch.linspace(-1, 1, 64 * 8).reshape(64, 8)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] + 0.1 * torch.randn(8), (self.x[i].sum() > 0).long()
