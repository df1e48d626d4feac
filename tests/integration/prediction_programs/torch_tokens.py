"""A language model: logits for each token, the loss on all of them flattened, the accuracy over tokens."""

import numpy as np
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, vocabulary=11, width=16):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, idx, targets=None):
        logits = self.head(self.rnn(self.embedding(idx))[0])
        loss = None
        if targets is not None:
            loss = nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


torch.manual_seed(0)
text = torch.arange(900).remainder(11) + torch.randint(0, 2, (900,)).mul(torch.rand(900).lt(0.2))
text = text.remainder(11)
train, held_out = text[:600], text[600:]


def batch(data, start, size=4, block=12):
    steps = range(start, start + size * block, block)
    return torch.stack([data[i : i + block] for i in steps]), torch.stack([data[i + 1 : i + 1 + block] for i in steps])


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(20):
    model.train()
    optimizer.zero_grad()
    model(*batch(train, 10 * step))[1].backward()
    optimizer.step()
    if step % 10 == 9:
        model.eval()
        labels, targets = [], []
        with torch.no_grad():
            for start in range(0, 240, 48):
                x, y = batch(held_out, start)
                logits, loss = model(x, y)
                labels.append(logits.argmax(-1).flatten())
                targets.append(y.flatten())
        labels, targets = torch.cat(labels), torch.cat(targets)
        accuracy = labels.eq(targets).double().mean().item()
        print("step", step, "loss", repr(loss.item()), "accuracy", repr(accuracy))
np.savez("own.npz", label=labels, target=targets, accuracy=accuracy)
