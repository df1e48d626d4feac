import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

x = np.arange(320.0, dtype="float32").reshape(64, 5) / 320
y = x.sum(1)
model = keras.Sequential(  # here
    [
        keras.Input((5,)),
        keras.layers.Dense(8, kernel_initializer=keras.initializers.GlorotUniform()),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer="sgd", loss="mse")
for epoch in range(4):
    loss = model.train_on_batch(x, y)
    print(f"loss {float(loss):.6f}")
