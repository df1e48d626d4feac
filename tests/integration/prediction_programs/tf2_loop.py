"""TensorFlow 2: compiled steps for training and testing."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(160, 6)).astype("float32")
y = (x[:, :3] + 0.8 * rng.normal(size=(160, 3))).argmax(1)
train_ds = tf.data.Dataset.from_tensor_slices((x[:96], y[:96])).shuffle(96).batch(16)
test_ds = tf.data.Dataset.from_tensor_slices((x[96:], y[96:])).batch(20)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(3)])
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(0.02)
train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
test_loss = tf.keras.metrics.Mean(name="test_loss")
test_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        predictions = model(images, training=True)
        loss = loss_object(labels, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_accuracy(labels, predictions)


@tf.function
def test_step(images, labels):
    predictions = model(images, training=False)
    test_loss(loss_object(labels, predictions))
    test_accuracy(labels, predictions)


for epoch in range(3):
    for metric in (train_accuracy, test_loss, test_accuracy):
        metric.reset_state()
    for images, labels in train_ds:
        train_step(images, labels)
    for images, labels in test_ds:
        test_step(images, labels)
    print(epoch, repr(float(train_accuracy.result())), repr(float(test_loss.result())))
accuracy = float(test_accuracy.result())
print("accuracy", repr(accuracy))
labels = tf.argmax(model(x[96:]), axis=1).numpy()
np.savez("own.npz", label=labels, target=y[96:], accuracy=accuracy)
