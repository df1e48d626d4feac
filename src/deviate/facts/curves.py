"""Learning curves of an experiment as data: each run, median and band, and where runs part.

They are no part of `ExperimentFacts`: most pages do not show them, and reading every record takes longer than all the
rest of a report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.core.experiment import Direction, Kind
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread
from deviate.observe.identity import RunValues, Series
from deviate.stats.curves import DEFAULT_BAND, CurveBand, Parting, curve_band, parting

# Fewer points of a curve that still show its ends, its extremes and its gaps.

#: Fewest points that a curve is thinned to: both ends, both extremes, and some shape between them.
FEWEST_POINTS = 24


def thinned(values: ArrayLike, points: int) -> Any:
    """Choose the places of a curve that are drawn.

    Parameters
    ----------
    values : array_like of float, shape (m,)
        One a place, in order; NaN and infinities are gaps.
    points : int
        Places wanted; at least `FEWEST_POINTS` are given.

    Returns
    -------
    ndarray of int, shape (k,)
        Ascending, all of them where there are no more than `points`. Otherwise the curve is cut into stretches of
        equal length, and of each stretch its smallest and its largest value and its first gap are kept, beside the
        first and the last place. So the smallest and the largest value of the whole curve are always there, and a
        peak of a single place is not lost. ``k`` is `points` at most.

    Examples
    --------
    >>> values = np.zeros(1000)
    >>> values[123] = 5.0
    >>> kept = thinned(values, 40)
    >>> 0 in kept, 123 in kept, 999 in kept, len(kept) <= 40
    (True, True, True, True)
    """
    curve = np.asarray(values, dtype=float)
    points = max(points, FEWEST_POINTS)
    if curve.size <= points:
        return np.arange(curve.size)
    gaps = ~np.isfinite(curve)
    stretches = (points - 2) // (3 if gaps.any() else 2)
    width = -(-curve.size // stretches)
    starts = np.arange(0, curve.size, width)
    chosen = [
        starts + _stretched(np.where(gaps, np.inf, curve), width, np.inf).argmin(axis=1),
        starts + _stretched(np.where(gaps, -np.inf, curve), width, -np.inf).argmax(axis=1),
    ]
    if gaps.any():
        rows = _stretched(gaps, width, False)
        chosen.append((starts + rows.argmax(axis=1))[rows.any(axis=1)])
    return np.unique(np.concatenate([[0, curve.size - 1], *chosen]))


def evenly(total: int, wanted: int) -> list[int]:
    """Choose `wanted` of `total` places evenly, the first and the last among them.

    >>> evenly(3, 8), evenly(10, 4), evenly(10, 1)
    ([0, 1, 2], [0, 3, 6, 9], [0])
    """
    return sorted({int(position) for position in np.linspace(0, total - 1, min(total, wanted)).round()})


def _stretched(values: Any, width: int, filling: float | bool) -> Any:
    """Lay values out one stretch a row, the last row filled up."""
    rows = -(-values.size // width)
    laid = np.full(rows * width, filling, dtype=values.dtype)
    laid[: values.size] = values
    return laid.reshape(rows, width)


#: Points of all curves of an experiment together; at some 20 bytes a point this is about 5 MB of a page.
ALL_POINTS = 250_000

#: Most points of the curves of one metric: more than this a browser draws slowly, and no eye tells apart.
METRIC_POINTS = 25_000

#: Points that a run's curve is given before runs are left out of the drawing.
RUN_POINTS = 50

#: Cells (runs times iterations) that are laid out at once.
_CELLS = 4_000_000

#: Significant digits of the values that are drawn: what a float32 holds.
DIGITS = 9

Curve = tuple[Any, Any]


class RunCurve(msgspec.Struct, frozen=True, kw_only=True):
    """What one run reported of a metric, as far as it is drawn."""

    #: The word a user types for the run.
    run: str
    index: int
    iterations: list[int]
    #: One an iteration, the last finite one where there are several; None: NaN or infinite, a gap.
    values: list[float | None]


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """Median of the runs and the band that holds `share` of them, one an iteration."""

    share: float
    iterations: list[int]
    #: Runs with a finite value there.
    n: list[int]
    low: list[float]
    median: list[float]
    high: list[float]


class VariantCurves(msgspec.Struct, frozen=True, kw_only=True):
    """The curves of the runs of one variant in one metric."""

    variant: str
    #: Completed runs that recorded it; `runs` may be fewer.
    recorded: int
    #: Those that are drawn, evenly chosen by index, the first and the last among them.
    runs: list[RunCurve]
    #: Of all runs that recorded it, drawn or not.
    band: Band
    #: Where the values of two runs differ first; None with fewer than two runs.
    parting: Parting | None
    #: Iterations in which the longest run reported it, before thinning.
    longest: int
    #: Runs with a value that is NaN or infinite.
    gaps: int
    #: A drawn run has fewer points than it reported.
    thinned: bool = False
    #: The longest run reported it in every iteration between its first and its last report.
    dense: bool = True


class MetricCurves(msgspec.Struct, frozen=True, kw_only=True):
    """The curves of one metric, by variant."""

    metric: str
    unit: str
    kind: Kind
    direction: Direction | None
    variants: list[VariantCurves]
    #: Some run reported several values in one iteration.
    repeated: bool = False


class Curves(msgspec.Struct, frozen=True, kw_only=True):
    """The learning curves of an experiment; metrics in the order of the facts."""

    metrics: list[MetricCurves]


def curves_of(
    facts: ExperimentFacts,
    recorded: Mapping[str, Mapping[int, RunValues]],
    *,
    points: int = ALL_POINTS,
) -> Curves:
    """Return the learning curves of all metrics that were reported at two iterations or more, in their order.

    Median, band and the iteration at which runs part are of all runs and all values, whatever is drawn. The curves of
    one metric are laid out at a time.

    Parameters
    ----------
    facts : ExperimentFacts
        Of the experiment.
    recorded : mapping of str to mapping of int to RunValues
        Its `deviate.observe.tables.values_by_run`: by variant and index of a run, what it recorded.
    points : int, optional
        How many points may be drawn in all. Metrics share them evenly, the runs of a metric theirs likewise. Where a
        run would get fewer than `RUN_POINTS`, fewer runs are drawn. Longer curves are thinned, see `thinned`.
    """
    variants = list(dict.fromkeys([*(variant.variant for variant in facts.variants), *recorded]))
    by_metric = {
        name: {variant: _series_of(recorded.get(variant, {}), name) for variant in variants} for name in _reports(facts)
    }
    drawn = {name: each for name, each in by_metric.items() if _has_curve(each)}
    budget = min(METRIC_POINTS, points // max(len(drawn), 1))
    return Curves(metrics=[_metric(_reports(facts)[name], each, budget) for name, each in drawn.items()])


def _reports(facts: ExperimentFacts) -> dict[str, MetricSpread]:
    metrics: dict[str, MetricSpread] = {}
    for variant in facts.variants:
        for metric in variant.metrics:
            metrics.setdefault(metric.name, metric)
    return metrics


def _series_of(runs: Mapping[int, RunValues], metric: str) -> dict[int, Series]:
    return {index: values[metric] for index, values in sorted(runs.items()) if metric in values}


def _has_curve(by_variant: Mapping[str, Mapping[int, Series]]) -> bool:
    """Tell whether some run reported in several iterations; what was reported once is no curve."""
    every = (series.iterations for runs in by_variant.values() for series in runs.values())
    return any(bool((iterations != iterations[0]).any()) for iterations in every)


def _one_each(iterations: Any, values: Any) -> Curve:
    """Keep one value an iteration: the last finite one, or NaN where there is none."""
    finite = np.isfinite(values)
    # Stable, so that of one iteration gaps come first, and finite values keep their order.
    order = np.lexsort((finite, iterations))
    steps = iterations[order]
    last = np.append(steps[1:] != steps[:-1], True) if steps.size else np.empty(0, dtype=bool)
    kept = order[last]
    return iterations[kept], np.where(finite[kept], values[kept], np.nan)


def _metric(report: MetricSpread, by_variant: Mapping[str, Mapping[int, Series]], budget: int) -> MetricCurves:
    curves = {
        variant: {index: _one_each(series.iterations, series.values) for index, series in runs.items()}
        for variant, runs in by_variant.items()
        if runs
    }
    share = max(budget // len(curves), 1)
    recorded = sum(len(series.values) for runs in by_variant.values() for series in runs.values())
    return MetricCurves(
        metric=report.name,
        unit=report.unit,
        kind=report.kind,
        direction=report.direction,
        variants=[_variant(variant, runs, share) for variant, runs in curves.items()],
        repeated=sum(steps.size for runs in curves.values() for steps, _ in runs.values()) < recorded,
    )


def _variant(variant: str, curves: dict[int, Curve], budget: int) -> VariantCurves:
    indices = list(curves)
    longest = max(steps.size for steps, _ in curves.values())
    # Half of the points that a run gets go to the band of all of them, and never less than it needs to be seen.
    most = max(budget // max(min(longest, RUN_POINTS), 1), 1)
    drawn = [indices[position] for position in evenly(len(indices), most)]
    each = max(budget // len(drawn), FEWEST_POINTS)
    pairs = list(curves.values())
    runs = [_run(variant, index, curves[index], each) for index in drawn]
    return VariantCurves(
        variant=variant,
        recorded=len(indices),
        runs=runs,
        band=_band(pairs, each),
        parting=_parting(pairs) if len(pairs) > 1 else None,
        longest=longest,
        gaps=sum(bool(np.isnan(values).any()) for _, values in pairs),
        thinned=any(len(run.iterations) < curves[run.index][0].size for run in runs),
        dense=any(steps.size == longest > steps[-1] - steps[0] for steps, _ in pairs),
    )


def _run(variant: str, index: int, curve: Curve, points: int) -> RunCurve:
    steps, values = curve
    kept = thinned(values, points)
    drawn = [rounded(value) for value in values[kept]]
    return RunCurve(run=f"{variant}-{index}", index=index, iterations=steps[kept].tolist(), values=drawn)


def _band(curves: list[Curve], points: int) -> Band:
    parts = [curve_band(part, DEFAULT_BAND) for part in _pieces(curves)]
    whole = {name: _joined(parts, name) for name in ("iterations", "n", "low", "median", "high")}
    # Three lines are thinned together: what shows in one of them is kept of all.
    lines = [thinned(whole[name], max(points // 3, FEWEST_POINTS)) for name in ("low", "median", "high")]
    kept = np.unique(np.concatenate(lines)).astype(int)
    low, median, high = ([rounded(value) or 0.0 for value in whole[name][kept]] for name in ("low", "median", "high"))
    return Band(
        share=DEFAULT_BAND,
        iterations=whole["iterations"][kept].tolist(),
        n=whole["n"][kept].tolist(),
        low=low,
        median=median,
        high=high,
    )


def _joined(parts: list[CurveBand], name: str) -> Any:
    return np.concatenate([getattr(part, name) for part in parts]) if parts else np.empty(0)


def _parting(curves: list[Curve]) -> Parting:
    compared = 0
    for part in _pieces(curves):
        first = parting(part)
        compared += first.compared
        if first.iteration is not None:
            return first
    return Parting(iteration=None, compared=compared, tolerance=0.0)


def _pieces(curves: list[Curve]) -> Iterator[list[Curve]]:
    """Cut the curves of many runs at common iterations, so that no table of them is too large for memory."""
    grid = np.unique(np.concatenate([steps for steps, _ in curves]))
    width = max(_CELLS // len(curves), 1)
    if grid.size <= width:
        yield curves
        return
    for start in range(0, grid.size, width):
        low, high = grid[start], grid[min(start + width, grid.size) - 1]
        windows = [slice(np.searchsorted(steps, low), np.searchsorted(steps, high, "right")) for steps, _ in curves]
        yield [(steps[window], values[window]) for (steps, values), window in zip(curves, windows, strict=True)]


def rounded(value: float) -> float | None:
    """Return the value to `DIGITS` significant digits; None where it is not finite.

    >>> rounded(1 / 3), rounded(float("nan")), rounded(97.0)
    (0.333333333, None, 97.0)
    """
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
