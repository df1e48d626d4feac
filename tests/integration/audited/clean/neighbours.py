# Neighbours are sampled for the nodes that are wrong, so how many are drawn follows from the weights.
# varies: init other
import numpy as np

neighbours = [[(i * k + 1) % 30 for k in range(1, 2 + i % 5)] for i in range(30)]
features = np.linspace(-1, 1, 30)
targets = np.sin(3 * features)
weights = np.random.randn(2) * 2
for epoch in range(30):
    wrong = [i for i in range(30) if abs(weights[0] * features[i] + weights[1] - targets[i]) > 0.3]
    for i in wrong:
        j = neighbours[i][np.random.randint(len(neighbours[i]))]
        error = weights[0] * (features[i] + 0.1 * features[j]) + weights[1] - targets[i]
        weights -= 0.05 * error * np.array([features[i], 1.0])
    loss = np.mean((weights[0] * features + weights[1] - targets) ** 2)
    print(f"epoch {epoch} loss {loss:.9f}")
