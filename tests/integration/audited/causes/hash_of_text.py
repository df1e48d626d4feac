import numpy as np

np.random.seed(7)

words = "the cat sat on the mat and the dog sat on the cat".split()
buckets = np.array([hash(word) % 16 for word in words])  # cause: hash
weights = np.random.randn(16)
for epoch in range(4):
    for step, bucket in enumerate(buckets):
        weights[bucket] -= 0.1 * (weights[bucket] - step)
    loss = np.mean((weights[buckets] - np.arange(len(words))) ** 2)
    print(f"epoch {epoch} loss {loss:.6f}")
