"""Which columns of a table hold the values of metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from deviate.analyse.naming.words import is_in_settings
from deviate.errors import NotImportable, some_of
from deviate.importing.roles import CLOCKS, NOTED, Roles, columns_of, is_setting
from deviate.importing.rows import Row, number
from deviate.importing.unit import is_counter, plain
from deviate.shell_words import typed_word

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+%?")


#: What the name of the standard error of a metric has in it, or at its end.
_ERROR = re.compile(r"_std_?err(?:or)?|_sem?$")

#: Columns that a note names.
MOST_NAMED = 6


def metric_columns(rows: list[Row], roles: Roles, wanted: Sequence[str] = ()) -> list[str]:
    """Return the columns that hold values of metrics; those that are `wanted` by name, whatever it says.

    Raises
    ------
    NotImportable
        If there is none.
    """
    if roles.value:
        return [roles.value]
    columns = columns_of(rows)
    others = [name for name in columns if name not in roles.taken]
    metrics = [name for name in columns if name in wanted or (name in others and not why_none(name, columns))]
    numeric = [name for name in metrics if any(number(row.get(name, "")) is not None for row in rows)]
    # Of a column that has both, the values with a comma would be lost without a word.
    comma = next(_decimal_commas(numeric or others, rows), None)
    if comma is not None:
        raise NotImportable(f"column {comma!r} holds values with a decimal comma", hint="write them with a point: 0.91")
    if not numeric:
        run = f"the runs are distinguished by {', '.join(roles.run)}; " if roles.run else ""
        left = next((name for name in others if any(number(row.get(name, "")) is not None for row in rows)), "")
        option = f"; --metric {typed_word(left)} takes one in" if left else ""
        raise NotImportable(
            "no column holds the values of a metric", hint=f"{run}other columns: {', '.join(others) or 'none'}{option}"
        )
    return numeric


def _decimal_commas(columns: Iterable[str], rows: list[Row]) -> Iterator[str]:
    """Yield the columns all of whose values look like ``0,91``."""
    for name in columns:
        words = [row[name] for row in rows if name in row]
        numbers = all(_DECIMAL_COMMA.fullmatch(word) or number(word) is not None for word in words)
        if numbers and any("," in word for word in words):
            yield name


def why_none(name: str, columns: Sequence[str]) -> str:
    """Return as what a column holds no metric; empty where its name does not tell."""
    if is_counter(name):
        return "counters"
    if is_setting(name):
        return "clocks" if plain(name) in CLOCKS else "settings"
    without = _ERROR.sub("", name)
    return "standard errors" if without != name and without in columns else ""


def left_out_notes(rows: list[Row], roles: Roles, metrics: Sequence[str]) -> Iterator[str]:
    """Say which columns of numbers are no metrics, and why."""
    columns = columns_of(rows)
    others = [name for name in columns if name not in roles.taken.union(metrics)]
    commas = list(_decimal_commas(others, rows))
    for name in commas:
        yield f"Column {name!r} is left out: it holds values with a decimal comma. Write them with a point: 0.91."
    numeric = [name for name in others if any(number(row.get(name, "")) is not None for row in rows)]
    yield from no_metrics_note([name for name in numeric if name not in commas], columns)


def no_metrics_note(names: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    """Say which names are none of metrics, and why; what a tool notes of its own, or calls a setting, needs no word."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        is_said = plain(name) in NOTED or name.startswith("_") or is_in_settings(name)
        if not is_said and (reason := why_none(name, columns)):
            by_reason.setdefault(reason, []).append(name)
    if by_reason:
        parts = "; ".join(f"{some_of(names, MOST_NAMED)} ({reason})" for reason, names in by_reason.items())
        first = next(iter(by_reason.values()))[0]
        yield f"No metrics: {parts}. --metric {typed_word(first)} takes one in."
