"""What holding the implementation costs: the time of runs that hold it, as a multiple of that of runs that do not."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from deviate.core.experiment import Experiment
from deviate.core.factors import IMPLEMENTATION, Variant, find_variant
from deviate.facts.run import RunResult
from deviate.facts.samples import Sample
from deviate.observe.metrics import TIME_PER_ITERATION, TIME_PER_RUN
from deviate.stats.intervals import DEFAULT_LEVEL
from deviate.stats.price import LEAST_PAIRS, TOO_FEW, HeldPrice, paired_price

#: Why there is no ratio.
NO_NOISE = "with pinned threads and no GPU kernels have no effect"
NOT_IN_TURN = "their runs were not made in turn, and the machine may have been busier during those of one"


def held_prices(
    experiment: Experiment,
    runs: Mapping[str, Sequence[RunResult]],
    samples: Mapping[str, Sequence[Sample]],
    without_noise: Mapping[str, bool],
    level: float = DEFAULT_LEVEL,
) -> list[HeldPrice]:
    """Compare the times of every two variants that differ in whether the implementation is held.

    Parameters
    ----------
    runs, samples : mapping of str to sequence
        By variant, the runs that have ended and what they measured.
    without_noise : mapping of str to bool
        Whether nothing of the implementation could vary in the runs of a variant.
    """
    pairs = _pairs([name for name in experiment.planned if runs.get(name)])
    return [
        HeldPrice(held=held, free=free, reason=NO_NOISE)
        if without_noise.get(free)
        else _price(held, free, runs, samples, level)
        for held, free in pairs
    ]


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return names of variants, each with one that has the implementation free and is alike in all else."""
    known = {name: variant for name in names if (variant := find_variant(name)) is not None and not variant.disturbed}
    return [
        (held, free)
        for free, variant in known.items()
        for held, other in known.items()
        if other.controlled and IMPLEMENTATION not in other.varying and _freed(variant) == other.varying
    ]


def _freed(variant: Variant) -> frozenset[str] | None:
    """Return what else varies where the implementation is free; of the command untouched nothing is known to."""
    if not variant.controlled:
        return frozenset()
    return frozenset(variant.varying - {IMPLEMENTATION}) if IMPLEMENTATION in variant.varying else None


def _price(
    held: str,
    free: str,
    runs: Mapping[str, Sequence[RunResult]],
    samples: Mapping[str, Sequence[Sample]],
    level: float,
) -> HeldPrice:
    # A run that shares another one's training took no time of its own.
    own = {name: {run.index: run for run in runs[name] if not run.same_as} for name in (held, free)}
    for metric in (TIME_PER_ITERATION, TIME_PER_RUN):
        times = {name: _times(samples.get(name, ()), metric, own[name]) for name in (held, free)}
        common = sorted(times[held].keys() & times[free].keys())
        if len(common) < LEAST_PAIRS:
            continue
        if not _in_turn([own[name][index] for index in common for name in (held, free)]):
            return HeldPrice(held=held, free=free, metric=metric, pairs=len(common), reason=NOT_IN_TURN)
        pairs = [(times[held][index], times[free][index]) for index in common]
        return paired_price(held, free, metric, pairs, level)
    return HeldPrice(held=held, free=free, reason=TOO_FEW)


def _times(samples: Sequence[Sample], metric: str, own: Mapping[int, RunResult]) -> dict[int, float]:
    sample = next((each for each in samples if each.name == metric), None)
    if sample is None:
        return {}
    return {run: value for run, value in zip(sample.runs, sample.values, strict=True) if run in own and value > 0}


def _in_turn(runs: Sequence[RunResult]) -> bool:
    """Tell whether runs of two variants alternated: on the average no more than two of one follow each other."""
    if not all(run.started for run in runs):
        return False
    order = [run.variant for run in sorted(runs, key=lambda run: (run.started, run.index))]
    turns = sum(first != second for first, second in itertools.pairwise(order))
    return 2 * (turns + 1) >= len(order)
