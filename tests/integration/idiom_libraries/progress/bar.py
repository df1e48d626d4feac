"""Prints what the library of this name would show."""


class Bar:
    suffix = ""

    def __init__(self, name, max):
        self.name, self.max = name, max

    def next(self):
        print(self.name, self.suffix)
