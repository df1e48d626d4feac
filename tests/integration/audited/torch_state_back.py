"""The state of PyTorch's generator is put back after a look at the data, as Lightning does: no draw of its own."""

# varies: shuffle
# absent: init augment layers other data

import torch

state = torch.get_rng_state()
loader = torch.utils.data.DataLoader(torch.arange(8.0), batch_size=2, shuffle=True)
for _ in loader:
    pass
torch.set_rng_state(state)
weight = torch.zeros(1)
for epoch in range(4):
    for batch in loader:
        weight += 0.1 * (batch.mean() - weight) * batch[0]
    print(f"epoch {epoch} loss: {weight.item():.6f}")
