"""A folder is put on the path before its package is imported."""

# expect loss = train loss (\S+)
# expect gap = test gap (\S+)

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))

from engine.model import Line
from engine.steps import test, train

rng = random.Random(0)
model = Line()
for epoch in range(3):
    train(model, rng.gauss(0, 1))
    test(model)
