# varies: init shuffle layers
# absent: augment
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.linspace(-1, 1, 256).reshape(64, 4)
y = (x.sum(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
weights = list(model.parameters())
for epoch in range(3):
    for batch, target in loader:
        loss = nn.functional.cross_entropy(model(batch), target)
        for weight, slope in zip(weights, torch.autograd.grad(loss, weights)):
            weight.data -= 0.1 * slope
    print(f"epoch {epoch} loss {loss.item():.4f}")
