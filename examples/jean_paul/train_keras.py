# An MLP of 26 hidden units on Gaussian data, in Keras.
import argparse
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
from keras import layers

from gaussians import lowest_error, make_data

parser = argparse.ArgumentParser()
parser.add_argument("--dimensions", type=int, default=2)
parser.add_argument("--epochs", type=int, default=25)
parser.add_argument("--seed", type=int, default=1337)
args = parser.parse_args()

keras.utils.set_random_seed(args.seed)

train, test = make_data(args.dimensions, train_size=2000, test_size=2000)

model = keras.Sequential(
    [
        keras.Input(shape=(args.dimensions,)),
        layers.Dense(26, activation="relu"),
        layers.Dense(2, activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(0.0005),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(*train, batch_size=32, epochs=args.epochs, verbose=2)

loss, accuracy = model.evaluate(*test, verbose=0)
print(f"test error: {100 * (1 - accuracy):.2f}%")
print(f"no classifier goes below {lowest_error():.2f}% on all data of this kind")
