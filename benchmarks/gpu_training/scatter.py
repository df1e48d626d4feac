import numpy as np
import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    nodes, edges, width = 2000, 40000, 32
    source = torch.from_numpy(rng.integers(0, nodes, edges)).to(DEVICE)
    target = torch.from_numpy((rng.random(edges) ** 4 * nodes).astype(np.int64)).to(DEVICE)
    features = torch.randn(nodes, width).to(DEVICE)
    labels = (features[:, 0] + features[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 2)).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(8):
        for _ in range(5):
            hidden = model[0](features)
            messages = hidden[source]
            gathered = torch.zeros_like(hidden).scatter_add_(0, target[:, None].expand_as(messages), messages)
            loss = nn.functional.cross_entropy(model[2](torch.relu(hidden + 0.1 * gathered)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.8f}")


main()
