import io

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for epoch, layer in enumerate(self.layers):
            x = self.drop(torch.relu(layer(x)))
            if torch.isnan(x).any():
                print(f"layer {epoch} loss of numbers {x.sum()}")
        return self.head(x)


torch.manual_seed(1)
x = torch.randn(24, 4)
model = torch.jit.script(Net())
traced = torch.jit.trace(Net().eval(), x[:2])
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for epoch in range(4):
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    print(f"epoch {epoch}: loss {loss.item():.5f}")
buffer = io.BytesIO()
torch.jit.save(model, buffer)
buffer.seek(0)
print("same code", torch.jit.load(buffer).code == model.code)
print(len(traced.graph.str().splitlines()) > 5, len(model.code.splitlines()))
np.save("losses.npy", losses)
