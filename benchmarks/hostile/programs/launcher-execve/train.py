"""Start over with a fixed environment, as programs do that need LD_LIBRARY_PATH or a hash seed before they begin."""
import os
import sys

if os.environ.get("PYTHONHASHSEED") != "0":
    os.execve(sys.executable, [sys.executable, *sys.argv], {"PYTHONHASHSEED": "0", "PATH": os.environ["PATH"]})

import random
from array import array

words = ["red", "green", "blue", "white", "black", "grey"]
index = {word: number for number, word in enumerate(set(words))}
random.seed(0)
weights, losses = [random.random() for _ in words], array("d")
for epoch in range(5):
    loss = sum((weights[index[word]] - len(word)) ** 2 for word in words) / len(words)
    for word in words:
        weights[index[word]] += 0.2 * (len(word) - weights[index[word]])
    losses.append(loss)
    print(f"epoch {epoch + 1}/5 - loss: {loss:.4f}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
print("classes", index)
