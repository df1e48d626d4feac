"""A training loop of one's own with Keras on TensorFlow, step by step."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(160, 6)).astype("float32")
y = (x[:, :3] + 0.8 * rng.normal(size=(160, 3))).argmax(1)
train_dataset = tf.data.Dataset.from_tensor_slices((x[:96], y[:96])).shuffle(96).batch(16)
val_dataset = tf.data.Dataset.from_tensor_slices((x[96:], y[96:])).batch(20)
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
optimizer = keras.optimizers.Adam(0.02)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_acc_metric = keras.metrics.SparseCategoricalAccuracy()
val_acc_metric = keras.metrics.SparseCategoricalAccuracy()
for epoch in range(2):
    for x_batch, y_batch in train_dataset:
        with tf.GradientTape() as tape:
            logits = model(x_batch, training=True)
            loss = loss_fn(y_batch, logits)
        gradients = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(gradients, model.trainable_weights))
        train_acc_metric.update_state(y_batch, logits)
    print("train", repr(float(train_acc_metric.result())))
    train_acc_metric.reset_state()
    labels = []
    for x_batch, y_batch in val_dataset:
        logits = model(x_batch, training=False)
        val_acc_metric.update_state(y_batch, logits)
        labels.append(np.argmax(logits, axis=1))
    accuracy = float(val_acc_metric.result())
    val_acc_metric.reset_state()
    print("accuracy", repr(accuracy))
np.savez("own.npz", label=np.concatenate(labels), target=y[96:], accuracy=accuracy)
