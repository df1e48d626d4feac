"""Of which training a number is, where a run holds several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deviate.experiment import MainLoop
from deviate.inference.metric import MetricSpread
from deviate.inference.trainings import TrainingsFacts
from deviate.inference.variant import VariantFacts
from deviate.report.text.caveat import Caveat
from deviate.report.text.words import listed

#: Aggregates that take one number out of all that a run reports.
_PICKED = ("last", "best", "mean", "max", "min")


def taken_from(metric: MetricSpread, facts: TrainingsFacts) -> str:
    """Return how one number is made of all that a run reported of a metric: ``last of 12 values``."""
    reports = facts.reports.get(metric.name, [])
    if metric.aggregate not in _PICKED or not reports or not (facts.several or facts.unplaced):
        return metric.aggregate
    return f"{metric.aggregate} of {_range(reports)} values"


def _range(numbers: Sequence[int]) -> str:
    """Return one number, or the least and the most.

    Examples
    --------
    >>> _range([3]), _range([2, 3, 5])
    ('3', '2 to 5')
    """
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def training_caveats(facts: VariantFacts, loops: Sequence[MainLoop]) -> Iterator[Caveat]:
    """Say that runs hold several trainings and which one each number is of, or that nothing shows whether they do."""
    known = facts.trainings
    if known.several:
        yield Caveat(slug="several-trainings", message=_several(facts, loops), variant=facts.variant)
    elif known.unplaced and (unplaced := _reported_often(facts)):
        message = (
            f"No main loop was seen, so nothing shows whether the values of {listed(unplaced)} in a run are of one "
            "training or of several (folds, trials): a last value is the last of all."
        )
        yield Caveat(slug="loop-unseen", message=message, severity="note", variant=facts.variant)


def _several(facts: VariantFacts, loops: Sequence[MainLoop]) -> str:
    """State the number of trainings in a run, and the training that each number belongs to."""
    times = _range(facts.trainings.counts)
    places = f" ({listed([f'{loop.file}:{loop.line}' for loop in loops])})" if loops else ""
    where = f"main loop{places}" if len(loops) < 2 else f"main loops{places}"
    if facts.trainings.together:
        return (
            f"In each run several processes go through the {where} at the same time, {times} times in all: these are "
            "trainings of their own, or workers of one. A last value is of whichever reported last."
        )
    once = [each.name for each in facts.metrics if each.name in facts.trainings.once]
    of_one = f" Reported once in a run, by one of them or after all: {listed(once)}." if once else ""
    return (
        f"Each run goes through its {where} {times} times: it holds {times} trainings, or stages of one. The last "
        f"value of what each of them reports is of the last one; a best value or a mean is over all.{of_one}"
    )


def _reported_often(facts: VariantFacts) -> list[str]:
    return [each.name for each in facts.metrics if taken_from(each, facts.trainings) != each.aggregate]
