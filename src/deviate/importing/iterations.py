"""Which column counts the iterations: its values decide, since a table may have several that are called so."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from deviate.analyse.naming.words import meaning_of
from deviate.importing.request import TableOptions
from deviate.importing.roles import CLOCKS, Roles, columns_of, is_run_name, is_setting
from deviate.importing.rows import Row, number, seconds
from deviate.importing.unit import FEWEST_FOR_TREND, TREND, is_amount, plain, rank_correlation

#: What 32 bits hold, as records do.
LARGEST = 2**31 - 1

#: Fewest rows of a run whose numbers show that a column counts.
FEWEST_COUNTED = 4


class Counted(NamedTuple):
    """What counts the iterations of the rows."""

    #: Empty where nothing does, or their order.
    column: str = ""
    #: Whether the rows follow one another in time, so that their order counts where no column does.
    in_order: bool = False
    notes: tuple[str, ...] = ()


def counted_by_values(parts: Sequence[Sequence[Row]], roles: Roles, options: TableOptions) -> Counted:
    """Find what counts the iterations of the rows of each part, which is of one file and one run.

    Of the columns whose names count, that of whole numbers which least often begins again while another one goes on,
    then that which counts most rows, in the smallest steps. Where no name counts, one whose values rise evenly while a
    metric follows them.
    """
    if roles.iteration:
        return Counted(roles.iteration)
    sound = [name for name in roles.counters if _counts(name, parts, roles)]
    if sound:
        return Counted(min(sound, key=lambda name: _faults(name, parts, roles)))
    if max(map(len, parts), default=0) < 2 or options.rows == "runs":
        return Counted()
    broken = [name for name in roles.counters if not _is_whole(name, parts)]
    if broken and not options.rows:
        name = broken[0]
        return Counted(
            in_order=True,
            notes=(f"Rows are counted in their order: {name!r} holds no whole numbers, or too large ones.",),
        )
    if options.rows or _has_clock(parts):
        return Counted(in_order=True)
    unnamed = next(_unnamed(parts, roles, options), "")
    note = (
        f"Column {unnamed!r} was taken to count iterations: it rises evenly, and a metric follows it. If it names "
        f"trainings, type --rows runs."
    )
    return Counted(unnamed, notes=(note,)) if unnamed else Counted()


def whole(word: str | None) -> int | None:
    """Return the whole number a cell holds."""
    value = number(word) if word is not None else None
    return int(value) if value is not None and value.is_integer() else None


def _is_whole(name: str, parts: Sequence[Sequence[Row]]) -> bool:
    words = {row[name] for rows in parts for row in rows if name in row}
    return bool(words) and all((count := whole(word)) is not None and -1 <= count <= LARGEST for word in words)


class _Step(NamedTuple):
    """Two rows with values of one metric, the later one next after the earlier, and what a column holds in them."""

    earlier: Row
    later: Row
    before: float
    after: float


def _steps(name: str, parts: Sequence[Sequence[Row]], roles: Roles) -> list[_Step]:
    """Return the steps of a column along each metric: those of training and of validation count apart."""
    others = {*roles.counters, roles.time, roles.split, roles.group, roles.metric}
    steps: list[_Step] = []
    for rows in parts:
        along: dict[tuple[str | None, ...], Row] = {}
        for row in rows:
            if name not in row:
                continue
            for metric in row.keys() - others if not roles.value else {roles.value}:
                key = (metric, row.get(roles.metric), row.get(roles.split), row.get(roles.group))
                if (last := along.get(key)) is not None:
                    steps.append(_Step(last, row, number(last[name]) or 0.0, number(row[name]) or 0.0))
                along[key] = row
    return steps


def _counts(name: str, parts: Sequence[Sequence[Row]], roles: Roles) -> bool:
    """Tell whether a column may count: it holds whole numbers and, where it may be an amount that is set, rises."""
    is_whole = _is_whole(name, parts)
    if not is_whole or not is_amount(name):
        return is_whole
    steps = _steps(name, parts, roles)
    rises = Counter(step.after - step.before for step in steps if step.after > step.before)
    falls = sum(step.after < step.before for step in steps)
    is_even = 2 * max(rises.values(), default=0) > rises.total()
    return rises.total() > 2 * falls and (is_even or len(steps) >= FEWEST_FOR_TREND)


def _faults(name: str, parts: Sequence[Sequence[Row]], roles: Roles) -> tuple[int, int, float]:
    """Count how often a column begins again while another one goes on, and else the rows that it does not count."""
    steps = _steps(name, parts, roles)
    falls = [step for step in steps if step.after < step.before]
    within = sum(any(_rises(other, step) for other in roles.counters) for step in falls)
    stalls = sum(step.after == step.before for step in steps)
    missing = sum(name not in row for rows in parts for row in rows)
    largest = max((number(row[name]) or 0.0 for rows in parts for row in rows if name in row), default=0.0)
    return within, len(falls) - within + stalls + missing, largest


def _rises(name: str, step: _Step) -> bool:
    before, after = (number(row.get(name, "")) for row in (step.earlier, step.later))
    return before is not None and after is not None and before < after


def _has_clock(parts: Sequence[Sequence[Row]]) -> bool:
    """Tell whether a column of time rises in every part, so that its rows follow one another."""
    names = [name for name in columns_of(row for rows in parts for row in rows[:1]) if plain(name) in CLOCKS]
    long = [rows for rows in parts if len(rows) > 1]
    if sum(map(len, long)) < FEWEST_FOR_TREND:
        return False
    return any(all(_goes_up([seconds(row.get(name, "")) for row in rows]) for rows in long) for name in names)


def _goes_up(values: Sequence[float | None]) -> bool:
    known = [value for value in values if value is not None]
    return len(known) == len(values) and known[0] < known[-1] and all(one <= two for one, two in pairwise(known))


def _unnamed(parts: Sequence[Sequence[Row]], roles: Roles, options: TableOptions) -> Iterator[str]:
    """Yield the columns that count, though their names do not say so."""
    columns = columns_of(row for rows in parts for row in rows)
    free = [name for name in columns if name not in roles.taken and not is_setting(name) and not is_run_name(name)]
    for name in free:
        if all(_counts_evenly(name, rows) and _is_followed(name, rows, free) for rows in parts):
            yield name


def _counts_evenly(name: str, rows: Sequence[Row]) -> bool:
    numbers = [whole(row.get(name)) for row in rows]
    if len(rows) < FEWEST_COUNTED or None in numbers:
        return False
    steps = {later - earlier for earlier, later in pairwise(number for number in numbers if number is not None)}
    return len(steps) == 1 and min(steps) > 0


def _is_followed(name: str, rows: Sequence[Row], columns: Sequence[str]) -> bool:
    """Tell whether a metric follows a column, as it does along a training: a loss falls, or many rows rise or fall."""
    order = [float(row[name]) for row in rows]
    for other in columns:
        values = [number(row.get(other, "")) for row in rows] if other != name else []
        known = [value for value in values if value is not None and math.isfinite(value)]
        if len(known) == len(rows) and len(set(known)) > 1 and not _counts_evenly(other, rows):
            slope = rank_correlation(order, known)
            meaning = meaning_of(other)
            falls = meaning is not None and meaning.direction == "lower" and slope < -TREND
            if falls or (len(rows) >= FEWEST_FOR_TREND and abs(slope) > TREND):
                return True
    return False
