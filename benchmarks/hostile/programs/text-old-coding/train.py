#!/usr/bin/env python
# vim: set fileencoding=latin-1 :
"""Old text: Latin-1, tabs, form feeds."""
from __future__ import annotations, division

import random, sys; from array import array
random.seed(2)
UMLAUT = "größer"

def train(epochs):
	w, losses = random.random(), array("d")
	for epoch in range(epochs):
	        loss = (w - 2) ** 2 ; w += 0.5 * \
            (2 - w)
	        losses.append(loss)
	        sys.stdout.write("époque %d: perte = %.5f " % (epoch, loss) + UMLAUT + "\n")
	return losses

if 1:
  with open("losses.bin", "wb") as file: train(4).tofile(file)
print(len(UMLAUT), train.__doc__)