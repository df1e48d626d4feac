"""A frame as CSV that spreadsheets show and do not compute."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow.csv import WriteOptions, write_csv

from deviate.report.escape import csv_cell

#: Characters of a text that has to be quoted.
_SPECIAL = frozenset(',"\r\n')


def csv_text(table: pd.DataFrame) -> str:
    """Return the frame as CSV; what is unknown is empty, texts are made safe, numbers stay as they are."""
    return _with_safe_texts(table).to_csv(index=False, lineterminator="\n")


def csv_rows(table: pd.DataFrame) -> str:
    """Return the rows of a long frame, and no header, as CSV: much faster than `csv_text`.

    Floats are written with the digits that read back as the same float64, whole ones as ``1``, NaN as ``nan``.
    """
    shown = _with_safe_texts(table)
    columns = {name: pa.array(shown[name].to_numpy(), from_pandas=False) for name in shown}
    texts = (set(shown[name]) for name in shown if not pd.api.types.is_numeric_dtype(shown[name].dtype))
    needs_quotes = any(_SPECIAL.intersection(text) for found in texts for text in found)
    rows = io.BytesIO()
    style = "needed" if needs_quotes else "none"
    write_csv(pa.table(columns), rows, WriteOptions(include_header=False, quoting_style=style))
    return rows.getvalue().decode()


def _with_safe_texts(table: pd.DataFrame) -> pd.DataFrame:
    shown = table.copy()
    for position, dtype in enumerate(shown.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            # Many rows have few names.
            shown.isetitem(position, _safe(shown.iloc[:, position]).array)
    return shown


def _safe(column: pd.Series[Any]) -> pd.Series[Any]:
    values = column.astype(object)
    texts = {value: csv_cell(value) for value in values.unique() if isinstance(value, str)}
    return values.map(lambda value: texts[value] if isinstance(value, str) else value)
