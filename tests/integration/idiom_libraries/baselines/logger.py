"""Prints what the library of this name would show."""

_kept = {}


def logkv(key, value):
    _kept[key] = value


def dumpkvs():
    for key, value in _kept.items():
        print(f"{key} {value!r} .")
    _kept.clear()
