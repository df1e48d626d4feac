"""The examples in the documentation are true."""

import doctest
import importlib

import pytest

MODULES = (
    *("names", "shown", "escape", "words", "document", "writers.strip", "writers.blocks", "writers.fitting"),
    *("writers.html.charts", "writers.html.layout"),
    *("curves", "thinning", "methods", "latex_text", "varied"),
    *(f"figures.{name}" for name in ("scales", "slugs", "swarm", "themes")),
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    module = importlib.import_module(f"deviate.report.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
