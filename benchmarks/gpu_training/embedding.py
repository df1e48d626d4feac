import torch
import torch.nn.functional as F
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
tokens = torch.randint(0, 50, (512, 64)).to(device)
labels = tokens.float().mean(1).gt(24.5).long()
emb = nn.EmbeddingBag(50, 32, mode="max").to(device)
head = nn.Linear(32, 2).to(device)
opt = torch.optim.SGD([*emb.parameters(), *head.parameters()], lr=0.5)
for epoch in range(8):
    for x, y in zip(tokens.split(128), labels.split(128)):
        loss = F.cross_entropy(head(emb(x)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.9f}")
