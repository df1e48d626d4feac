"""Errors: each has a slug of its own, an exit status and an entry in the docs."""

import re
from pathlib import Path

import pytest

from deviate.core import errors

CLASSES = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.DeviateError)
]
ABSTRACT = {errors.DeviateError, errors.BadInput}
MESSAGES = Path(__file__).parents[2] / "docs" / "messages.md"


def test_slugs_are_unique():
    slugs = [cls.slug for cls in CLASSES]
    assert len(set(slugs)) == len(slugs)


def test_documented_slugs_are_those_that_exist():
    documented = set(re.findall(r"^\| `([a-z-]+)` \|", MESSAGES.read_text(), re.M))
    assert documented == {cls.slug for cls in CLASSES if cls not in ABSTRACT}


@pytest.mark.parametrize("cls", CLASSES)
def test_drawn_in_the_tree(cls):
    assert cls.__name__ in errors.__doc__
    if cls not in ABSTRACT:
        assert re.search(rf"{cls.__name__}\s+{cls.slug}\b", errors.__doc__)


def test_bad_input_exits_with_2_and_everything_else_with_1():
    assert {cls for cls in CLASSES if cls.exit_status == 2} == {
        cls for cls in CLASSES if issubclass(cls, errors.BadInput)
    }
    assert {cls.exit_status for cls in CLASSES} == {1, 2}
