"""Digits of scikit-learn with the interface of the data sets of JAX's examples."""

import numpy as np
from sklearn.datasets import load_digits


def mnist(permute_train=False):
    """Return training and test images and labels, 28 by 28 and one-hot."""
    images, labels = load_digits(return_X_y=True)
    wide = np.zeros((len(images), 28, 28), dtype=np.float32)
    wide[:, 6:22, 6:22] = np.kron(images.reshape(-1, 8, 8) / 16, np.ones((2, 2)))
    flat, targets = wide.reshape(-1, 784), np.eye(10, dtype=np.float32)[labels]
    train, test = slice(0, 600), slice(600, 900)
    order = np.random.RandomState(0).permutation(600) if permute_train else np.arange(600)
    return flat[train][order], targets[train][order], flat[test], targets[test]
