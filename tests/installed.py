"""Which libraries tests find, without importing them: most take seconds, and the programs of the tests import them."""

from importlib.util import find_spec

import pytest


def require(*libraries: str) -> None:
    """Skip the test, or the file that calls this, where one of `libraries` is not installed."""
    for library in libraries:
        if find_spec(library) is None:
            pytest.skip(f"{library} is not installed", allow_module_level=True)
