"""Clocks and counters among the metrics, which no name tells: by how their values go with the iterations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from deviate.imports.foreign import ForeignRun
from deviate.imports.repeated import is_nameless
from deviate.imports.trainings import FEWEST_BEFORE
from deviate.lexicon.words import meaning_of

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
        meaning = meaning_of(name)
        is_time = meaning is not None and meaning.kind == "speed" and meaning.direction == "lower"
        if is_time and (all(map(_is_even, several)) or min(map(len, several)) > FEWEST):
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
