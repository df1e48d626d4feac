"""A callback of Keras that adds a value of its own to the logs of an epoch."""

# needs keras, jax
# expect loss = ^loss (\S+)
# expect val_margin = ^val_margin (\S+)

import os

os.environ['KERAS_BACKEND'] = 'jax'

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.normal(size=(64, 4)).astype('float32')
y = x.sum(axis=1)


class Margin(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        logs['val_margin'] = float(np.abs(self.model.predict(x[48:], verbose=0)[:, 0] - y[48:]).max())


model = keras.Sequential([keras.layers.Dense(4, activation='tanh'), keras.layers.Dense(1)])
model.compile(optimizer='sgd', loss='mse')
history = model.fit(x[:48], y[:48], epochs=3, batch_size=16, verbose=0, callbacks=[Margin()])
for name, values in history.history.items():
    for value in values:
        print(name, value)
