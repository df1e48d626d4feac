import io

import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
generator = torch.Generator().manual_seed(1)
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    if step == 12:
        file = io.BytesIO()
        torch.save((model.state_dict(), generator.get_state()), file)
        file.seek(0)
        weights, state = torch.load(file)
        model.load_state_dict(weights)
        generator = torch.Generator()
        generator.set_state(state)
    batch = batch + 0.01 * torch.randn(16, 10, generator=generator)
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
