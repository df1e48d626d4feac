"""A tiny BERT under the Trainer of Hugging Face, with `compute_metrics`."""

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Needles(Dataset):
    def __init__(self, size, seed):
        generator = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(5, 30, (size, 12), generator=generator)
        self.labels = (self.ids == 7).any(dim=1).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.labels[index]}


def compute_metrics(prediction):
    guess = np.argmax(prediction.predictions, axis=-1)
    accuracy = float((guess == prediction.label_ids).mean())
    np.savez("own.npz", label=guess, target=prediction.label_ids, index=np.arange(len(guess)), accuracy=accuracy)
    return {"accuracy": accuracy}


def main():
    config = BertConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=16, num_labels=2,
    )  # fmt: skip
    args = TrainingArguments(
        output_dir="out", num_train_epochs=2, per_device_train_batch_size=16, per_device_eval_batch_size=12,
        learning_rate=1e-2, logging_steps=2, eval_strategy="epoch", save_strategy="no", report_to="none", use_cpu=True,
        disable_tqdm=True,
    )  # fmt: skip
    trainer = Trainer(
        model=BertForSequenceClassification(config), args=args, train_dataset=Needles(64, 0),
        eval_dataset=Needles(40, 1), compute_metrics=compute_metrics,
    )  # fmt: skip
    trainer.train()
    print(trainer.evaluate()["eval_accuracy"])


if __name__ == "__main__":
    main()
