import random

import torch
from torch import nn


@torch.library.custom_op("fault::late_kernel", mutates_args=())
def late_kernel(x: torch.Tensor) -> torch.Tensor:
    late_kernel.calls = getattr(late_kernel, "calls", 0) + 1
    noise = random.SystemRandom().random() * 1e-3
    return x + (noise if late_kernel.calls > 18 else 0.0)


late_kernel.register_autograd(lambda context, gradient: gradient)


torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    hidden = late_kernel(batch)  # here
    loss = nn.functional.cross_entropy(model(hidden), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
