"""Keras, backed up after each epoch."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

keras.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
y = (x.sum(1) > 0).astype(int)
layers = keras.layers
model = keras.Sequential([keras.Input((4,)), layers.Dense(8, "relu"), layers.Dense(2, "softmax")])
model.compile(keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy")
callbacks = [
    keras.callbacks.BackupAndRestore("backup"),
]
model.fit(x, y, epochs=5, batch_size=16, shuffle=False, verbose=2, callbacks=callbacks)
