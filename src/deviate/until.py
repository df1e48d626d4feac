"""The criterion of ``deviate run --until``, as it is typed."""

from __future__ import annotations

import math
import re
from typing import Literal

import msgspec

from deviate.errors import BadOption

_CRITERION = re.compile(
    r"(?P<metric>.+?)(?:\s+(?P<of>mean|sd))?\s*(?:±|\+/?-)\s*(?P<width>\d*\.?\d+(?:e[-+]?\d+)?)\s*(?P<percent>%?)",
    re.IGNORECASE,
)

#: What to type, for hints.
EXAMPLES = "type for example --until 'val acc ±0.3', 'val acc ±2%' or 'val acc sd ±25%'; +- may stand for ±"


class Criterion(msgspec.Struct, frozen=True):
    """What is to be known, and how well."""

    metric: str
    of: Literal["mean", "sd"]
    #: Half-width; a share where `relative`.
    width: float
    relative: bool


def parse_until(text: str) -> Criterion:
    """Read ``METRIC [mean|sd] ±WIDTH[%]``.

    Raises
    ------
    BadOption
        If it is not written so, or the width of an SD is no percentage.

    Examples
    --------
    >>> parse_until("val acc ±0.3")
    Criterion(metric='val acc', of='mean', width=0.3, relative=False)
    >>> parse_until("val acc sd +-25%")
    Criterion(metric='val acc', of='sd', width=0.25, relative=True)
    """
    found = _CRITERION.fullmatch(text.strip())
    if found is None:
        raise BadOption(f"--until {text!r} is not METRIC ±WIDTH", hint=EXAMPLES)
    width, relative = float(found["width"]), bool(found["percent"])
    width = width / 100 if relative else width
    if not (width > 0 and math.isfinite(width)):
        raise BadOption(f"--until {text!r}: a width is above 0", hint=EXAMPLES)
    of: Literal["mean", "sd"] = "sd" if (found["of"] or "").lower() == "sd" else "mean"
    if of == "sd" and not relative:
        raise BadOption(
            f"--until {text!r}: the width of an SD is a percentage of it",
            hint=f"how many runs it takes depends on the share only; {EXAMPLES}",
        )
    return Criterion(found["metric"].strip(), of, width, relative)
