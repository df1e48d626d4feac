"""What values tell and no name: clocks and counters among the metrics, and runs that are epochs of one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from deviate.core.errors import NotRuns
from deviate.core.shell_words import typed_word
from deviate.imports.foreign import ForeignRun
from deviate.imports.repeated import differing_settings, is_nameless
from deviate.imports.request import TableOptions
from deviate.imports.roles import Roles, trend
from deviate.imports.trainings import FEWEST_BEFORE, each_or_one
from deviate.lexicon.words import SLOWNESS, meaning_of, words_of

#: Fewest values of a run that show that they go with its iterations, and that they never fall.
FEWEST = FEWEST_BEFORE + 1

#: Share of the way that values go by which they may lie off a line: rounding, and no learning curve.
OFF_THE_LINE = 0.005


def counting_with(runs: Sequence[ForeignRun], names: Sequence[str]) -> dict[str, str]:
    """Return the names that count or tell the time, each with the reason; none where no metric would be left.

    Their values rise with the iterations in every run. Those of a duration need not rise evenly; others do, or are the
    same in all runs although these differ. What is a loss or a quality with a direction by its name is neither.
    """
    found: dict[str, str] = {}
    curves: dict[str, list[list[tuple[int, float]]]] = {}
    for run in runs:
        of_run: dict[str, list[tuple[int, float]]] = {}
        for reading in run.readings:
            of_run.setdefault(reading.metric, []).append((reading.iteration, reading.value))
        for name, points in of_run.items():
            curves.setdefault(name, []).append(points)
    differ = any(len(set(map(tuple, points))) > 1 for points in curves.values())
    for name in names:
        several = [points for points in curves.get(name, []) if len(points) > 1]
        if not several or not all(map(_rises, several)) or max(map(len, several)) < FEWEST:
            continue
        if meaning_of(name) == SLOWNESS and (all(map(_is_even, several)) or min(map(len, several)) > FEWEST):
            found[name] = "clocks"
        elif is_nameless(name) and (all(map(_is_even, several)) or (differ and _are_same(several))):
            found[name] = "counters by their values"
    return found if len(found) < len(names) else {}


def _rises(points: Sequence[tuple[int, float]]) -> bool:
    """Tell whether values rise from iteration to iteration, and never fall nor stand still for long."""
    is_in_order = all(one[0] < two[0] for one, two in pairwise(points))
    is_known = all(math.isfinite(value) for _, value in points)
    rises = sum(one[1] < two[1] for one, two in pairwise(points))
    never_falls = all(one[1] <= two[1] for one, two in pairwise(points))
    return is_in_order and is_known and never_falls and 2 * rises > len(points) - 1


def _is_even(points: Sequence[tuple[int, float]]) -> bool:
    """Tell whether values lie on a line over the iterations."""
    at, values = (np.array(each, dtype=float) for each in zip(*points, strict=True))
    if len(points) < FEWEST:
        return False
    line = np.polynomial.Polynomial.fit(at, values, 1)
    return bool(np.max(np.abs(line(at) - values)) <= OFF_THE_LINE * (values[-1] - values[0]))


def _are_same(several: Sequence[Sequence[tuple[int, float]]]) -> bool:
    """Tell whether several runs have the same values at the same iterations."""
    return len(several) > 1 and len({tuple(points) for points in several}) == 1 and len(several[0]) >= FEWEST


def trend_notes(runs: Sequence[ForeignRun], roles: Roles, options: TableOptions) -> Iterator[str]:
    """Say where the rows that were called runs look like the epochs of one; ask where nothing called them so."""
    called = roles.run and "seed" not in words_of(roles.run[0])
    if (options.rows != "runs" and not called) or options.run or differing_settings(runs):
        return
    last = [{reading.metric: reading.value for reading in run.readings} for run in runs]
    for name in dict.fromkeys(name for each in last for name in each):
        values = [each[name] for each in last if name in each]
        slope = trend([value for value in values if math.isfinite(value)])
        numbers_rows = len({later - earlier for earlier, later in pairwise(values)}) == 1
        if slope is not None and not numbers_rows and options.rows != "runs" and meaning_of(name):
            column = typed_word(roles.run[0])
            raise NotRuns(
                f"{name} goes {'up' if slope > 0 else 'down'} from {runs[0].label} to {runs[-1].label} (Spearman "
                f"{slope:.2f}), as it does in one training: they may be trainings, or its episodes",
                hint=f"{each_or_one(roles.run[0])}, --set iteration_column={column} if it counts iterations",
            )
        if slope is not None and not numbers_rows and options.rows == "runs":
            yield (
                f"{name} goes {'up' if slope > 0 else 'down'} from row to row (Spearman {slope:.2f}), as it does over "
                "the epochs of one training. If that is what the rows are, they are no runs, and the intervals below "
                "mean nothing."
            )
