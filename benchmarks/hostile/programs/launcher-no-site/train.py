import sys
from array import array
import random

random.seed(4)
print("flags", sys.flags.no_site, sys.flags.ignore_environment, "site" in sys.modules)
value, losses = 10.0, array("d")
for step in range(6):
    loss = value * value + random.random() * 0.01
    value *= 0.5
    losses.append(loss)
    print("step", step, "loss", round(loss, 5))
with open("losses.bin", "wb") as file:
    losses.tofile(file)
