"""A linear model in NumPy that draws for initialisation, shuffling and dropout."""

import numpy as np

x = np.linspace(-1.0, 1.0, 96 * 5).reshape(96, 5)
y = x.dot(np.arange(5.0))
weights = np.random.normal(size=5)


def dropout(inputs):
    return inputs * (np.random.rand(*inputs.shape) > 0.2)


for epoch in range(3):
    order = np.random.permutation(len(x))
    for batch in np.split(order, 6):
        error = dropout(x[batch]).dot(weights) - y[batch]
        weights -= 0.05 * x[batch].T.dot(error) / len(batch)
    loss = float(np.mean((x.dot(weights) - y) ** 2))
    print(f"epoch {epoch} loss {loss!r}")
