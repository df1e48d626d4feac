import torch
import torch.nn.functional as F
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.up = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, x):
        h = F.relu(self.down(x))
        h = F.interpolate(h, scale_factor=2, mode="bilinear", align_corners=False)
        return self.up(h)


torch.manual_seed(0)
images = torch.rand(64, 3, 32, 32).to(device)
net = Net().to(device)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    for batch in images.split(16):
        loss = F.mse_loss(net(batch), batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "mse", loss.item())
