"""Prints what the library of this name would show."""

_kept = {}
_means = {}


def logkv(key, value):
    _kept[key] = value


def logkv_mean(key, value):
    total, count = _means.get(key, (0.0, 0))
    _means[key] = total + value, count + 1
    _kept[key] = _means[key][0] / _means[key][1]


def dumpkvs():
    for key, value in _kept.items():
        print(f"{key} {value!r} .")
    _kept.clear()
    _means.clear()
