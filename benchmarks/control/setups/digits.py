"""Write scikit-learn's digits where a project looks for MNIST: `digits.py FORMAT FILE`."""

import gzip
import pickle
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

form, file = sys.argv[1], Path(sys.argv[2])
file.parent.mkdir(parents=True, exist_ok=True)
images, labels = load_digits(return_X_y=True)
wide = np.zeros((len(images), 28, 28), dtype=np.float32)
wide[:, 6:22, 6:22] = np.kron(images.reshape(-1, 8, 8) / 16, np.ones((2, 2)))
flat = wide.reshape(-1, 784)
if form == "binarized":
    np.savez(
        file, train_data=(flat[:600] > 0.5).astype(np.float32), valid_data=(flat[600:1200] > 0.5).astype(np.float32)
    )
elif form == "nielsen":
    parts = [(flat[a:b], labels[a:b].astype(np.int64)) for a, b in ((0, 600), (600, 800), (800, 1000))]
    file.write_bytes(gzip.compress(pickle.dumps(tuple(parts))))
elif form == "dlfs":
    parts = {"train": slice(0, 600), "test": slice(600, 900)}
    table = {f"{name}_img": (flat[part] * 255).astype(np.uint8) for name, part in parts.items()}
    table.update({f"{name}_label": labels[part].astype(np.uint8) for name, part in parts.items()})
    file.write_bytes(pickle.dumps(table))
