"""Groups of the evaluated examples, as a table has them: a file of the user's, or the predictions a run wrote."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from deviate.collect.matching import Match, Predictions, Withheld
from deviate.collect.prediction_files import UnreadableError, read_columns
from deviate.collect.predictions import Array
from deviate.collect.rows import match_rows, without_ids

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
    groups, ids = without_ids(columns)
    if not groups:
        raise UnreadableError(f"{path.name} has no column of groups; its columns: {', '.join(columns) or 'none'}")
    return GroupTable(path.name, groups, ids)


def match_groups(table: GroupTable, predicted: Predictions) -> Groups | Withheld:
    """Match the rows of a table with the evaluated examples.

    Rows are matched as by `deviate.collect.rows.match_rows`.
    """
    matched = match_rows(table.name, table.rows, table.ids, predicted)
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
