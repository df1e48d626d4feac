import atexit
import signal
from array import array
from random import Random

losses = array("d")


@atexit.register
def finish():
    with open("losses.bin", "wb") as file:
        losses.tofile(file)
    print(f"final loss {losses[-1]:.6f} after {len(losses)} epochs")


class Done(Exception):
    pass


def stop(number, frame):
    raise Done


signal.signal(signal.SIGTERM, stop)
w = Random(1).uniform(2, 4)
try:
    epoch = 0
    while True:
        loss = (w + 1) ** 2
        w -= 0.3 * (w + 1)
        losses.append(loss)
        print(f"epoch {epoch} loss {loss:.6f}")
        epoch += 1
        if epoch == 5:
            signal.raise_signal(signal.SIGTERM)
except Done:
    print("stopped by SIGTERM")
