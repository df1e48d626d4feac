"""Of how many trainings of a run a number is, where a run holds several."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.results.results import Results
from deviate.results.run import RunResult


class TrainingsFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How often the runs of a variant went through their main loop, and how often they reported metrics."""

    #: Each number of trainings that a completed run was seen to have, ascending; empty where no main loop was seen.
    counts: list[int] = []
    #: Whether processes of a run went through the main loop at the same time.
    together: bool = False
    #: How often runs reported each metric that one of them reported more than once, ascending.
    reports: dict[str, list[int]] = {}
    #: Metrics that each run reported once.
    once: list[str] = []

    @property
    def several(self) -> bool:
        """Whether a run holds more than one training."""
        return any(count > 1 for count in self.counts)

    @property
    def unplaced(self) -> bool:
        """Whether no main loop was seen, so that nothing shows which numbers are of one training."""
        return not self.counts


def trainings_facts(results: Results, variant: str, runs: Sequence[RunResult]) -> TrainingsFacts:
    """Return what is known of a variant; nothing of results that Deviate did not run."""
    if results.experiment.imported is not None:
        return TrainingsFacts()
    seen = [run.trainings for run in runs if run.status == "completed" and run.trainings.count]
    counts = sorted({each.count for each in seen}) or ([1] if variant in results.looped else [])
    reports = results.reports.get(variant, {})
    return TrainingsFacts(
        counts=counts,
        together=any(each.together for each in seen),
        once=[metric for metric, numbers in reports.items() if numbers == [1]],
        reports={metric: numbers for metric, numbers in reports.items() if numbers and numbers[-1] > 1},
    )
