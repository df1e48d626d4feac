"""`fit` with validation data, then `evaluate` and `predict` on the test set."""

import sys

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(352, 6)).astype("float32")
y = (x[:, :3] + 0.8 * rng.normal(size=(352, 3))).argmax(1)
model = keras.Sequential(
    [keras.layers.Dense(8, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dropout(0.2),
     keras.layers.Dense(3, activation="softmax")]
)  # fmt: skip
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(
    x[:200], y[:200], batch_size=32, epochs=2, validation_data=(x[200:280], y[200:280]), verbose=0, shuffle=True
)
print({name: [repr(value) for value in values] for name, values in history.history.items()})
if sys.argv[1:] == ["dataset"]:
    import tensorflow as tf

    test = tf.data.Dataset.from_tensor_slices((x[280:], y[280:])).map(lambda x, y: (x, y)).batch(32).prefetch(1)
    loss, accuracy = model.evaluate(test, verbose=0)
else:
    loss, accuracy = model.evaluate(x[280:], y[280:], batch_size=32, verbose=0)
print("loss", repr(loss), "accuracy", repr(accuracy))
labels = model.predict(x[280:], batch_size=32, verbose=0).argmax(axis=1)
np.savez("own.npz", label=labels, target=y[280:], accuracy=accuracy)
history = model.fit(x[:200], y[:200], batch_size=32, epochs=1, verbose=0)
print("again", history.history)
