import numpy as np
import torch
from torch import fx, nn

torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 6), nn.Linear(6, 1)

    def forward(self, x, scale=2.0):
        hidden = torch.relu(self.first(x))
        loss_scale = scale * 1.0
        return self.second(hidden) * loss_scale


torch.manual_seed(3)
model = fx.symbolic_trace(Block())
exported = torch.export.export(Block(), (torch.zeros(2, 3),))
print("nodes", [node.name for node in model.graph.nodes], len(list(exported.graph.nodes)))
print(model.code.strip().splitlines()[-1])
x = torch.randn(20, 3)
losses, optimizer = [], torch.optim.SGD(model.parameters(), lr=0.02)
for epoch in range(4):
    optimizer.zero_grad()
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(float(loss))
    print(f"[{epoch}] loss: {float(loss):.5f}")
np.save("losses.npy", losses)
