"""Two rings told apart by a small network, with Keras 3 on JAX."""

import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

rng = np.random.default_rng(0)
radius = np.concatenate([rng.normal(1.0, 0.3, 96), rng.normal(2.0, 0.3, 96)])
angle = rng.uniform(0, 2 * np.pi, radius.size)
points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype("float32")
labels = (radius > 1.5).astype("float32")

model = keras.Sequential(
    [keras.layers.Dense(16, activation="relu"), keras.layers.Dropout(0.2), keras.layers.Dense(1, activation="sigmoid")]
)
model.compile(optimizer=keras.optimizers.Adam(0.02), loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(points, labels, batch_size=32, epochs=3, validation_split=0.25, verbose=2)

with open("history.json", "w") as file:
    json.dump(history.history, file)

# Nothing is done with what it returns; Keras shows it.
model.evaluate(points, labels, verbose=2)
