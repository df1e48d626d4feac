"""A loop of one's own in TensorFlow 2: a compiled step, and metrics that are reset each epoch."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

tf.random.set_seed(0)
images = tf.random.normal((192, 12))
labels = tf.cast(tf.reduce_sum(images[:, :6], axis=1) > 0, tf.int64)
train_ds = tf.data.Dataset.from_tensor_slices((images[:128], labels[:128])).shuffle(128).batch(32)
test_ds = tf.data.Dataset.from_tensor_slices((images[128:], labels[128:])).batch(32)

model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)])
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(0.01)

train_loss = tf.keras.metrics.Mean(name="train_loss")
train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
test_loss = tf.keras.metrics.Mean(name="test_loss")
test_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        predictions = model(x, training=True)
        loss = loss_object(y, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_loss(loss)
    train_accuracy(y, predictions)


@tf.function
def test_step(x, y):
    predictions = model(x, training=False)
    test_loss(loss_object(y, predictions))
    test_accuracy(y, predictions)


EPOCHS = 3
for epoch in range(EPOCHS):
    for metric in (train_loss, train_accuracy, test_loss, test_accuracy):
        metric.reset_state()
    for x, y in train_ds:
        train_step(x, y)
    for x, y in test_ds:
        test_step(x, y)
    print(
        f"Epoch {epoch + 1}, "
        f"Loss: {train_loss.result():.6f}, "
        f"Accuracy: {train_accuracy.result() * 100:.2f}, "
        f"Test Loss: {test_loss.result():.6f}, "
        f"Test Accuracy: {test_accuracy.result() * 100:.2f}"
    )
