"""Train a network whose steps take 50 ms and more on one core: `large.py cnn` or `large.py transformer`."""

import sys

import torch
from torch import nn

STEPS = 48


def cnn():
    """Return a network for 32 images a step, and their shape."""
    layers = [nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)]
    for _ in range(2):
        layers += [nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)), (32, 3, 32, 32)


def transformer():
    """Return a network for 16 sequences of 64 vectors a step, and their shape."""
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return nn.Sequential(encoder, nn.Flatten(), nn.Linear(64 * 128, 10)), (16, 64, 128)


torch.manual_seed(0)
model, shape = {"cnn": cnn, "transformer": transformer}[sys.argv[1]]()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(STEPS):
    x, y = torch.randn(shape), torch.randint(10, shape[:1])
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.6f}")
