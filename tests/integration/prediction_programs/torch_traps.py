"""What looks like an evaluation and is none, and what a batch may be mistaken for."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Indexed(Dataset):
    """Each example comes with its number, after its label."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], self.y[index], index


class Logits(nn.Sequential):
    pass


torch.manual_seed(0)
x = torch.randn(144, 6)
y = (x[:, :3] + 0.8 * torch.randn(144, 3)).argmax(1)
train_loader = DataLoader(Indexed(x[:96], y[:96]), batch_size=16, shuffle=True)
test_loader = DataLoader(Indexed(x[96:], y[96:]), batch_size=16)
teacher, model = nn.Linear(6, 3).eval(), Logits(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
autoencoder = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion, distance = nn.CrossEntropyLoss(), nn.MSELoss()
fullgraph = {"backend": "eager", "fullgraph": True}


def count(out, target):
    return (out.argmax(1) == target).sum()


def test(way):
    model.eval(), autoencoder.eval()
    correct, labels = 0, []
    with torch.no_grad():
        for data, target, index in test_loader:
            out = model(data)
            if way == "autoencoder":
                distance(autoencoder(data), data)
            if way == "masks":
                mask_out = out > 0
                (mask_out[:, 0] == mask_out[:, 1]).sum()
            counted = torch.compile(count, **fullgraph) if way == "compiled" else count
            correct += counted(out, target).item()
            labels.append(out.argmax(1))
    if way == "transforms":
        torch.vmap(model)(x[:16, None])
        torch.jit.trace(model, x[:16])(x[:16])
        torch.fx.symbolic_trace(model)(x[:16])
        torch.export.export(model, (x[:16],))
        model(x[:16])
    return correct / 48, torch.cat(labels)


way = sys.argv[1]
for epoch in range(2):
    model.train()
    for data, target, index in train_loader:
        optimizer.zero_grad()
        out = model(data)
        if way == "teacher":
            with torch.no_grad():
                soft = teacher(data).softmax(1)
            (nn.functional.cross_entropy(out, soft) + criterion(out, target)).backward()
        else:
            criterion(out, target).backward()
        optimizer.step()
        with torch.no_grad():
            train_correct = (out.argmax(1) == target).sum()
    accuracy, labels = test(way)
    print("epoch", epoch, "accuracy", repr(accuracy), train_correct.item())
np.savez("own.npz", label=labels, target=y[96:], index=np.arange(48), accuracy=accuracy)
