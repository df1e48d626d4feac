"""Comparisons that decide how many runs are made: ``deviate run --until 'decided against B'``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deviate.core.errors import BadOption
from deviate.core.experiment import Decided
from deviate.runs.events import Compared
from deviate.store.folders import Workspace

if TYPE_CHECKING:
    from deviate.facts.comparison_options import ComparisonOptions


class Referee:
    """Compares growing runs with a stored experiment, as ``deviate compare --until decided`` does.

    The stored experiment has all its runs, so alpha is shared over looks up to those and the most that may be made.
    What it takes is imported when it is asked, since no run starts before this module is there.
    """

    def check(self, workspace: Workspace, decided: Decided, side: str | None = None) -> None:
        """Refuse what cannot be decided; `side` is the ``EXPERIMENT:VARIANT`` that grows.

        Raises UnknownExperiment if there is no experiment to compare with. Raises BadOption if it has too few runs or
        not the metric, is the one that grows, or was compared with it before.
        """
        from deviate.facts.comparable import match_metrics, settle_names
        from deviate.facts.looks import read_pair_looks
        from deviate.facts.side import read_sides
        from deviate.stats.results import VERDICT_RUNS

        (other,) = read_sides(workspace, [decided.against])
        if other.completed < VERDICT_RUNS:
            raise BadOption(
                f"--until {decided.text!r}: {decided.against} has {other.completed} completed runs",
                hint=f"make {VERDICT_RUNS} runs of it or more, as many as are wanted of both",
            )
        if decided.metric:
            other.sample(decided.metric, "--until")
        if side is not None:
            sides = read_sides(workspace, [side, decided.against])
            match_metrics(sides, settle_names(sides, _options(decided)))
            read_pair_looks(workspace, sides, _options(decided))

    def look(self, workspace: Workspace, decided: Decided, side: str) -> Compared:
        """Compare once more, and record it."""
        from deviate.facts.comparison import read_comparison

        comparison = read_comparison(workspace, [side, decided.against], _options(decided))
        (pair,) = comparison.pairs
        metric = next(each for each in pair.metrics if each.name in comparison.claimed)
        repeated = (
            f"all runs of {side} used the same random numbers for {', '.join(each)}"
            for side, each in pair.draws.unshared.items()
        )
        return Compared(
            decided=decided,
            metric=metric.name,
            runs=pair.look.sizes[-1],
            p=metric.p_adjusted,
            limit=pair.alpha,
            verdict=metric.verdict,
            hopeless="; ".join(repeated),
            shown=bool(metric.differs) and not pair.draws.unshared,
        )


def _options(decided: Decided) -> ComparisonOptions:
    from deviate.facts.comparison_options import ComparisonOptions

    metrics = [decided.metric] if decided.metric else []
    return ComparisonOptions(metrics=metrics, until="decided", most=decided.most, first_grows=True)
