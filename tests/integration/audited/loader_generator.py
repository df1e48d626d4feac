# varies: init layers
# absent: augment
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.linspace(-1, 1, 256).reshape(64, 4)
y = (x.sum(1) > 0).long()
order = torch.Generator()
order.manual_seed(0)  # pins shuffle
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True, generator=order)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
for epoch in range(3):
    for batch, target in loader:
        loss = nn.functional.cross_entropy(model(batch), target)
        for weight, slope in zip(model.parameters(), torch.autograd.grad(loss, model.parameters())):
            weight.data -= 0.1 * slope
    print(f"epoch {epoch} loss {loss.item():.4f}")
