"""Which row of a table that the user gives is of which evaluated example."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deviate.collect.matching import Match, Predictions, Withheld, places_of
from deviate.collect.prediction_files import IDS, plain_name
from deviate.collect.predictions import Array, digest_of

#: Columns of examples' ids; pandas names that of its index so.
ID_COLUMNS = IDS | {"unnamed0"}


def without_ids(columns: Mapping[str, Array]) -> tuple[dict[str, Array], Array | None]:
    """Return the columns of a table that are not ids, and the first that is."""
    ids = [name for name in columns if plain_name(name) in ID_COLUMNS]
    others = {name: column for name, column in columns.items() if name not in ids}
    return others, columns[ids[0]] if ids else None


def match_rows(name: str, rows: int, ids: Array | None, predicted: Predictions) -> tuple[Match, Array] | Withheld:
    """Match the rows of a table with the evaluated examples: by what, and the row of each.

    They are matched by index or id where both have them, else by position: the table has as many rows as examples were
    evaluated, and these are the whole data set, or come in one order in all runs.

    Parameters
    ----------
    name : str
        Of the file, for the reason.
    rows : int
    ids : ndarray, shape (rows,), or None
        What the file calls the examples.
    predicted : Predictions
    """
    by = predicted.by
    numbered = ids if ids is not None and ids.dtype.kind in "iu" else None
    if by == "index" and numbered is not None:
        return _looked_up(name, numbered, predicted.keys, by)
    if by == "digest" and predicted.has_ids and ids is not None:
        return _looked_up(name, digest_of(ids), predicted.keys, by)
    examples = len(predicted.keys)
    if rows != examples or predicted.left_out:
        known = "" if ids is None else ", and its ids are not what examples are known by"
        return Withheld(f"{name} has {rows} rows, but {examples + predicted.left_out} examples{known}")
    places = predicted.places if predicted.in_one_order else None
    if by == "index" and (predicted.keys == np.arange(examples)).all():
        places = predicted.keys
    if places is None:
        return Withheld("examples come in another order in each run, so rows cannot be matched by position")
    if numbered is not None and (np.sort(numbered) == np.arange(examples)).all():
        return _looked_up(name, numbered, places, "position")
    return "position", places


def _looked_up(name: str, ids: Array, wanted: Array, by: Match) -> tuple[Match, Array] | Withheld:
    if len(np.unique(ids)) != len(ids):
        return Withheld(f"{name} has several rows for one example")
    missing = int((~np.isin(wanted, ids)).sum())
    if missing:
        return Withheld(f"{name} has no row for {missing} of the {len(wanted)} examples")
    return by, places_of(wanted, ids)
