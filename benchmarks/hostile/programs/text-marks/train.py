# -*- coding: utf-8 -*-
"""Written in an editor of Windows: byte-order mark, CRLF, names of other scripts."""
import random
from array import array

random.seed(1)
UMGEBUNG = "größer"; größe, losses = random.random() * 5, array("d")
for epoche in range(4):
    verlust = größe ** 2; größe *= 0.5
    losses.append(verlust)
    print(f"Epoche {epoche} – Verlust {verlust:.5f} ✓", end="\n")
    print("loss {0:.5f}".format(verlust), "%s" % UMGEBUNG)
with open("losses.bin", "wb") as file:
    losses.tofile(file)
text = """a
b"""
print(len(text), repr(text))
