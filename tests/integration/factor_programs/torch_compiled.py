"""A model that is compiled, traced and scripted."""

import sys

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.dropout, self.last = nn.Linear(8, 16), nn.Dropout(0.5), nn.Linear(16, 2)

    def forward(self, x):
        return self.last(self.dropout(torch.relu(self.first(x))))


torch.manual_seed(0)
net, x = Net(), torch.ones(4, 8)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
if sys.argv[1] == "eager":
    call = net
elif sys.argv[1] == "module":
    call = torch.compile(net, backend="aot_eager", fullgraph=True)
else:
    call = torch.compile(lambda x: net(x), backend="aot_eager", fullgraph=True)
for _ in range(3):
    call(x).pow(2).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
if sys.argv[1] == "eager":
    net.eval()
    for made in (torch.jit.trace(net, (x,)), torch.fx.symbolic_trace(net), torch.jit.script(net)):
        assert torch.equal(made(x), net(x))
    net.train()
else:
    from torch._dynamo.utils import counters

    assert not counters["graph_break"], counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == 1, counters["stats"]
print("sha", hash(tuple(torch.cat([p.detach().reshape(-1) for p in net.parameters()]).tolist())))
