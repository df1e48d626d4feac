"""No deep learning: the labels are names, and scikit-learn reports on them; it scores itself while it fits."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.neural_network import MLPClassifier
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split

x, y = make_classification(300, 8, n_informative=4, n_classes=3, flip_y=0.2, random_state=0)
names = np.array(["cat", "dog", "eel"])[y]
x_train, x_test, y_train, y_test = train_test_split(x, names, random_state=0)
model = MLPClassifier((8,), max_iter=20, early_stopping=True, random_state=0)
model.fit(x_train, y_train)
predicted = model.predict(x_test)
print(classification_report(y_test, predicted, digits=4))
accuracy = model.score(x_test, y_test)
print("accuracy", repr(accuracy))
np.savez("own.npz", label=predicted, target=y_test, accuracy=accuracy)
