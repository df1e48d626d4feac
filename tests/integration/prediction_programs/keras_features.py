"""A model of Keras with a head, evaluated by `evaluate`, `predict` or batch by batch; it computes itself what enters the head."""

import sys

import keras
import numpy as np

way, seed = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
x = rng.normal(size=(1250, 6)).astype("float32")
y = (x[:, :3] + 0.5 * rng.normal(size=(1250, 3))).argmax(1)
keras.utils.set_random_seed(seed)
inputs = keras.Input((6,))
hidden = keras.layers.Dense(5, activation="relu")(inputs)
hidden = keras.layers.Dropout(0.2)(hidden)
model = keras.Model(inputs, keras.layers.Dense(3, activation="softmax")(hidden))
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x[:200], y[:200], batch_size=32, epochs=2, verbose=0)
print("train", history.history)
if way == "evaluate":
    print("test", model.evaluate(x, y, batch_size=100, verbose=0))
elif way == "predict":
    print("test", (model.predict(x, batch_size=100, verbose=0).argmax(1) == y).mean())
else:
    outputs = [model(x[start : start + 100], training=False) for start in range(0, 1250, 100)]
    labels = np.concatenate([np.argmax(each, axis=1) for each in outputs])
    print("test", (labels == y).mean())
kernel, bias = model.layers[1].get_weights()
np.savez("own.npz", features=np.maximum(x @ kernel + bias, 0), x=x)
