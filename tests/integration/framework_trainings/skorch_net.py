"""A classifier of skorch, with a score of its own in the table."""

import json

import numpy as np
import torch
from sklearn.datasets import make_classification
from skorch import NeuralNetClassifier
from skorch.callbacks import EpochScoring

points, labels = make_classification(200, 12, n_informative=6, random_state=0)
net = NeuralNetClassifier(
    torch.nn.Sequential(torch.nn.Linear(12, 2), torch.nn.Softmax(dim=-1)),
    max_epochs=3,
    lr=0.1,
    callbacks=[EpochScoring("roc_auc", name="auc", lower_is_better=False)],
)
net.fit(points.astype(np.float32), labels.astype(np.int64))

with open("history.json", "w") as file:
    json.dump(
        [{key: float(row[key]) for key in ("train_loss", "valid_loss", "valid_acc", "auc")} for row in net.history],
        file,
    )
