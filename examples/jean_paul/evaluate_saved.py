# The error of saved weights, computed by either framework, wherever.
import argparse
import os

import numpy as np

from gaussians import paper_data
from places import PLACES, go_to, torch_device

parser = argparse.ArgumentParser()
parser.add_argument("--framework", choices=("torch", "keras"), default="torch")
parser.add_argument("--on", choices=PLACES, default="cpu")
args = parser.parse_args()
go_to(args.on)

weights = [each for _, each in sorted(np.load("weights.npz").items())]
_, (x, y) = paper_data(len(weights[0]))


def scores_of_torch():
    import torch

    device = torch_device(args.on)
    first, bias, last, shift = (torch.from_numpy(each).to(device) for each in weights)
    return (torch.relu(torch.from_numpy(x).to(device) @ first + bias) @ last + shift).cpu().numpy()


def scores_of_keras():
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras
    from keras import layers

    model = keras.Sequential([keras.Input(shape=x.shape[1:]), layers.Dense(26, activation="relu"), layers.Dense(2)])
    model.set_weights(weights)
    return model.predict(x, batch_size=len(x), verbose=0)


scores = {"torch": scores_of_torch, "keras": scores_of_keras}[args.framework]().astype(np.float64)
error = 100 * np.mean(scores.argmax(1) != y)
margin = np.mean(np.abs(scores[:, 1] - scores[:, 0]))
print(f"error {error:.4f}%  margin {margin:.12f}")
