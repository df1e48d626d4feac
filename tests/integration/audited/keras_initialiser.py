# varies: layers
# absent: augment
import keras
import numpy as np

x = np.linspace(-1, 1, 256).reshape(64, 4)
first = keras.layers.Dense(8, kernel_initializer=keras.initializers.GlorotUniform(seed=1))  # pins init
last = keras.layers.Dense(1, kernel_initializer=keras.initializers.GlorotUniform(seed=2))  # pins init
model = keras.Sequential([first, keras.layers.Dropout(0.2), last])
model.compile("sgd", "mse")
model.fit(x, x.sum(axis=1), epochs=2, batch_size=8, verbose=2)
