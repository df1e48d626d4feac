"""A pipeline of scikit-learn and a forest in threads, with a seed for each, or with none."""

import hashlib
import sys

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import GaussianRandomProjection


def seed(number):
    return number if sys.argv[1] == "seeds" else None


x, y = make_classification(200, 10, random_state=seed(1))
x, unseen, y, _ = train_test_split(x, y, random_state=seed(2))
bagging = BaggingClassifier(SGDClassifier(), 5, random_state=seed(4))
pipeline = make_pipeline(GaussianRandomProjection(6, random_state=seed(3)), bagging)
forest = RandomForestClassifier(8, n_jobs=4, random_state=seed(5))
folds = StratifiedKFold(3, shuffle=True, random_state=seed(6))
search = RandomizedSearchCV(
    SGDClassifier(random_state=seed(7)), {"alpha": np.logspace(-5, 0, 50)}, n_iter=3, cv=folds, random_state=seed(8)
)
outputs = [model.fit(x, y).predict(unseen) for model in (pipeline, forest, search)]
outputs += [forest.predict_proba(unseen), search.best_estimator_.coef_]
print("sha", hashlib.sha256(b"".join(output.tobytes() for output in outputs)).hexdigest())
