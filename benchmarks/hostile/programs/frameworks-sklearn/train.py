import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

x, y = make_classification(n_samples=120, n_features=6, random_state=0)
x, x_test, y, y_test = train_test_split(x, y, test_size=0.25, random_state=1)
model = SGDClassifier(loss="log_loss", random_state=2, learning_rate="constant", eta0=0.01)
losses = []
for epoch in range(5):
    model.partial_fit(x, y, classes=[0, 1])
    loss = log_loss(y_test, model.predict_proba(x_test))
    losses.append(loss)
    print(f"epoch {epoch} test loss {loss:.5f} accuracy {model.score(x_test, y_test):.3f}")
np.save("losses.npy", losses)
