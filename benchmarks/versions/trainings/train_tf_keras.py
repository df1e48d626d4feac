"""A small network fitted by `tf_keras` that draws for initialisation, shuffling and dropout."""

import numpy as np
import tf_keras as keras

x = np.linspace(-1, 1, 96 * 8).reshape(96, 8).astype("float32")
y = (x.sum(axis=1) > 0).astype("int32")
model = keras.models.Sequential(
    [
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(2, activation="softmax"),
    ]
)
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
for epoch in range(3):
    history = model.fit(x, y, batch_size=16, epochs=1, verbose=0)
    loss = float(history.history["loss"][0])
    print(f"epoch {epoch} loss {loss!r}")
