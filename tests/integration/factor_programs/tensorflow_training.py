"""A training loop of TensorFlow's own that draws for every factor, seeded in one of several ways."""

import builtins
import hashlib
import sys

import tensorflow as tf
from tensorflow.python.autograph.impl import api

draw = getattr(builtins, "__dv_draw__", lambda site, function: function)
seeding, width = sys.argv[1], int(sys.argv[2])
own = {"seed": 5} if seeding == "own" else {}

if seeding == "everything":
    tf.random.set_seed(3)


class Net(tf.Module):
    def __init__(self):
        initial = tf.initializers.GlorotUniform(**own)
        self.hidden = tf.Variable(initial((8, width)))
        self.out = tf.Variable(tf.random.normal((width, 2), **own))

    def __call__(self, x):
        return tf.nn.dropout(tf.nn.relu(x @ self.hidden), 0.3, **own) @ self.out


def augmented(x, y):
    if tf.reduce_sum(x) > 0:
        return x + tf.random.normal((8,), stddev=0.1, **own), y
    return x * tf.random.uniform((), 0.9, 1.1, **own), y


x = tf.reshape(tf.linspace(-1.0, 1.0, 96 * 8), (96, 8))
order = draw(0, tf.random.shuffle)(tf.range(96), **own)
x, y = tf.gather(x, order), tf.cast(tf.gather(tf.reduce_sum(x, 1), order) > 0, tf.int32)
data = tf.data.Dataset.from_tensor_slices((x[:80], y[:80])).map(augmented).shuffle(80, **own).batch(16)
model = Net()


@tf.function
def step(inputs, targets):
    with tf.GradientTape() as tape:
        logits = model(inputs + tf.random.normal((8,), stddev=0.01, **own))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))
    gradients = tape.gradient(loss, [model.hidden, model.out])
    model.hidden.assign_sub(0.1 * gradients[0])
    model.out.assign_sub(0.1 * gradients[1])
    return loss


seen = []
for _ in range(2):
    for inputs, targets in data:
        seen.extend(example.tobytes() for example in inputs.numpy())
        step(inputs, targets)
print("passes", "repeat" if sorted(seen[:80]) == sorted(seen[80:]) else "differ")
print("sha", hashlib.sha1(b"".join(w.numpy().tobytes() for w in model.trainable_variables)).hexdigest())
converted = {code.co_name for code in api._TRANSPILER._cache._cache if "deviate_runtime" in code.co_filename}
print("converted", *sorted(converted))
