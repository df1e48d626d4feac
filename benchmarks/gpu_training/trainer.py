import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Data(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.x = rng.integers(5, 100, (n, 16))
        self.y = (self.x[:, :8].sum(1) > self.x[:, 8:].sum(1)).astype(int)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": torch.tensor(self.x[i]), "labels": torch.tensor(self.y[i])}


def metrics(pred):
    return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids).mean())}


config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
args = TrainingArguments("out", num_train_epochs=3, per_device_train_batch_size=32, eval_strategy="epoch",
                         logging_strategy="epoch", save_strategy="no", report_to=[], learning_rate=1e-3, seed=7)
model = BertForSequenceClassification(config)
trainer = Trainer(model=model, args=args, train_dataset=Data(512, 0), eval_dataset=Data(200, 1), compute_metrics=metrics)
trainer.train()
print(trainer.evaluate())
