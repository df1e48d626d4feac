"""The examples in the documentation are true."""

import doctest
import importlib

import pytest

MODULES = ("sample", "spread", "intervals", "bootstrap", "resolution", "curves", "weak", "reach")


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    module = importlib.import_module(f"deviate.measure.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
