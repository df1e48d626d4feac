import random

import torch
from torch import nn


@torch.library.custom_op("fault::atomic_sum", mutates_args=())
def atomic_sum(x: torch.Tensor) -> torch.Tensor:
    order = list(range(16))
    random.SystemRandom().shuffle(order)
    total = torch.zeros(10)
    for row in order:
        total += x[row] * 1e3
    return x + total * 1e-3


atomic_sum.register_autograd(lambda context, gradient: gradient)


torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    hidden = atomic_sum(batch)  # here
    loss = nn.functional.cross_entropy(model(hidden), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
