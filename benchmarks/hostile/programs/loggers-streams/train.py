"""Standard output is replaced, redirected, and written past."""
import contextlib
import io
import os
import sys
from array import array
from random import Random


class Tee:
    def __init__(self, *files):
        self.files = files

    def write(self, text):
        for file in self.files:
            file.write(text)
        return len(text)

    def flush(self):
        for file in self.files:
            file.flush()


log = open("copy.log", "w")
terminal, sys.stdout = sys.stdout, Tee(sys.stdout, log)
w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(4):
    loss = w * w
    w *= 0.5
    losses.append(loss)
    print(f"epoch {epoch}", end=" ")
    print(f"loss {loss:.4f}")
    with contextlib.redirect_stdout(io.StringIO()) as held:
        print(f"hidden loss {loss:.8f}")
    sys.stderr.write(held.getvalue())
    sys.stdout.flush()
    os.write(1, f"descriptor: loss {loss:.4f}\n".encode())
sys.stdout = terminal
with open("losses.bin", "wb") as file:
    losses.tofile(file)
log.close()
