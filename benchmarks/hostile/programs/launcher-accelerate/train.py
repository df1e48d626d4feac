import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

set_seed(1)
torch.set_num_threads(1)
accelerator = Accelerator(cpu=True)
x = torch.randn(48, 6)
y = (x[:, 0] > 0).long()
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
losses = []
for epoch in range(3):
    total = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
        total += loss.item() / len(loader)
    losses.append(total)
    accelerator.print(f"epoch {epoch}: train_loss {total:.4f}")
np.save("losses.npy", losses)
