"""The accuracy is that of torchmetrics, updated batch by batch in training and in evaluation."""

import numpy as np
import torch
import torchmetrics
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(160, 6)
y = (x[:, :3] + 0.8 * torch.randn(160, 3)).argmax(1)
train_loader = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=16, shuffle=True)
test_loader = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=20)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
head = nn.Linear(8, 3)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
metrics = torchmetrics.MetricCollection(
    [
        torchmetrics.classification.MulticlassAccuracy(num_classes=3, average="micro"),
        torchmetrics.classification.MulticlassF1Score(num_classes=3),
    ]
)
train_metrics, test_metrics = metrics.clone(prefix="train_"), metrics.clone(prefix="test_")
for epoch in range(2):
    for data, target in train_loader:
        optimizer.zero_grad()
        out = head(model(data))
        nn.functional.cross_entropy(out, target).backward()
        optimizer.step()
        train_metrics.update(out.softmax(1), target)
    labels, targets = [], []
    with torch.inference_mode():
        for data, target in test_loader:
            out = head(model(data))
            test_metrics(out, target)
            labels.append(out.argmax(1))
            targets.append(target)
    results = test_metrics.compute()
    print({name: repr(value.item()) for name, value in {**train_metrics.compute(), **results}.items()})
    train_metrics.reset()
    test_metrics.reset()
accuracy = results["test_MulticlassAccuracy"].item()
np.savez("own.npz", label=torch.cat(labels), target=torch.cat(targets), accuracy=accuracy)
