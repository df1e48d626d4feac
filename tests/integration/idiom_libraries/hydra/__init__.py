"""Reads the few lines of YAML that the programs have, as the library of this name does."""

import functools
from pathlib import Path
from types import SimpleNamespace

from . import utils as utils


def main(config_path, config_name):
    def decorate(function):
        @functools.wraps(function)
        def run():
            return function(_read(Path(config_path), config_name))

        return run

    return decorate


def _read(folder, name):
    groups, part = {}, ""
    for line in (folder / f"{name}.yaml").read_text().splitlines():
        key, _, value = line.strip(" -").partition(":")
        if not value:
            part = key
        elif part == "defaults":
            groups[key] = _items((folder / key / f"{value.strip()}.yaml").read_text().splitlines())
        else:
            groups.setdefault(part, {}).update(_items([line]))
    return SimpleNamespace(**groups)


def _items(lines):
    pairs = [line.strip().split(": ") for line in lines]
    return {key: value if key == "_target_" else float(value) if "." in value else int(value) for key, value in pairs}
