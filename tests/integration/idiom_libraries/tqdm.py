"""Prints what the library of this name would show."""


class tqdm:
    def __init__(self, total):
        self.total = total

    def update(self, count):
        print("done", count, "of", self.total)

    def set_postfix(self, **values):
        print(", ".join(f"{name}={value!r}" for name, value in values.items()), "")

    def set_description(self, text):
        print(text)

    @staticmethod
    def write(text):
        print(text)
