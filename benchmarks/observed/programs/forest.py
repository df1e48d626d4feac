"""Two models of scikit-learn, with its own reports; the program seeds nothing."""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix
from sklearn.model_selection import cross_val_score, train_test_split

inputs, targets = load_breast_cancer(return_X_y=True)
train_x, test_x, train_y, test_y = train_test_split(inputs, targets, test_size=0.3)
forest = GradientBoostingClassifier(n_estimators=12, subsample=0.5, verbose=1).fit(train_x, train_y)
print(classification_report(test_y, forest.predict(test_x), digits=3))
print(confusion_matrix(test_y, forest.predict(test_x)))
linear = SGDClassifier(max_iter=3, tol=None, verbose=1).fit(train_x, train_y)
print("test accuracy", accuracy_score(test_y, linear.predict(test_x)))
scores = cross_val_score(SGDClassifier(), inputs, targets, cv=3)
print(f"cross-validation: {scores.mean():.3f} (+/- {scores.std():.3f}), folds {scores}")
