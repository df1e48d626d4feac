"""A loop of one's own with Accelerate: predictions are gathered, then compared."""

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    x = torch.randn(160, 6)
    y = (x[:, :3] + 0.8 * torch.randn(160, 3)).argmax(1)
    train_loader = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=16, shuffle=True)
    eval_loader = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=20)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)
    for epoch in range(3):
        model.train()
        for inputs, targets in train_loader:
            accelerator.backward(nn.functional.cross_entropy(model(inputs), targets))
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        accurate, rows = 0, []
        for inputs, targets in eval_loader:
            with torch.no_grad():
                predictions = model(inputs).argmax(dim=-1)
            predictions, references = accelerator.gather_for_metrics((predictions, targets))
            accurate += (predictions == references).sum()
            rows.append(torch.stack([predictions, references]))
        labels, targets = torch.cat(rows, dim=1).numpy()
        accelerator.print(f"epoch {epoch}:", accurate.item() / len(labels))
    np.savez("own.npz", label=labels, target=targets, index=np.arange(64), accuracy=accurate.item() / len(labels))


if __name__ == "__main__":
    main()
