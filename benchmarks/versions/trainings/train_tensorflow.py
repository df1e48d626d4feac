"""A training loop of TensorFlow's own that draws for initialisation, shuffling, augmentation and dropout."""

import tensorflow as tf

x = tf.reshape(tf.linspace(-1.0, 1.0, 96 * 8), (96, 8))
y = tf.cast(tf.reduce_sum(x, 1) > 0, tf.int32)


def augmented(inputs, target):
    return inputs + tf.random.normal((8,), stddev=0.1), target


data = tf.data.Dataset.from_tensor_slices((x, y)).map(augmented).shuffle(96).batch(16)
initializer = tf.initializers.GlorotUniform()
hidden, out = tf.Variable(initializer((8, 16))), tf.Variable(initializer((16, 2)))


@tf.function
def step(inputs, targets):
    with tf.GradientTape() as tape:
        logits = tf.nn.dropout(tf.nn.relu(inputs @ hidden), 0.3) @ out
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits))
    for variable, gradient in zip((hidden, out), tape.gradient(loss, (hidden, out))):
        variable.assign_sub(0.1 * gradient)
    return loss


for epoch in range(3):
    total = 0.0
    for inputs, targets in data:
        total += float(step(inputs, targets))
    print(f"epoch {epoch} loss {total!r}")
