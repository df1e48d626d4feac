"""A class of the project keeps values under names and shows them later."""

# expect loss = loss (\S+)$
# expect error = error (\S+)$

import random


class Recorder:
    def __init__(self):
        self.columns = {}

    def put(self, step, what, number):
        self.columns.setdefault(what, []).append((step, number))

    def show(self):
        for what, pairs in self.columns.items():
            print(what, pairs[-1][1])


rng = random.Random(0)
weight = 0.0
recorder = Recorder()
for epoch in range(3):
    x = rng.gauss(0, 1)
    gradient = 2 * x * x * (weight - 3)
    weight -= 0.1 * gradient
    loss = (weight - 3) ** 2
    recorder.put(epoch, 'loss', loss)
    recorder.put(epoch, 'error', abs(weight - 3))
    recorder.show()
