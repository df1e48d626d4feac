import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

keras.utils.set_random_seed(3)
x = np.random.rand(64, 5).astype("float32")
y = (x.sum(1) > 2.5).astype("int32")
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(2, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, batch_size=16, epochs=3, verbose=0, validation_split=0.25)
for epoch, loss in enumerate(history.history["val_loss"]):
    print(f"epoch {epoch} val_loss {loss:.4f}")
np.save("losses.npy", history.history["val_loss"])
