"""The examples in the documentation are true."""

import doctest
import importlib
import pkgutil

import pytest

import deviate.contrast

MODULES = [module.name for module in pkgutil.iter_modules(deviate.contrast.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    assert doctest.testmod(importlib.import_module(f"deviate.contrast.{name}")).failed == 0
