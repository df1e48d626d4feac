"""The charting library as one script, kept between reports because making it takes seconds."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from deviate.replicate.workspace.files import write_whole

#: The distribution that the scripts come from; other versions of it bring other ones.
LIBRARY = "vl-convert-python"

#: What of it the page calls.
_EXPOSED = "window.vegaEmbed = vegaEmbed;"


@cache
def chart_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed, which need nothing from the network."""
    wanted = hashlib.sha256(f"{version(LIBRARY)} {_EXPOSED}".encode()).hexdigest()
    kept = _folder() / f"charts-{wanted[:16]}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        script = vl_convert.javascript_bundle(_EXPOSED)
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
