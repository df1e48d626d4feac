# The weights begin at zero and the data come in a fixed order: nothing is drawn for either.
# absent: init shuffle augment layers data
import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset


class ByLength(Sampler):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        return iter(sorted(range(self.count), key=lambda i: i % 7))


x = torch.linspace(-1, 1, 256).reshape(64, 4)
y = x.sum(1, keepdim=True)
weight = nn.Parameter(torch.zeros(4, 1))
loader = DataLoader(TensorDataset(x, y), batch_size=8, sampler=ByLength(64))
for epoch in range(3):
    for batch, target in loader:
        loss = nn.functional.mse_loss(batch @ weight, target)
        (slope,) = torch.autograd.grad(loss, [weight])
        weight.data -= 0.1 * slope
    print(f"epoch {epoch} loss {loss.item():.6f}")
