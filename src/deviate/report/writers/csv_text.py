"""A frame as CSV that spreadsheets show and do not compute."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deviate.report.escape import csv_cell

#: Characters of a text that has to be quoted.
_SPECIAL = frozenset(',"\r\n')


def csv_text(table: pd.DataFrame) -> str:
    """Return the frame as CSV; what is unknown is empty, texts are made safe, numbers stay as they are."""
    shown = table.copy()
    for position, dtype in enumerate(shown.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            shown.isetitem(position, _safe(shown.iloc[:, position]).array)
    return shown.to_csv(index=False, lineterminator="\n")


def csv_rows(table: pd.DataFrame, *first: str) -> str:
    """Return the rows of a long frame, and no header, as CSV: much faster than `csv_text`.

    Every row begins with the texts in `first`. Floats are written with the digits that read back as the same float64,
    whole ones as ``1``, NaN as ``nan``.
    """
    if table.empty:
        return ""
    head, columns = [_quoted(csv_cell(text)) for text in first], [column for _, column in table.items()]
    # What is the same in all rows is written once; as floats, 0 and -0 are not.
    while len(columns) > 1 and columns[0].dtype.kind != "f" and (columns[0] == columns[0].iloc[0]).all():
        head += _cells(columns.pop(0).iloc[:1])
    begin = "".join(f"{cell}," for cell in head)
    rows = map(",".join, zip(*map(_cells, columns), strict=True))
    return begin + f"\n{begin}".join(rows) + "\n"


def _cells(column: pd.Series[Any]) -> list[str]:
    return _number_cells(column.to_numpy()) if pd.api.types.is_numeric_dtype(column.dtype) else _text_cells(column)


def _number_cells(numbers: NDArray[Any]) -> list[str]:
    # msgspec writes a list of floats in a tenth of the time that `repr` takes.
    text = msgspec.json.encode(numbers.tolist())[1:-1] + b","
    cells = text.replace(b".0,", b",").decode().split(",")[: len(numbers)]
    for place in np.flatnonzero(~np.isfinite(numbers)).tolist():
        cells[place] = str(float(numbers[place]))
    return cells


def _text_cells(texts: pd.Series[Any]) -> list[str]:
    # Many rows have few names.
    places, words = pd.factorize(texts)
    cells: list[str] = np.array([_quoted(csv_cell(word)) for word in words], dtype=object)[places].tolist()
    return cells


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _SPECIAL.intersection(cell) else cell


def _safe(column: pd.Series[Any]) -> pd.Series[Any]:
    values = column.astype(object)
    texts = {value: csv_cell(value) for value in values.unique() if isinstance(value, str)}
    return values.map(lambda value: texts[value] if isinstance(value, str) else value)
