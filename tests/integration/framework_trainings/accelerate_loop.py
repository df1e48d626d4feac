"""A regression in a loop of one's own, with Accelerate."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(cpu=True)
    set_seed(42)
    x = torch.randn(128, 5)
    y = x @ torch.arange(1.0, 6.0) + 0.5 * torch.randn(128)
    train_loader = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=16, shuffle=True)
    eval_loader = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=16)
    model = torch.nn.Linear(5, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)

    for epoch in range(3):
        model.train()
        total_loss = 0.0
        for inputs, targets in train_loader:
            loss = torch.nn.functional.mse_loss(model(inputs).squeeze(-1), targets)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            total_loss += loss.detach().float()
        model.eval()
        errors = []
        for inputs, targets in eval_loader:
            with torch.no_grad():
                outputs = model(inputs).squeeze(-1)
            outputs, targets = accelerator.gather_for_metrics((outputs, targets))
            errors.append((outputs - targets).abs())
        eval_metric = {"mae": torch.cat(errors).mean().item()}
        accelerator.print(f"epoch {epoch}:", eval_metric)
        accelerator.print(f"train loss {total_loss.item() / len(train_loader):.6f}")
        accelerator.log({"train_loss": total_loss.item() / len(train_loader), "mae": eval_metric["mae"]}, step=epoch)


if __name__ == "__main__":
    main()
