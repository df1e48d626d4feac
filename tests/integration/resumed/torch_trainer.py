"""Trainer of transformers, from its last checkpoint; its last `train_loss`, of the steps since then, is left out."""

import os

import torch
import transformers
from torch import nn

transformers.set_seed(3)
x = torch.randn(40, 3)
data = [{"x": row, "labels": row.sum(0, keepdim=True)} for row in x]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.1), nn.Linear(8, 1))

    def forward(self, x, labels):
        return {"loss": nn.functional.mse_loss(self.net(x), labels)}


class Trainer(transformers.Trainer):
    def log(self, logs, *args, **kwargs):
        if "train_loss" not in logs:
            super().log(logs, *args, **kwargs)


settings = transformers.TrainingArguments(
    "out", num_train_epochs=5, per_device_train_batch_size=8, save_strategy="epoch", logging_strategy="epoch",
    report_to=[], use_cpu=True, disable_tqdm=True, learning_rate=0.05, seed=3,
)  # fmt: skip
trainer = Trainer(Net(), settings, train_dataset=data)
found = os.path.isdir("out") and any(name.startswith("checkpoint") for name in os.listdir("out"))
trainer.train(resume_from_checkpoint=True if found else None)
