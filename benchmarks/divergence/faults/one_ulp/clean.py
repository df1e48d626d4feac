import random

import torch
from torch import nn


@torch.library.custom_op("fault::nudge", mutates_args=())
def nudge(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[2, 0] = torch.nextafter(y[2, 0], torch.tensor(9.0))
    return y


nudge.register_autograd(lambda context, gradient: gradient)


torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    hidden = nudge(batch)
    loss = nn.functional.cross_entropy(model(hidden), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
