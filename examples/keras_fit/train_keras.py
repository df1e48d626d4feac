# Breast cancer diagnosis (569 patients, 30 features) with Keras 3.
import argparse
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=30)
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--learning_rate", type=float, default=2e-3)
parser.add_argument("--seed", type=int, default=123)
args = parser.parse_args()

keras.utils.set_random_seed(args.seed)

x, y = load_breast_cancer(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=1)
x_train, x_val, y_train, y_val = train_test_split(x_train, y_train, test_size=0.25, stratify=y_train, random_state=1)
scaler = StandardScaler().fit(x_train)
x_train, x_val, x_test = map(scaler.transform, (x_train, x_val, x_test))

model = keras.Sequential(
    [
        keras.Input(shape=(30,)),
        layers.GaussianNoise(0.3),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.4),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(args.learning_rate),
    loss="binary_crossentropy",
    metrics=["accuracy"],
)

callbacks = [
    keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=3),
    keras.callbacks.EarlyStopping(monitor="val_loss", patience=6, restore_best_weights=True),
]
history = model.fit(
    x_train,
    y_train,
    validation_data=(x_val, y_val),
    epochs=args.epochs,
    batch_size=args.batch_size,
    callbacks=callbacks,
    verbose=2,
)

loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("stopped after", len(history.history["loss"]), "epochs")
print("test loss:", round(loss, 4))
print("test accuracy:", round(100 * accuracy, 2))
