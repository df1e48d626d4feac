"""The logs of Keras, as ``compile`` and ``fit`` make them."""

# needs keras, jax
# expect loss = ^loss (\S+)
# expect accuracy = ^accuracy (\S+)
# expect val_loss = ^val_loss (\S+)
# expect val_accuracy = ^val_accuracy (\S+)

import os

os.environ['KERAS_BACKEND'] = 'jax'

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.normal(size=(64, 4)).astype('float32')
y = (x.sum(axis=1) > 0).astype('float32')
model = keras.Sequential([keras.layers.Dense(4, activation='tanh'), keras.layers.Dense(1, activation='sigmoid')])
model.compile(optimizer='adam', loss='binary_crossentropy', metrics=['accuracy'])
history = model.fit(x, y, epochs=3, validation_split=0.25, batch_size=16, verbose=0)
for name, values in history.history.items():
    for value in values:
        print(name, value)
