import numpy as np
import torch

torch.set_num_threads(1)
torch.manual_seed(0)


@torch.jit.script
def step(w: torch.Tensor, x: torch.Tensor, rate: float) -> torch.Tensor:
    loss = (x @ w - x.sum(1)).pow(2).mean()
    if bool(torch.isnan(loss)):
        print("loss is NaN", loss)
    noise = torch.rand(w.size(0)) * 1e-3
    return w - rate * (x.t() @ (x @ w - x.sum(1))) / x.size(0) + noise


x, w, losses = torch.randn(32, 4), torch.zeros(4), []
for epoch in range(5):
    w = step(w, x, 0.3)
    loss = torch.mean((x @ w - x.sum(1)) ** 2).item()
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.6f}")
np.save("losses.npy", losses)
print(len(step.code.splitlines()), "lines of code")
