import locale
import os
import signal
import sys
from array import array
from random import Random

print("nice", os.nice(0), "encoding", sys.stdout.encoding, locale.setlocale(locale.LC_ALL, ""), os.environ.get("LC_ALL"))
print("ignored", signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, sorted(os.environ.get("TZ", "-")))
w, losses = Random(1).uniform(2, 4), array("d")
for epoch in range(4):
    loss = (w - 1) ** 2
    w -= 0.3 * (w - 1)
    losses.append(loss)
    print(f"epoch {epoch}: loss = {loss}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
