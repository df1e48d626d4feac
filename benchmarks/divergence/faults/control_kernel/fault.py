import random

import torch
from torch import nn


@torch.library.custom_op("fault::noisy_copy", mutates_args=())
def noisy_copy(x: torch.Tensor) -> torch.Tensor:
    return x + random.SystemRandom().random() * 1e-6


noisy_copy.register_autograd(lambda context, gradient: gradient)


torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    hidden = noisy_copy(batch)  # here
    loss = nn.functional.cross_entropy(model(hidden), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
