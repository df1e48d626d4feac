import torch
import torch.nn.functional as F
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 5)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.randn(640, 32, device=device)
target = (data[:, :5]).argmax(1)
static_x, static_y = data[:64].clone(), target[:64].clone()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        opt.zero_grad(set_to_none=True)
        F.cross_entropy(model(static_x), static_y).backward()
        opt.step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
opt.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    static_loss = F.cross_entropy(model(static_x), static_y)
    static_loss.backward()
    opt.step()
for epoch in range(6):
    for x, y in zip(data[:512].split(64), target[:512].split(64)):
        static_x.copy_(x)
        static_y.copy_(y)
        graph.replay()
    model.eval()
    with torch.no_grad():
        acc = (model(data[512:]).argmax(1) == target[512:]).float().mean().item()
    model.train()
    print(f"epoch {epoch} loss {static_loss.item():.6f} acc {acc:.4f}")
