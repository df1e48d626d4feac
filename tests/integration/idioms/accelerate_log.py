"""A loop with Accelerate, which prints and logs on the main process only."""

# needs accelerate
# expect train loss = train loss (\S+)
# expect eval_loss = eval_loss (\S+)

import sys

import torch
from accelerate import Accelerator
from accelerate.tracking import GeneralTracker
from accelerate.utils import set_seed


class Lines(GeneralTracker):
    name, requires_logging_directory, main_process_only = 'lines', False, True

    @property
    def tracker(self):
        return None

    def store_init_configuration(self, values):
        pass

    def log(self, values, step=None):
        for name, value in values.items():
            sys.stdout.write(f'{name} {value!r}\n')


set_seed(0)
accelerator = Accelerator(cpu=True, log_with=[Lines()])
accelerator.init_trackers('small')
x = torch.randn(64, 3)
y = x.sum(dim=1, keepdim=True)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16, shuffle=True)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(3):
    total = 0.0
    for inputs, targets in loader:
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
    with torch.no_grad():
        eval_loss = torch.nn.functional.mse_loss(model(x), y)
    accelerator.print(f'epoch {epoch} train loss {total / len(loader):.6f}')
    accelerator.log({'eval_loss': eval_loss.item()}, step=epoch)
accelerator.end_training()
