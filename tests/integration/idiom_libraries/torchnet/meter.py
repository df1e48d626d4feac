"""A meter, as the library of this name has."""


class AverageValueMeter:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)

    def value(self):
        return sum(self.values) / len(self.values), 0.0

    def reset(self):
        self.values.clear()
