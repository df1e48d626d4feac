"""Prints what the library of this name would draw."""


class SummaryWriter:
    def __init__(self, folder):
        self.folder = folder

    def add_scalar(self, tag, value, step):
        print(f"{tag} {value!r} at {step}")

    def add_scalars(self, main_tag, values, step):
        for tag, value in values.items():
            print(f"{main_tag}/{tag} {value!r} at {step}")
