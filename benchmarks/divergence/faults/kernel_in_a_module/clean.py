import random

import torch
from torch import nn


@torch.library.custom_op("fault::mix", mutates_args=())
def mix(x: torch.Tensor) -> torch.Tensor:
    return x + 1.0 * 1e-6


mix.register_autograd(lambda context, gradient: gradient)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return self.linear(mix(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.block, self.last = nn.Linear(10, 16), Block(), nn.Linear(16, 2)

    def forward(self, x):
        return self.last(self.block(self.first(x).relu()))


torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
