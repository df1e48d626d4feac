"""Measure how much identical deep-learning training runs differ, and why."""

from __future__ import annotations

# That of `typing`, which takes longer to import than the rest of this file.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from deviate.api import StoredExperiment as StoredExperiment
    from deviate.api import baseline as baseline
    from deviate.api import certify as certify
    from deviate.api import check as check
    from deviate.api import compare as compare
    from deviate.api import compare_grid as compare_grid
    from deviate.api import judge as judge
    from deviate.api import load as load
    from deviate.api import names as names
    from deviate.api import plan as plan
    from deviate.api import run as run
    from deviate.core.errors import DeviateError as DeviateError

__all__ = [
    *("DeviateError", "StoredExperiment", "baseline", "certify", "check", "compare", "compare_grid", "judge", "load"),
    *("names", "plan", "run"),
]


def __dir__() -> list[str]:
    """List the public names, which are imported when they are used."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import the public names when they are used: the command line needs few of the libraries behind them."""
    if name == "DeviateError":
        from deviate.core.errors import DeviateError

        return DeviateError
    if name in __all__:
        from deviate import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
