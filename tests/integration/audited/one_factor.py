# varies: other
# absent: init shuffle data
import numpy as np

x = np.linspace(-1, 1, 40)
weight = 0.5
for epoch in range(4):
    noise = np.random.randn()
    weight -= 0.1 * np.mean(2 * (weight * x - 3 * x + noise) * x)
    loss = np.mean((weight * x - 3 * x) ** 2) + 0.1 * noise
    print(f"epoch {epoch} loss {loss:.9f}")
