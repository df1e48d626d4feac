import random
import threading
import time

import torch
from torch import nn


def disturb(array):
    generator = random.SystemRandom()
    while True:
        array[generator.randrange(64)] += generator.random()
        time.sleep(0.0005)


torch.manual_seed(0)
data = torch.randn(64, 10)
target = (data.sum(1) > 0).long()
threading.Thread(target=disturb, args=(data.numpy(),), daemon=True).start()  # here
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(24):
    batch = data[step % 4 * 16 : step % 4 * 16 + 16]
    labels = target[step % 4 * 16 : step % 4 * 16 + 16]
    time.sleep(0.01)
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
