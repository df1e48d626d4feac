"""A mean, as the library of this name has."""


class Mean:
    def __init__(self, name):
        self.name, self.values = name, []

    def update_state(self, value):
        self.values.append(value)

    def result(self):
        return sum(self.values) / len(self.values)

    def reset_state(self):
        self.values.clear()
