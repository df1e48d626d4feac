"""A thread leaves by sys.exit, the program by os._exit after it wrote everything."""
import os
import sys
import threading
from array import array
from random import Random


def watch(stop):
    stop.wait()
    sys.exit(7)


stop = threading.Event()
thread = threading.Thread(target=watch, args=(stop,))
thread.start()
w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(5):
    loss = w * w
    w *= 0.5
    losses.append(loss)
    print(f"epoch {epoch} loss {loss:.5f}")
stop.set()
thread.join()
with open("losses.bin", "wb") as file:
    losses.tofile(file)
print("leaving", flush=True)
os._exit(0)
