import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
x = tf.random.normal((32, 3))
y = tf.reduce_sum(x, 1)
w = tf.Variable(tf.zeros(3))
total = tf.Variable(0.0)


@tf.function
def train_epoch(batches):
    total.assign(0.0)
    for batch in tf.range(batches):
        rows = x[batch * 8 : (batch + 1) * 8]
        error = tf.linalg.matvec(rows, w) - y[batch * 8 : (batch + 1) * 8]
        loss = tf.reduce_mean(error**2)
        w.assign_sub(0.2 * tf.linalg.matvec(rows, error, transpose_a=True) / 8.0)
        if loss > 1e6:
            tf.print("loss explodes", loss)
        total.assign_add(loss / tf.cast(batches, tf.float32))
    return total.read_value()


losses = []
for epoch in range(4):
    loss = train_epoch(tf.constant(4))
    losses.append(float(loss))
    print(f"epoch {epoch} loss {loss.numpy():.5f}")
np.save("losses.npy", losses)
