"""States handed out and back: checkpointing in both forms, forks of generators, states a program keeps itself."""

import hashlib
import random
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

way = sys.argv[1]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.dropout = nn.Linear(16, 16), nn.Dropout(0.5)

    def forward(self, x):
        return F.dropout(self.dropout(torch.relu(self.linear(x))), 0.3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))

    def forward(self, x):
        for block in self.blocks:
            x = again(block, x)
        return x


def again(function, x):
    if way == "plain":
        return function(x)
    return checkpoint(function, x, use_reentrant=way == "reentrant")


torch.manual_seed(0)
net, x = Net(), torch.ones(8, 16, requires_grad=True)
for _ in range(2):
    net(x).sum().backward()
again(lambda x: F.dropout(net.blocks[0](F.dropout(x, 0.5)), 0.5), x).sum().backward()
print("sha", hashlib.sha256(b"".join(p.grad.numpy().tobytes() for p in net.parameters())).hexdigest())

with torch.random.fork_rng():
    torch.manual_seed(5)
    inside = torch.rand(1), net(x)
after = torch.rand(1), net(x)
with torch.random.fork_rng():
    torch.manual_seed(5)
    assert torch.equal(torch.rand(1), inside[0])
    assert torch.equal(net(x), inside[1])

states = torch.get_rng_state(), np.random.get_state(), random.getstate()
first = torch.rand(1).item(), net(x).sum().item(), np.random.rand(), random.gauss(0, 1)
torch.set_rng_state(states[0])
np.random.set_state(states[1])
random.setstate(states[2])
assert first == (torch.rand(1).item(), net(x).sum().item(), np.random.rand(), random.gauss(0, 1))

assert torch.initial_seed() == 5 or torch.initial_seed() == 0
generator = torch.Generator().manual_seed(3)
assert generator.initial_seed() == 3
state = generator.get_state()
drawn = torch.rand(2, generator=generator)
generator.set_state(state)
assert torch.equal(drawn, torch.rand(2, generator=generator))
