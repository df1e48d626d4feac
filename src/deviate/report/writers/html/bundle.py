"""The charting library as one script, kept between reports because making it takes seconds."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path

from deviate.replicate.workspace.files import write_whole
from deviate.report.drawing import DISTRIBUTIONS, drawing_module

#: What of it the page calls.
_EXPOSED = "window.vegaEmbed = vegaEmbed;"


@cache
def chart_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed, which need nothing from the network.

    Raises
    ------
    NotInstalled
        If the package that has them is not installed.
    """
    library = drawing_module("vl_convert")
    # Other versions of the package bring other scripts.
    wanted = hashlib.sha256(f"{version(DISTRIBUTIONS['vl_convert'])} {_EXPOSED}".encode()).hexdigest()
    kept = _folder() / f"charts-{wanted[:16]}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        script: str = library.javascript_bundle(_EXPOSED)
    _keep(kept, script)
    return script


def _keep(path: Path, script: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, script.encode())
    except OSError:
        return  # The next report makes it again.


def _folder() -> Path:
    """Return the folder for what can be made again (XDG Base Directory Specification 0.8)."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # Where there is no home, `~` stays as it is and is a folder that cannot be made or does no harm.
    return (given if given.is_absolute() else Path(os.path.expanduser("~/.cache"))) / "deviate"
