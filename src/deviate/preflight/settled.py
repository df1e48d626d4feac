"""Tell when a probe has shown what it has to show."""

from __future__ import annotations

from deviate.collect.fingerprints import joined_fingerprints
from deviate.collect.processes import Process, processes
from deviate.collect.tally import RunTallies
from deviate.factors import SEEDED
from deviate.replicate.workspace.folders import RunFolder

#: What a probe has to go through: in two whole iterations of the main loop each factor of it has been drawn for.
ITERATIONS = 3

#: Seconds without a new fingerprint, seed or draw after which no more are waited for: after those iterations; in a main
#: loop that has begun; and where no main loop is known. At least as much as this share of the time up to the last one.
QUIET_AFTER, QUIET_WITHIN, QUIET_WITHOUT = 1.0, 4.0, 10.0
QUIET_SHARE = 0.5


def drawn_in(processes: list[Process]) -> dict[str, int]:
    """Return in how many processes each factor was drawn for."""
    prints = joined_fingerprints(processes)
    return {factor: prints[factor].processes for factor in SEEDED if factor in prints}


class Settled:
    """Tells when a probe has shown what it has to show.

    `draws_expected` is by factor the number of processes that draw for it; empty where it is not known: then the probe
    has to grow quiet. `iterations_expected` are those that it is compared in, at most `ITERATIONS`.
    """

    def __init__(
        self, folder: RunFolder, metrics: list[str], draws_expected: dict[str, int], iterations_expected: int = 0
    ) -> None:
        self.folder = folder
        self.draws_expected = draws_expected
        self.iterations_expected = min(iterations_expected, ITERATIONS)
        self.tallies = RunTallies(folder, metrics)
        self._news = 0
        #: Seconds at which the last news came.
        self._heard = 0.0

    def look(self, seconds: float) -> bool:
        """Tell whether all was seen, `seconds` after the start."""
        run_processes = processes(self.folder)
        if self.draws_expected:
            drawn = drawn_in(run_processes)
            if any(drawn.get(factor, 0) < number for factor, number in self.draws_expected.items()):
                return False
            self.tallies.look()
            return self.tallies.iterations >= self.iterations_expected
        events = (event["event"] for process in run_processes for event in process.events)
        news = sum(event in ("start", "seed", "draw", "fingerprint") for event in events)
        if news != self._news:
            self._news, self._heard = news, seconds
        patience = self._patience()
        # A program that draws nothing is known by its values.
        seen = any(drawn_in(run_processes)) or self.tallies.iterations >= ITERATIONS
        return seen and seconds - self._heard >= patience

    def _patience(self) -> float:
        self.tallies.look()
        if self.tallies.iterations >= ITERATIONS:
            return QUIET_AFTER
        least = QUIET_WITHIN if self.tallies.iterations else QUIET_WITHOUT
        return max(least, QUIET_SHARE * self._heard)
