# Episodes are as long as the policy makes them, so how often actions are drawn follows from the weights.
# pinned: init other
import numpy as np

np.random.seed(3)

weights = np.random.randn(2) * 0.3


def act(position):
    return np.random.rand() < 1 / (1 + np.exp(-(weights[0] * position + weights[1])))


for episode in range(30):
    position, steps = 0.0, 0
    while abs(position) < 1.0 + abs(weights[0]) and steps < 60:
        action = act(position)
        position += 0.2 if action else -0.15
        weights += 0.05 * (action - 0.5) * np.array([position, 1.0])
        steps += 1
    loss = float(np.sum(weights**2))
    print(f"episode {episode} loss {loss:.9f}")
