"""Tell when a probe has shown what it has to show."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from deviate.collect.agreement import is_repeatable
from deviate.collect.fingerprints import joined_fingerprints
from deviate.collect.processes import Process, processes
from deviate.collect.tally import RunTallies
from deviate.experiment import Metric
from deviate.factors import SEEDED
from deviate.replicate.workspace.folders import RunFolder

#: What a probe has to go through: in two whole iterations of the main loop each factor of it has been drawn for.
ITERATIONS = 3

#: Seconds without a new fingerprint, seed or draw after which no more are waited for: after those iterations; in a main
#: loop that has begun; and where no main loop is known. At least as much as this share of the time up to the last one:
#: on a machine that is busy, a program is given the same part of its way.
QUIET_AFTER, QUIET_WITHIN, QUIET_WITHOUT = 1.0, 4.0, 10.0
QUIET_SHARE = 0.5

#: Events that are news of draws.
_NEWS = frozenset(("start", "seed", "draw", "fingerprint"))


@dataclass(frozen=True)
class Progress:
    """How far a probe came."""

    #: In how many processes each factor was drawn for.
    drawn: dict[str, int] = field(default_factory=dict)
    #: Iterations of the main loop that were begun.
    iterations: int = 0
    #: Values that were recorded, those of clocks and of the machine aside.
    values: int = 0
    #: It came to its end.
    ended: bool = False

    @property
    def tells(self) -> bool:
        """Whether other probes can be measured by it."""
        return bool(self.drawn or self.values or self.ended)

    def as_far_as(self, one: Progress, other: Progress) -> Progress:
        """Return what two probes both came to, and this at least."""
        return replace(
            self,
            iterations=max(self.iterations, min(one.iterations, other.iterations)),
            values=max(self.values, min(one.values, other.values)),
        )

    def reaches(self, other: Progress) -> bool:
        """Tell whether this probe came as far as another, or to its end."""
        drawn = all(self.drawn.get(factor, 0) >= number for factor, number in other.drawn.items())
        far = drawn and self.iterations >= other.iterations and self.values >= other.values
        return self.ended or (far and not other.ended)


def drawn_in(run_processes: list[Process]) -> dict[str, int]:
    """Return in how many processes each factor was drawn for."""
    prints = joined_fingerprints(run_processes)
    return {factor: prints[factor].processes for factor in SEEDED if factor in prints}


class Settled:
    """Tells when a probe has shown what it has to show.

    `target` is how far it has to come, to be compared with others; None where it is not known: then it has to have
    recorded a value, and to grow quiet.
    """

    def __init__(self, folder: RunFolder, metrics: list[Metric], target: Progress | None = None) -> None:
        self.folder = folder
        self.metrics = metrics
        self.target = target
        self.tallies = RunTallies(folder, [metric.name for metric in metrics])
        #: What it had shown when the last news came.
        self.shown = Progress()
        self._news: tuple[int, ...] = ()
        #: Seconds at which the last news came.
        self._heard = 0.0

    def look(self, seconds: float) -> bool:
        """Tell whether all was seen, `seconds` after the start."""
        run_processes = processes(self.folder)
        now = self.progress(run_processes)
        if self.target is not None:
            return now.reaches(self.target)
        events = sum(event["event"] in _NEWS for process in run_processes for event in process.events)
        news = events, min(now.iterations, ITERATIONS), now.values > 0
        if news != self._news:
            self._news, self._heard, self.shown = news, seconds, now
        # A program that draws nothing is known by its values.
        return now.values > 0 and seconds - self._heard >= self._patience(now.iterations)

    def progress(self, run_processes: list[Process]) -> Progress:
        """Return how far the probe has come."""
        tallies = self.tallies.look()
        values = sum(tally.count for (name, _), tally in tallies.items() if is_repeatable(name, self.metrics))
        return Progress(drawn_in(run_processes), self.tallies.iterations, values)

    def _patience(self, iterations: int) -> float:
        whole = iterations >= ITERATIONS
        least = QUIET_AFTER if whole else QUIET_WITHIN if iterations else QUIET_WITHOUT
        return max(least, QUIET_SHARE * self._heard)
