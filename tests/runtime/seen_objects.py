"""Describe the callables that stand in some modules, as a program sees them.

    python seen_objects.py NAMES MODULE...

With the runtime those that are the runtime's are written to the file NAMES and described; without it those in it are.
"""

import copy
import functools
import importlib
import inspect
import json
import os
import pickle
import re
import sys

ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
SHOWN = ("__name__", "__qualname__", "__module__", "__doc__")


def attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001
        return type(error).__name__


def text(value):
    return ADDRESS.sub("", repr(value))


def form(value, *ways):
    """Whether a callable that went some ways is itself again, or one that looks like it."""
    again = functools.reduce(lambda each, way: way(each), ways, value)
    return text(again) == text(value) and isinstance(again, value.__class__) and callable(again)


class Held:
    """A class with the callable as an attribute."""


def describe(value):
    Held.held = value
    seen = {name: repr(attempt(getattr, value, name)) for name in SHOWN}
    seen["repr"] = text(value)
    seen["signature"] = attempt(lambda: ADDRESS.sub("", str(inspect.signature(value))))
    seen["source"] = attempt(lambda: inspect.getsource(value))
    seen["kind"] = [check.__name__ for check in (inspect.isbuiltin, inspect.ismethod, inspect.isclass) if check(value)]
    seen["is itself"] = value == value and hash(value) is not None and len({value, value}) == 1
    seen["copies"] = [attempt(form, value, way) for way in (copy.copy, copy.deepcopy)]
    dumps = [functools.partial(pickle.dumps, protocol=number) for number in range(pickle.HIGHEST_PROTOCOL + 1)]
    if "cloudpickle" in sys.modules:
        dumps.append(sys.modules["cloudpickle"].dumps)
    seen["pickles"] = [attempt(form, value, dump, pickle.loads) for dump in (*dumps, pickle._dumps)]
    seen["binds"] = attempt(lambda: inspect.ismethod(Held().held))
    return seen


def is_ours(value):
    function = getattr(value, "__func__", value)
    names = [getattr(getattr(function, "__code__", None), "co_filename", ""), getattr(value, "__init__", None)]
    kinds = [cls.__module__ for cls in (*type(value).__mro__, type(type(value)))]
    return "deviate_runtime" in str([names, kinds])


def callables(modules):
    for module in modules:
        for name, value in sorted(vars(importlib.import_module(module)).items()):
            if callable(value) and not name.startswith("__dv"):
                yield module, name, value
            if isinstance(value, type):
                for inner in sorted(vars(value)):
                    if callable(getattr(value, inner, None)):
                        yield module, name + "." + inner, getattr(value, inner)


if __name__ == "__main__":
    names, *modules = sys.argv[1:]
    attempt(lambda: importlib.import_module("cloudpickle"))
    if "DEVIATE_RUNTIME" in os.environ:
        found = {(module, name): value for module, name, value in callables(modules) if is_ours(value)}
        with open(names, "w") as file:
            json.dump(list(found), file)
    else:
        with open(names) as file:
            listed = [tuple(pair) for pair in json.load(file)]
        found = {
            pair: functools.reduce(getattr, pair[1].split("."), importlib.import_module(pair[0])) for pair in listed
        }
    print(json.dumps({".".join(pair): describe(value) for pair, value in found.items()}))
