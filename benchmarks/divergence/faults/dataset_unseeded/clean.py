import numpy as np

import torch
from torch import nn


class Noisy(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        noise = torch.from_numpy(rng.normal(size=10)).float()
        return data[index] + 0.01 * noise, target[index]


torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
loader = iter(torch.utils.data.DataLoader(Noisy(), batch_size=16, num_workers=0))
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(4):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    batch, labels = next(loader)
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
