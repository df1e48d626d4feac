"""A small training with Keras that draws for every factor, seeded in one of several ways."""

import builtins
import hashlib
import sys

import keras
import numpy as np
from keras import layers

draw = getattr(builtins, "__dv_draw__", lambda site, function: function)
seeding, width = sys.argv[1], int(sys.argv[2])
own = seeding == "own"

if seeding == "everything":
    keras.utils.set_random_seed(3)
numbers = np.random.RandomState(4) if own else np.random
order = draw(0, numbers.permutation)(96)
x = np.linspace(-1, 1, 96 * 36, dtype="float32").reshape(96, 6, 6, 1)
x, y = x[order], (x.sum((1, 2, 3)) > 0).astype("int32")[order]
train_x, train_y = x[:80] + 0.1 * numbers.normal(size=(80, 6, 6, 1)).astype("float32"), y[:80]
model = keras.Sequential(
    [
        layers.Input((6, 6, 1)),
        layers.RandomFlip(seed=5 if own else None),
        layers.Flatten(),
        layers.Dense(width, kernel_initializer=keras.initializers.HeNormal(seed=6) if own else "he_normal"),
        layers.Dropout(0.3, seed=7 if own else None),
        layers.Dense(2),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.SGD(0.1), loss, jit_compile=False)
model.fit(train_x, train_y, batch_size=16, epochs=2, validation_split=0.2, verbose=0)
print("sha", hashlib.sha1(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
