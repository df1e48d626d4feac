"""Which columns of a table hold the values of metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from deviate.analyse.naming.words import is_schedule, is_settings_name
from deviate.errors import NotImportable
from deviate.importing.roles import Roles
from deviate.importing.rows import Row, number
from deviate.importing.unit import plain

#: Prefixes of MLflow's exported tables: what is a metric, and what is not.
METRIC_PREFIX, OTHER_PREFIXES = "metrics.", ("params.", "tags.")

#: Names of settings that `analyse.words` leaves to the text around them.
SETTINGS = frozenset({"lr", "learningrate", "batchsize", "weightdecay", "momentum", "dropout", "hiddensize", "width",
                      "depth", "layers", "optimizer", "starttime", "endtime", "created", "timestamp", "time",
                      "experimentid", "user", "host", "seed", "index", "unnamed0"})  # fmt: skip

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+%?")


def metric_columns(rows: list[Row], roles: Roles) -> list[str]:
    """Return the columns that hold values of metrics.

    Raises
    ------
    NotImportable
        If there is none.
    """
    if roles.value:
        return [roles.value]
    columns = dict.fromkeys(name for row in rows for name in row if name not in roles.taken)
    numeric = [
        name for name in columns if _is_metric(name) and any(number(row.get(name, "")) is not None for row in rows)
    ]
    # Of a column that has both, the values with a comma would be lost without a word.
    comma = next(_decimal_commas(numeric or columns, rows), None)
    if comma is not None:
        raise NotImportable(f"column {comma!r} holds values with a decimal comma", hint="write them with a point: 0.91")
    if not numeric:
        run = f"the runs are distinguished by {', '.join(roles.run)}; " if roles.run else ""
        raise NotImportable(
            "no column holds the values of a metric", hint=f"{run}other columns: {', '.join(columns) or 'none'}"
        )
    return numeric


def _decimal_commas(columns: Iterable[str], rows: list[Row]) -> Iterator[str]:
    """Yield the columns all of whose values look like ``0,91``."""
    for name in columns:
        words = [row[name] for row in rows if name in row]
        numbers = all(_DECIMAL_COMMA.fullmatch(word) or number(word) is not None for word in words)
        if numbers and any("," in word for word in words):
            yield name


def _is_metric(name: str) -> bool:
    if name.startswith(METRIC_PREFIX):
        return True
    if name.startswith((*OTHER_PREFIXES, "_")) or plain(name) in SETTINGS:
        return False
    return not (is_schedule(name) or is_settings_name(name))


def comma_notes(rows: list[Row], roles: Roles) -> Iterator[str]:
    """Say which columns are left out for how their numbers are written."""
    columns = dict.fromkeys(name for row in rows for name in row if name not in roles.taken)
    for name in _decimal_commas(columns, rows):
        yield f"Column {name!r} is left out: it holds values with a decimal comma. Write them with a point: 0.91."
