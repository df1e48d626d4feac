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
    """Return how one number is made of all that a run reported of a metric: ``last of 3 trainings``."""
    reports = facts.reports.get(metric.name, [])
    if metric.aggregate not in _PICKED or not reports or not (facts.several or facts.unplaced):
        return metric.aggregate
    if facts.several and reports[0] >= facts.counts[-1]:
        return f"{metric.aggregate} of {_range(facts.counts)} trainings"
    return f"{metric.aggregate} of {_range(reports)} values"


def _range(numbers: Sequence[int]) -> str:
    """Return one number, or the least and the most.

    Examples
    --------
    >>> _range([3]), _range([2, 3, 5])
    ('3', '2 to 5')
    """
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def training_caveats(facts: VariantFacts, loop: MainLoop | None) -> Iterator[Caveat]:
    """Say that runs hold several trainings, or that nothing shows whether they do."""
    known = facts.trainings
    place = f" ({loop.file}:{loop.line})" if loop is not None else ""
    if known.several and known.together:
        message = (
            f"In each run several processes go through the main loop{place} at the same time, {_range(known.counts)} "
            "times in all: these are trainings of their own, or workers of one. A last value is of whichever reported "
            "last."
        )
        yield Caveat(slug="several-trainings", message=message, variant=facts.variant)
    elif known.several:
        times = _range(known.counts)
        message = (
            f"Each run goes through its main loop{place} {times} times: it holds {times} trainings, or stages of one. "
            "A last value is of the last of them; a best value or a mean is over all."
        )
        yield Caveat(slug="several-trainings", message=message, variant=facts.variant)
    elif known.unplaced and (unplaced := _reported_often(facts)):
        message = (
            f"No main loop was seen, so nothing shows whether the values of {listed(unplaced)} in a run are of one "
            "training or of several (folds, trials): a last value is the last of all."
        )
        yield Caveat(slug="loop-unseen", message=message, severity="note", variant=facts.variant)


def _reported_often(facts: VariantFacts) -> list[str]:
    return [each.name for each in facts.metrics if taken_from(each, facts.trainings) != each.aggregate]
