"""Note with the results which code made them: source of functions, of the module, its lines and its bytes."""
import hashlib
import inspect
import linecache
import os
import random
import sys
from array import array


def digest(text):
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()[:12]


def train(epochs):
    losses = array("d")
    w = random.random() * 4
    for epoch in range(epochs):
        loss = (w - 1) ** 2
        w -= 0.3 * (w - 1)
        losses.append(loss)
        print(f"epoch {epoch} loss {loss:.6f}")
    return losses


random.seed(1)
print("function", digest(inspect.getsource(train)))
print("module", digest(inspect.getsource(sys.modules[__name__])))
print("lines", digest("".join(linecache.getlines(__file__))))
print("file", digest(open(__file__, "rb").read()), os.stat(__file__).st_size, os.path.basename(__file__))
descriptor = os.open(__file__, os.O_RDONLY)
print("descriptor", digest(os.read(descriptor, 100_000)))
print("first line", train.__code__.co_firstlineno, train.__code__.co_varnames)
result = train(5)
with open("losses.bin", "wb") as file:
    result.tofile(file)
