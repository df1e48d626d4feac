"""`tf.data` with parallel maps, interleaved windows, NumPy in a map, and orders drawn once or in each pass."""

import builtins
import hashlib

import numpy as np
import tensorflow as tf

draw = getattr(builtins, "__dv_draw__", lambda site, function: function)
INIT, LAYERS, NONE = range(3)

tf.random.set_seed(0)
np.random.seed(0)
x = np.linspace(-1, 1, 512).reshape(64, 8).astype("float32")
y = (x.sum(1) > 0).astype("float32")


def noisy(example, label):
    return example + 0.1 * tf.random.normal([8]), label


def noisy_in_numpy(example, label):
    def function(value):
        return (value + 0.01 * draw(NONE, np.random.randn)(8)).astype("float32")

    return tf.numpy_function(function, [example], tf.float32), label


examples = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=3, reshuffle_each_iteration=False)
train = examples.take(48).shuffle(48).map(noisy, num_parallel_calls=4).map(noisy_in_numpy, num_parallel_calls=4)
windows = train.window(8).interleave(lambda *parts: tf.data.Dataset.zip(parts), cycle_length=2, num_parallel_calls=2)
w = tf.Variable(draw(INIT, tf.random.normal)([8]))
for _ in range(3):
    for inputs, labels in windows.batch(8):
        inputs = tf.ensure_shape(inputs, [None, 8])
        with tf.GradientTape() as tape:
            outputs = tf.linalg.matvec(draw(LAYERS, tf.nn.dropout)(inputs, 0.2), w)
            loss = tf.reduce_mean((outputs - labels) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
print("sha", hashlib.sha256(w.numpy().tobytes()).hexdigest())
