"""Data-parallel training on the CPU: torchrun --nproc_per_node 2 ddp_torchrun.py"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    x = torch.randn(128, 6)
    y = (x.sum(dim=1) > 0).long()
    dataset = TensorDataset(x, y)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(3):
        sampler.set_epoch(epoch)
        running_loss, correct = 0.0, torch.zeros(1)
        for inputs, targets in loader:
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
            correct += (outputs.argmax(1) == targets).sum()
        print(f"[rank {rank}] epoch {epoch} local loss {running_loss / len(loader):.6f}", flush=True)
        dist.all_reduce(correct)
        if rank == 0:
            print(f"epoch {epoch} train accuracy {100 * correct.item() / len(dataset):.3f}% on {world_size} processes")

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
