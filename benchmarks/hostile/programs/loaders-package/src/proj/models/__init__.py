"""Models are imported when they are first asked for."""
import importlib

_WHERE = {"Mean": "mean"}


def __getattr__(name):
    if name in _WHERE:
        return getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    raise AttributeError(name)
