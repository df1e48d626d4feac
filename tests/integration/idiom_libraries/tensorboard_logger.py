"""Prints what the library of this name would draw."""


def configure(folder):
    print("to", folder)


def log_value(name, value, step):
    print(f"{name} {value!r} at {step}")
