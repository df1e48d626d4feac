"""The columns of instrumented code, from Python 3.11 on, are those of the file that its author wrote.

Tracebacks mark the part of a line that failed by them.
"""

from itertools import groupby

#: Kinds of entries in a table of locations, and how many code units one is for at most.
NOWHERE, WITHOUT_COLUMNS, WITH_COLUMNS = 15, 13, 14
LONGEST = 8


def with_columns(code, columns):
    """Return `code`, and all code within, with the columns that lines had before they were edited.

    Parameters
    ----------
    code : code
        Of an edited text.
    columns : dict
        By line, from left to right, ``[column in the line before, bytes that came there, bytes that went]``.
    """
    constants = tuple(with_columns(each, columns) if isinstance(each, type(code)) else each for each in code.co_consts)
    if any(each is not other for each, other in zip(constants, code.co_consts)):  # noqa: B905
        code = code.replace(co_consts=constants)
    if not any(line in columns or end_line in columns for line, end_line, _, _ in code.co_positions()):
        return code
    moved = [(move(position, columns), len(list(units))) for position, units in groupby(code.co_positions())]
    changed = code.replace(co_linetable=table(moved, code.co_firstlineno))
    expected = []
    for position, count in moved:
        expected += [position] * count
    # A table that is read in another way than it was written would be worse than one with other columns.
    return changed if list(changed.co_positions()) == expected else code


def move(position, columns):
    """Return a position in the edited text as one in the text before."""
    line, end_line, column, end_column = position
    if column is None or not (line in columns or end_line in columns):
        return position
    return line, end_line, before(column, columns.get(line, ())), before(end_column, columns.get(end_line, ()))


def before(column, changes):
    """Return what a column was before `changes` of its line."""
    shift = 0
    for at, came, went in changes:
        if column <= at + shift:
            break
        if column < at + shift + came:
            return at
        shift += came - went
    return column - shift


def table(positions, first_line):
    """Return a table of locations; how it is laid out is in ``Objects/locations.md`` of CPython."""
    data, last = bytearray(), first_line
    for (line, end_line, column, end_column), count in positions:
        while count:
            length = min(count, LONGEST)
            count -= length
            kind = NOWHERE if line is None else WITHOUT_COLUMNS if column is None else WITH_COLUMNS
            data.append(0x80 | kind << 3 | length - 1)
            if line is None:
                continue
            put_signed(data, line - last)
            last = line
            if column is None:
                continue
            if end_line == line and end_column < 63:
                data += bytes((0, column + 1, end_column + 1))
                continue
            for number in (end_line - line, column + 1, end_column + 1):
                put(data, number)
    return bytes(data)


def put(data, number):
    """Append a number, six bits at a time."""
    while number >= 64:
        data.append(64 | number & 63)
        number >>= 6
    data.append(number)


def put_signed(data, number):
    """Append a number with its sign."""
    put(data, -number << 1 | 1 if number < 0 else number << 1)
