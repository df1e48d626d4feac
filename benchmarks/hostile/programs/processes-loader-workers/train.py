import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Points(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        x = torch.full((3,), index / 40.0) + 0.01 * torch.randn(3)
        return x, x.sum() + float(np.random.rand()) * 0.01


def seed_worker(worker):
    np.random.seed(torch.initial_seed() % 2**32)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    loader = DataLoader(
        Points(), batch_size=10, shuffle=True, num_workers=2, worker_init_fn=seed_worker, generator=generator
    )
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    losses = []
    for epoch in range(3):
        running = 0.0
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x).squeeze(1), y.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        losses.append(running / len(loader))
        print(f"Epoch {epoch}: train loss {running / len(loader):.5f}")
    np.save("losses.npy", losses)


if __name__ == "__main__":
    main()
