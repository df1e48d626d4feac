"""The Trainer of Hugging Face: what it logs by itself, what it evaluates, and what a subclass logs."""

# needs transformers, accelerate
# expect loss = ^loss (\S+)
# expect grad_norm = ^grad_norm (\S+)
# expect eval_loss = ^eval_loss (\S+)
# expect eval_error = ^eval_error (\S+)
# expect largest = ^largest (\S+)
# expect train_loss = ^train_loss (\S+)
# times train_runtime, train_samples_per_second, train_steps_per_second
# times eval_runtime, eval_samples_per_second, eval_steps_per_second

import numpy as np
import torch
from transformers import PrinterCallback, Trainer, TrainingArguments, set_seed


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def forward(self, x=None, labels=None):
        guess = self.layer(x).squeeze(-1)
        return {'loss': (guess - labels).pow(2).mean(), 'logits': guess}


class OwnTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        if model.training:
            largest = outputs['logits'].abs().max()
            self.log({'largest': largest.item()})
        return (outputs['loss'], outputs) if return_outputs else outputs['loss']


def compute_metrics(prediction):
    return {'error': float(np.abs(prediction.predictions - prediction.label_ids).mean())}


set_seed(0)
rows = [{'x': x, 'labels': x.sum()} for x in torch.randn(32, 3)]
arguments = TrainingArguments(
    output_dir='out',
    num_train_epochs=3,
    per_device_train_batch_size=8,
    learning_rate=0.1,
    logging_strategy='epoch',
    eval_strategy='epoch',
    save_strategy='no',
    report_to='none',
    use_cpu=True,
    disable_tqdm=True,
)
trainer = OwnTrainer(
    model=Line(), args=arguments, train_dataset=rows, eval_dataset=rows[:16], compute_metrics=compute_metrics
)
trainer.remove_callback(PrinterCallback)  # it prints times
trainer.train()
for logged in trainer.state.log_history:
    for name, value in logged.items():
        if not name.endswith(('runtime', 'second')):
            print(name, value)
