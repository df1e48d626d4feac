# varies: init
# absent: augment
import keras
import numpy as np

x = np.linspace(-1, 1, 256).reshape(64, 4)
drop = keras.layers.Dropout(0.2, seed=3)  # pins layers
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), drop, keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x.sum(axis=1), epochs=2, batch_size=8, verbose=2)
