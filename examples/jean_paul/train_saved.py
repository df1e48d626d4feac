# An MLP of 26 hidden units on Gaussian data of the paper's sizes; its weights are saved for either framework.
import argparse
import os

import numpy as np

from gaussians import PAPER, paper_data
from places import PLACES, go_to, torch_device

parser = argparse.ArgumentParser()
parser.add_argument("--framework", choices=("torch", "keras"), default="torch")
parser.add_argument("--on", choices=PLACES, default="cpu")
parser.add_argument("--dimensions", type=int, choices=sorted(PAPER), default=2)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--seed", type=int, default=1337)
args = parser.parse_args()
go_to(args.on)


def train_torch(train, test):
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    device = torch_device(args.on)
    torch.manual_seed(args.seed)
    loader = DataLoader(TensorDataset(*map(torch.from_numpy, train)), batch_size=100, shuffle=True)
    test_x, test_y = (torch.from_numpy(each).to(device) for each in test)
    model = nn.Sequential(nn.Linear(args.dimensions, 26), nn.ReLU(), nn.Linear(26, 2)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0005)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x.to(device)), y.to(device)).backward()
            optimizer.step()
        with torch.no_grad():
            error = 100 * (model(test_x).argmax(1) != test_y).double().mean().item()
        print(f"epoch {epoch}  error while training {error:.4f}%")
    first, last = model[0], model[2]
    return [each.detach().cpu().numpy() for each in (first.weight.T, first.bias, last.weight.T, last.bias)]


def train_keras(train, test):
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras
    from keras import layers

    keras.utils.set_random_seed(args.seed)
    model = keras.Sequential(
        [keras.Input(shape=(args.dimensions,)), layers.Dense(26, activation="relu"), layers.Dense(2)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(0.0005), loss=loss, metrics=["accuracy"])
    for epoch in range(args.epochs):
        model.fit(*train, batch_size=100, epochs=1, verbose=0)
        accuracy = model.evaluate(*test, verbose=0)[1]
        print(f"epoch {epoch}  error while training {100 * (1 - accuracy):.4f}%")
    return model.get_weights()


trained = {"torch": train_torch, "keras": train_keras}[args.framework](*paper_data(args.dimensions))
np.savez("weights.npz", *trained)
