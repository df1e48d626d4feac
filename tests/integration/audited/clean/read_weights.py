# The layer draws initial weights, and those of a file take their place.
# varies: shuffle
# pinned: init
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.linspace(-1, 1, 256).reshape(64, 4)
y = x.sum(1, keepdim=True)
model = nn.Linear(4, 1)
model.load_state_dict({"weight": torch.full((1, 4), 0.3), "bias": torch.zeros(1)})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
for epoch in range(3):
    for batch, target in loader:
        loss = nn.functional.mse_loss(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.6f}")
