"""The examples in the documentation are true."""

import doctest
import importlib
from pathlib import Path

import pytest

import deviate

SOURCE = Path(deviate.__file__).parent

MODULES = [
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    for path in sorted(SOURCE.rglob("*.py"))
    if "injected" not in path.parts and ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_every_package_of_numbers_has_examples():
    assert {"facts", "report", "stats"} <= {name.split(".")[1] for name in MODULES}
