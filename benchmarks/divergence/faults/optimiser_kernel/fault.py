import random

import torch
from torch import nn


@torch.library.custom_op("fault::noisy_lerp", mutates_args=())
def noisy_lerp(x: torch.Tensor) -> torch.Tensor:
    return x * (1 + random.SystemRandom().random() * 1e-6)


class Descent(torch.optim.SGD):
    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                weight.grad = noisy_lerp(weight.grad)  # here
        return super().step(closure)


torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = Descent(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
