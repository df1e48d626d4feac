"""The packages that draw: an installation of the core is without them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deviate.core.errors import NotInstalled

#: By module, the distribution that it is of; both are of the extra ``pages``.
DISTRIBUTIONS = {"altair": "altair", "vl_convert": "vl-convert-python"}


#: What to type to have charts.
WITHOUT_CHARTS = f"To have them, type: pip install {' '.join(DISTRIBUTIONS.values())}"


def drawing_module(name: str) -> Any:
    """Import a module of `DISTRIBUTIONS`.

    Raises
    ------
    NotInstalled
        If it is not installed; the hint has what to type.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        raise NotInstalled(
            f"charts and figures need the package {DISTRIBUTIONS[name]!r}, which is not installed",
            hint=f"type: pip install {' '.join(DISTRIBUTIONS.values())}",
        ) from missing
