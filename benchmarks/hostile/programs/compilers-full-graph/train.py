import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))


@torch.compile(backend="eager", fullgraph=True)
def objective(x, y):
    out = model(x + 0.01 * torch.randn_like(x))
    loss = F.mse_loss(out, y)
    return loss, out.detach().abs().mean()


x = torch.randn(32, 4)
y = x.prod(1, keepdim=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for epoch in range(4):
    loss, size = objective(x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    print(f"epoch {epoch} loss {loss.item():.5f} size {size:.4f}")
np.save("losses.npy", losses)
counters = torch._dynamo.utils.counters
print("graph breaks", sum(counters["graph_break"].values()))
