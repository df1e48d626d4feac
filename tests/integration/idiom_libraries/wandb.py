"""Prints what the library of this name would send."""


def init(**settings):
    return settings


def log(values):
    for name, value in values.items():
        print(f"{name} {value!r} .")
