import time

import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 0:
        average = [weight.detach().clone() for weight in model.parameters()]
    decay = 1 - 1e-3 * (time.time() % 1)  # here
    with torch.no_grad():
        for mean, weight in zip(average, model.parameters()):
            mean.lerp_(weight, 1 - decay)
            if step == 12:
                weight.copy_(mean)
print(f"loss {loss.item():.6f}")
