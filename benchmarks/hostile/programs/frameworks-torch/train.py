import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(5)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(80, 6), torch.randint(0, 2, (80,)))
train_set, test_set = random_split(data, [60, 20])
train_loader = DataLoader(train_set, batch_size=12, shuffle=True)
test_loader = DataLoader(test_set, batch_size=20)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Dropout(0.3), nn.Linear(12, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
losses = []
for epoch in range(3):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val_loss = sum(criterion(model(x), y).item() for x, y in test_loader) / len(test_loader)
    losses.append(val_loss)
    print(f"Epoch {epoch}: val_loss {val_loss:.4f}")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}, "last.pt")
np.save("losses.npy", losses)
