"""Figures as data in a page: no text of theirs can end the script element that holds them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from deviate.report.escape import clean
from deviate.report.figures import Figure, themed
from deviate.report.page import RunCard

Row = Mapping[str, Any]

#: Ends of elements and comments, and what a reader of XML would take for an entity.
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def chart_data(figure: Figure) -> Markup:
    """Return the Vega-Lite specification of a figure as JSON for a script element."""
    spec = themed(figure)
    # The page draws with its own, dark or light.
    del spec["config"]
    spec["datasets"] = {name: packed(rows) for name, rows in spec.get("datasets", {}).items()}
    return embeddable(_printable(spec))


def run_cards(runs: Sequence[RunCard]) -> Markup:
    """Return what is shown of each run that is chosen in a chart, by its name."""
    cards = {run.name: {"facts": run.facts, "lines": run.lines} for run in runs}
    return embeddable(_printable(cards))


def _printable(value: Any) -> Any:
    """Clean every text: Vega writes some into expressions, and fails on a line separator in them."""
    if isinstance(value, dict):
        return {clean(name): _printable(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_printable(item) for item in value] if not _numbers(value) else value
    return clean(value) if isinstance(value, str) and not value.isprintable() else value


def _numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def embeddable(value: Any) -> Markup:
    r"""Return JSON of ASCII characters that neither HTML nor a script takes for anything else.

    Examples
    --------
    >>> print(embeddable(["</script>", "<!--", "\u2028"]))
    ["\u003c/script\u003e","\u003c!--","\u2028"]
    """
    return Markup(json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_UNSAFE))


def packed(rows: Sequence[Row]) -> dict[str, Any]:
    """Return rows as columns, in which each text is there once.

    Examples
    --------
    >>> packed([{"run": "a", "value": 1.5}, {"run": "a", "value": float("nan")}])
    {'rows': 2, 'columns': {'run': {'levels': ['a'], 'codes': [0, 0]}, 'value': [1.5, None]}}
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {"rows": len(rows), "columns": {name: _column([row.get(name) for row in rows]) for name in names}}


def _column(values: Sequence[Any]) -> Any:
    if values and all(isinstance(value, str) for value in values):
        levels = {text: code for code, text in enumerate(dict.fromkeys(values))}
        return {"levels": list(levels), "codes": [levels[text] for text in values]}
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in values]
