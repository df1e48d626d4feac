"""A mean, as the library of this name has."""


class MeanMetric:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)

    def compute(self):
        return sum(self.values) / len(self.values)

    def reset(self):
        self.values.clear()
