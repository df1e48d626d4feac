"""Groups of the evaluated examples, as a table has them: a file of the user's, or the predictions a run wrote."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from deviate.collect.matching import Match, Predictions, Withheld, places_of
from deviate.collect.prediction_files import IDS, UnreadableError, plain_name, read_columns
from deviate.collect.predictions import Array, digest_of

#: Columns of examples' ids; pandas names that of its index so.
ID_COLUMNS = IDS | {"unnamed0"}

#: Groups of a column; a column with more different values is no column of groups.
MOST_GROUPS = 100

#: Columns of an array without names.
MOST_COLUMNS = 64

#: The group of examples for which a column says nothing.
NO_GROUP = "(none)"


@dataclass(frozen=True)
class GroupTable:
    """Columns of groups, a row an example.

    Attributes
    ----------
    name : str
        Of the file.
    columns : dict of str to ndarray
        All of one length ``n_rows``.
    ids : ndarray, shape (n_rows,), or None
        What the file calls the examples.
    """

    name: str
    columns: dict[str, Array]
    ids: Array | None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class Grouping:
    """The evaluated examples by the groups of one column.

    Attributes
    ----------
    name : str
        Of the column; empty where it has none.
    groups : tuple of str
        Ascending; those without a group last.
    members : ndarray of int, shape (n_examples,)
        The position in `groups` of each example.
    """

    name: str
    groups: tuple[str, ...]
    members: Array


@dataclass(frozen=True)
class Groups:
    """The evaluated examples by the groups of one table.

    Attributes
    ----------
    source : str
        The file.
    by : str
        What matched rows and examples, see `Predictions`; a ``digest`` is one of ids.
    groupings : tuple of Grouping
        One a column.
    """

    source: str
    by: Match
    groupings: tuple[Grouping, ...]


def group_label(column: str, name: str) -> str:
    """Return what a group is called beside those of other columns.

    Examples
    --------
    >>> group_label("sex", "male"), group_label("", "3")
    ('sex=male', '3')
    """
    return f"{column}={name}" if column else name


def read_group_table(path: Path) -> GroupTable:
    """Read a file of groups: ``csv``, ``tsv``, ``jsonl``, ``parquet``, ``npz``, or ``npy`` without names of columns.

    Raises
    ------
    UnreadableError
        If it is damaged, or its columns are not of one length.
    """
    columns = read_columns(path, names=["", *(str(number) for number in range(1, MOST_COLUMNS))])
    if len({np.shape(column) for column in columns.values()}) != 1 or np.ndim(next(iter(columns.values()))) != 1:
        raise UnreadableError(f"{path.name} has columns of other lengths than one entry an example")
    ids = {name: column for name, column in columns.items() if plain_name(name) in ID_COLUMNS}
    groups = {name: column for name, column in columns.items() if name not in ids}
    if not groups:
        raise UnreadableError(f"{path.name} has no column of groups; its columns: {', '.join(columns) or 'none'}")
    return GroupTable(path.name, groups, next(iter(ids.values()), None))


def match_groups(table: GroupTable, predicted: Predictions) -> Groups | Withheld:
    """Match the rows of a table with the evaluated examples.

    Rows and examples are matched by index or id where both have them, else by position: the table has as many rows as
    examples were evaluated, and these are the whole data set, or come in one order in all runs.
    """
    matched = _rows(table, predicted)
    if isinstance(matched, Withheld):
        return matched
    by, rows = matched
    groupings = []
    for name, column in table.columns.items():
        grouping = _grouping(name, column[rows])
        if grouping is None:
            return Withheld(
                f"column {name!r} holds no groups: more than {MOST_GROUPS} different values, or no plain ones"
            )
        groupings.append(grouping)
    return Groups(table.name, by, tuple(groupings))


def _rows(table: GroupTable, predicted: Predictions) -> tuple[Match, Array] | Withheld:
    ids, by = table.ids, predicted.by
    numbered = ids if ids is not None and ids.dtype.kind in "iu" else None
    if by == "index" and numbered is not None:
        return _looked_up(table, numbered, predicted.keys, by)
    if by == "digest" and predicted.has_ids and ids is not None:
        return _looked_up(table, digest_of(ids), predicted.keys, by)
    examples = len(predicted.keys)
    if table.rows != examples or predicted.left_out:
        known = "" if ids is None else ", and its ids are not what examples are known by"
        return Withheld(f"{table.name} has {table.rows} rows, but {examples + predicted.left_out} examples{known}")
    places = predicted.places if predicted.in_one_order else None
    if by == "index" and (predicted.keys == np.arange(examples)).all():
        places = predicted.keys
    if places is None:
        return Withheld("examples come in another order in each run, so rows cannot be matched by position")
    if numbered is not None and (np.sort(numbered) == np.arange(examples)).all():
        return _looked_up(table, numbered, places, "position")
    return "position", places


def _looked_up(table: GroupTable, ids: Array, wanted: Array, by: Match) -> tuple[Match, Array] | Withheld:
    if len(np.unique(ids)) != len(ids):
        return Withheld(f"{table.name} has several rows for one example")
    missing = int((~np.isin(wanted, ids)).sum())
    if missing:
        return Withheld(f"{table.name} has no row for {missing} of the {len(wanted)} examples")
    return by, places_of(wanted, ids)


def _grouping(name: str, values: Array) -> Grouping | None:
    """Divide the examples by their values; None where there are too many different ones, or lists."""
    try:
        codes, found = pd.factorize(values.astype(str) if values.dtype.kind == "S" else values)
    except TypeError:  # not hashable
        return None
    if len(found) > MOST_GROUPS:
        return None
    numeric = all(isinstance(value, numbers.Real) for value in found)
    order = sorted(range(len(found)), key=lambda place: found[place] if numeric else str(found[place]))
    names = tuple(_group_name(found[place]) for place in order)
    members = np.append(np.argsort(order), len(order))[codes]  # what has no group has the code -1
    return Grouping(name, (*names, NO_GROUP) if (codes < 0).any() else names, members)


def _group_name(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
