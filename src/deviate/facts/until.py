"""How runs stand to the criterion of ``--until``, and the comparison that decides how many runs are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import Decided, Until
from deviate.facts.metric import MetricSpread
from deviate.runs.experiment_events import Compared
from deviate.stats.intervals import Interval
from deviate.stats.multiplicity import look
from deviate.store.folders import Workspace

if TYPE_CHECKING:
    from deviate.facts.comparison_options import ComparisonOptions


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """How the runs of a variant stand to the criterion that decided how many of them were made."""

    #: As it was typed.
    criterion: str
    metric: str
    of: Literal["mean", "sd"]
    met: bool
    #: Runs with a finite value of the metric.
    n: int
    #: Half-width of the t interval of the mean, in its unit; of that of an SD, as a share of it, where `relative`.
    half_width: float | None
    wanted: float
    relative: bool
    #: The one that keeps its level.
    interval: Interval
    #: Runs it is expected to take in all.
    expected: int | None
    #: Runs of the variant that have ended, however, and how many are made at most.
    made: int
    most: int
    #: All values are exactly equal.
    identical: bool
    #: Mean or SD of the metric, as `of` says, and the metric's SD and unit.
    value: float | None
    sd: float | None
    unit: str
    #: Digits behind the point, as the program writes the metric; None where that is not known.
    decimals: int | None


def stopped_by(until: Until | None, metrics: list[MetricSpread], made: int) -> Stopped | None:
    """Compare the runs of a variant with the criterion; None without one, or without its metric.

    `made` are the runs of the variant that have ended, however.
    """
    metric = next((each for each in metrics if until and each.name == until.metric), None)
    if until is None or metric is None:
        return None
    return Stopped(
        criterion=until.text,
        metric=until.metric,
        of=until.of,
        **msgspec.structs.asdict(look(metric.values, until)),
        relative=until.of == "sd",
        made=made,
        most=until.most,
        value=metric.spread.sd if until.of == "sd" else metric.spread.mean,
        sd=metric.spread.sd,
        unit=metric.unit,
        decimals=metric.decimals,
    )


def with_stopped(metrics: list[MetricSpread], until: Until | None, stopped: Stopped | None) -> list[MetricSpread]:
    """Put the interval that is true after stopping in the place of that of a fixed number of runs."""
    if until is None or stopped is None:
        return metrics
    return [_replaced(metric, until, stopped) if metric.name == until.metric else metric for metric in metrics]


def _replaced(metric: MetricSpread, until: Until, stopped: Stopped) -> MetricSpread:
    known = metric.ci_sd if until.of == "sd" else metric.ci_mean
    if known.level != until.level:
        return metric
    if until.of == "sd":
        return msgspec.structs.replace(metric, ci_sd=stopped.interval)
    return msgspec.structs.replace(metric, ci_mean=stopped.interval)


class Referee:
    """Compares growing runs with a stored experiment, as ``deviate compare --until decided`` does.

    The stored experiment has all its runs, so alpha is shared over looks up to those and the most that may be made.
    What it takes is imported when it is asked, since no run starts before this module is there.
    """

    def check(self, workspace: Workspace, decided: Decided, side: str | None = None) -> None:
        """Refuse what cannot be decided; `side` is the ``EXPERIMENT:VARIANT`` that grows.

        Raises
        ------
        UnknownExperiment
            If there is no experiment to compare with.
        BadOption
            If it has too few runs or not the metric, is the one that grows, or was compared with it before.
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
