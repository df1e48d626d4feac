import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
rows = [[object()] * 120 for _ in range(500)]
del rows  # memory with addresses in it is free again
bias = torch.empty(64, 10, dtype=torch.uint8)  # here
data += bias.float() / 255
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
