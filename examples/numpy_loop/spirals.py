# Three-arm spirals, one hidden layer, gradients by hand. NumPy only.
import sys
import time

import numpy as np

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
np.random.seed(seed)

# ---- data: 3 arms of 200 points, a quarter of them kept for testing ----
points_per_arm, arms = 200, 3
radius = np.tile(np.linspace(0.05, 1.0, points_per_arm), arms)
arm = np.repeat(np.arange(arms), points_per_arm)
angle = 2.1 * arm + 4.0 * radius + 0.45 * np.random.randn(arms * points_per_arm)
X = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1)
order = np.random.permutation(len(X))
test, train = order[:150], order[150:]
X_train, y_train, X_test, y_test = X[train], arm[train], X[test], arm[test]

# ---- model ----
hidden = 48
W1 = 0.5 * np.random.randn(2, hidden)
b1 = np.zeros(hidden)
W2 = 0.1 * np.random.randn(hidden, arms)
b2 = np.zeros(arms)


def forward(X):
    h = np.maximum(0, X @ W1 + b1)
    scores = h @ W2 + b2
    scores = scores - scores.max(axis=1, keepdims=True)
    p = np.exp(scores)
    return h, p / p.sum(axis=1, keepdims=True)


def cross_entropy(p, y):
    return -np.mean(np.log(p[np.arange(len(y)), y] + 1e-12))


def accuracy(p, y):
    return 100.0 * np.mean(p.argmax(axis=1) == y)


# ---- mini-batch gradient descent until the loss stops falling ----
lr, batch_size, tolerance, patience = 0.5, 50, 1e-3, 15
best_loss, waited, epoch = float("inf"), 0, 0
begin = time.time()
while waited < patience and epoch < 400:
    epoch += 1
    shuffled = np.random.permutation(len(X_train))
    for i in range(0, len(shuffled), batch_size):
        idx = shuffled[i:i + batch_size]
        h, p = forward(X_train[idx])
        d = p
        d[np.arange(len(idx)), y_train[idx]] -= 1
        d /= len(idx)
        dh = d @ W2.T
        dh[h <= 0] = 0
        W2 -= lr * (h.T @ d)
        b2 -= lr * d.sum(axis=0)
        W1 -= lr * (X_train[idx].T @ dh)
        b1 -= lr * dh.sum(axis=0)

    _, p = forward(X_train)
    loss, train_acc = cross_entropy(p, y_train), accuracy(p, y_train)
    if loss < best_loss - tolerance:
        best_loss, waited = loss, 0
    else:
        waited += 1
    if epoch % 10 == 0:
        _, p_test = forward(X_test)
        test_loss, test_acc = cross_entropy(p_test, y_test), accuracy(p_test, y_test)
        print("epoch %4d   loss %.5f   train acc %5.1f%%   test loss %.5f   test acc %5.1f%%"
              % (epoch, loss, train_acc, test_loss, test_acc))

_, p_test = forward(X_test)
print("converged after %d epochs in %.2f s" % (epoch, time.time() - begin))
print("final loss %.5f, final test accuracy %.2f%%" % (loss, accuracy(p_test, y_test)))
