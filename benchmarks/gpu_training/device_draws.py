import torch
import torch.nn.functional as F
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(20, 64, device=device)
        self.drop = nn.Dropout(0.3)
        self.b = nn.Linear(64, 4, device=device)

    def forward(self, x):
        return self.b(self.drop(F.relu(self.a(x))))


def jitter(x):
    return x + 0.1 * torch.randn(x.shape, device=x.device)


rng = torch.Generator(device="cpu").manual_seed(123)
x = torch.randn(800, 20, generator=rng).to(device)
w = torch.randn(20, 4, generator=rng).to(device)
y = (x @ w).argmax(1)
train_x, train_y, test_x, test_y = x[:600], y[:600], x[600:], y[600:]

model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    model.train()
    order = torch.randperm(len(train_x), device=device)
    for i in range(0, 600, 50):
        pick = order[i : i + 50]
        loss = F.cross_entropy(model(jitter(train_x[pick])), train_y[pick])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        out = model(test_x)
    acc = (out.argmax(1) == test_y).float().mean().item()
    print(f"Epoch {epoch}: train loss {loss.item():.6f}, test acc {100 * acc:.2f}%")
