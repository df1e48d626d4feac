"""Prints what the library of this name would keep."""


def log_metric(name, value, step):
    print(f"{name} {value!r} at {step}")
