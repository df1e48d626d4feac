# absent: augment
# library: init transformers/
# library: shuffle accelerate/
import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Points(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        x = torch.full((4,), index / 32 - 1)
        return {"x": x, "labels": (x.sum() > 0).long()}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2))

    def forward(self, x, labels=None):
        logits = self.net(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


arguments = TrainingArguments(
    "out", num_train_epochs=2, per_device_train_batch_size=8, logging_steps=4, report_to=[], use_cpu=True
)
trainer = Trainer(model_init=Model, args=arguments, train_dataset=Points())
print(trainer.train().training_loss)
