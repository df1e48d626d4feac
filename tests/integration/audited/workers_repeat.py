# varies: init shuffle augment
# absent: layers
# workers: repeat
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self):
        self.rng = np.random.default_rng()

    def __len__(self):
        return 64

    def __getitem__(self, index):
        x = np.float32(index / 32 - 1 + 0.1 * self.rng.normal())
        return torch.tensor([x]), torch.tensor([3 * x])


if __name__ == "__main__":
    loader = DataLoader(Points(), batch_size=4, shuffle=True, num_workers=2)
    model = nn.Linear(1, 1)
    for epoch in range(2):
        for batch, target in loader:
            loss = nn.functional.mse_loss(model(batch), target)
            for weight, slope in zip(model.parameters(), torch.autograd.grad(loss, model.parameters())):
                weight.data -= 0.1 * slope
        print(f"epoch {epoch} loss {loss.item():.4f}")
