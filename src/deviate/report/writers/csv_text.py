"""A frame as CSV that spreadsheets show and do not compute."""

from __future__ import annotations

from typing import Any

import pandas as pd

from deviate.report.escape import csv_cell


def csv_text(table: pd.DataFrame, na_rep: str = "", *, header: bool = True) -> str:
    """Return the frame as CSV with `na_rep` for what is unknown; texts are made safe, numbers stay as they are."""
    shown = table.copy()
    for position, dtype in enumerate(shown.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            # Many rows have few names.
            shown.isetitem(position, _safe(shown.iloc[:, position]).array)
    return shown.to_csv(index=False, na_rep=na_rep, lineterminator="\n", header=header)


def _safe(column: pd.Series[Any]) -> pd.Series[Any]:
    values = column.astype(object)
    texts = {value: csv_cell(value) for value in values.unique() if isinstance(value, str)}
    return values.map(lambda value: texts[value] if isinstance(value, str) else value)
