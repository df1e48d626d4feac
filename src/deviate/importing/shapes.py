"""Bring tables of known tools, and tables with runs in their columns, into the shape of one row a report."""

from __future__ import annotations

import re

from deviate.errors import BadOption, NotRuns
from deviate.importing.roles import columns_of
from deviate.importing.rows import Row, number
from deviate.importing.unit import counted_by, is_counter, plain, refuse

#: Column names of the tables made here.
RUN, METRIC, VALUE, STEP = "run", "metric", "value", "step"

#: A chart of wandb, exported: a column for each run, and two more with its band.
_WANDB_COLUMN = re.compile(r"(?P<run>.+) - (?P<metric>.+?)(?P<band>__MIN|__MAX)?")

#: TensorBoard's download of one curve: ``run-NAME-tag-TAG.csv``.
_TENSORBOARD_NAME = re.compile(r"run-(?P<run>.+?)-tag-(?P<tag>.+)")
_TENSORBOARD_HEAD = {"walltime", "step", "value"}

_RUN_COLUMN = re.compile(r"(?:run|seed|rep|replicate|repeat|trial)[ _-]?\d+", re.IGNORECASE)


def shaped(rows: list[Row], stem: str, runs_of: str) -> list[Row]:
    """Return the rows of a table in a shape that its columns explain.

    `stem` is the name of the file without its ending; `runs_of` the metric whose runs the columns are, empty where they
    are not.

    Raises
    ------
    NotRuns
        If the columns are epochs or folds.
    BadOption
        If the columns are runs, and no option names their metric.
    """
    columns = columns_of(rows)
    if {plain(name) for name in columns} == _TENSORBOARD_HEAD:
        return _tensorboard(rows, stem)
    if any(name.endswith(("__MIN", "__MAX")) for name in columns):
        return _wandb_chart(rows, [name for name in columns if not _WANDB_COLUMN.fullmatch(name)][:1])
    _check_columns(columns)
    if runs_of:
        return _unpivoted(rows, runs_of)
    numbered = [name for name in columns if _RUN_COLUMN.fullmatch(name)]
    named = [name for name in columns if name not in numbered]
    if len(numbered) > 1 and len(named) == 1 and _name_rows(named[0], rows):
        return [
            {RUN: name, METRIC: row[named[0]], VALUE: row[name]} for row in rows for name in numbered if name in row
        ]
    if len(numbered) > 1:
        raise BadOption(
            f"the columns {numbered[0]!r} to {numbered[-1]!r} look like runs",
            hint="name their metric: --columns-are-runs 'val acc'",
        )
    return rows


def _name_rows(column: str, rows: list[Row]) -> bool:
    """Tell whether a column has another word in each row: the names of metrics."""
    words = [row.get(column, "") for row in rows]
    return len(set(words)) == len(words) and all(number(word or "0") is None for word in words)


def _check_columns(columns: list[str]) -> None:
    """Refuse a table that has folds, epochs or examples side by side."""
    for counted in ("folds", "iterations", "test examples"):
        side_by_side = [name for name in columns if re.search(r"\d$", name) and counted_by(name) == counted]
        if len(side_by_side) > 1:
            evidence = f"the columns {side_by_side[0]!r} to {side_by_side[-1]!r} are {counted}"
            if counted == "iterations":
                raise NotRuns(f"{evidence} of one training each row", hint="write a row for each epoch: seed,epoch,acc")
            head = f"seed,{'fold' if counted == 'folds' else 'example'},acc"
            option = f"--mean-over {head.split(',')[1]}"
            raise refuse(counted, evidence, f"write a row for each of them ({head}), and type {option}")


def _unpivoted(rows: list[Row], metric: str) -> list[Row]:
    counting = {name for row in rows for name in row if is_counter(name)}
    return [
        {RUN: name, METRIC: metric, VALUE: word, **{key: row[key] for key in counting if key in row}}
        for row in rows
        for name, word in row.items()
        if name not in counting
    ]


def _wandb_chart(rows: list[Row], axis: list[str]) -> list[Row]:
    """Return the points of a chart: its axis counts where it is of whole numbers, else the order of the points."""
    words = [row.get(name, "") for row in rows for name in axis]
    counts = bool(words) and all((number(word) or 0.5).is_integer() or number(word) == 0 for word in words)
    unpivoted: list[Row] = []
    for place, row in enumerate(rows):
        step = row[axis[0]] if counts else str(place)
        for name, word in row.items():
            match = _WANDB_COLUMN.fullmatch(name)
            if match and not match["band"] and not match["metric"].startswith("_"):
                unpivoted.append({RUN: match["run"], METRIC: match["metric"], VALUE: word, STEP: step})
    return unpivoted


def _tensorboard(rows: list[Row], stem: str) -> list[Row]:
    match = _TENSORBOARD_NAME.fullmatch(stem)
    run, tag = (match["run"], match["tag"]) if match else ("", stem)
    named = {RUN: run} if run else {}
    return [{**named, METRIC: tag, **{_lower(name): word for name, word in row.items()}} for row in rows]


def _lower(name: str) -> str:
    return {"walltime": "walltime", "step": STEP, "value": VALUE}[plain(name)]
