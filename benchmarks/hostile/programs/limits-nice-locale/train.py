import locale
import os
import signal
import sys
from array import array

print("nice", os.nice(0), "encoding", sys.stdout.encoding, locale.setlocale(locale.LC_ALL, ""), os.environ.get("LC_ALL"))
print("ignored", signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, sorted(os.environ.get("TZ", "-")))
losses = array("d")
for epoch in range(4):
    loss = 2.0 ** -epoch
    losses.append(loss)
    print(f"epoch {epoch}: loss = {loss}")
with open("losses.bin", "wb") as file:
    losses.tofile(file)
