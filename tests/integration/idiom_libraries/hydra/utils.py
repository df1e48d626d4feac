"""Makes what a configuration names, as the library of this name does."""

import importlib


def instantiate(config):
    module, _, name = config["_target_"].rpartition(".")
    settings = {key: value for key, value in config.items() if key != "_target_"}
    return getattr(importlib.import_module(module), name)(**settings)
