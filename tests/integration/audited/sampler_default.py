# varies: init layers
# library: shuffle torch/utils/data/distributed.py
# absent: augment
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

x = torch.linspace(-1, 1, 256).reshape(64, 4)
y = (x.sum(1) > 0).long()
data = TensorDataset(x, y)
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, num_replicas=1, rank=0))
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
for epoch in range(3):
    for batch, target in loader:
        loss = nn.functional.cross_entropy(model(batch), target)
        for weight, slope in zip(model.parameters(), torch.autograd.grad(loss, model.parameters())):
            weight.data -= 0.1 * slope
    print(f"epoch {epoch} loss {loss.item():.4f}")
