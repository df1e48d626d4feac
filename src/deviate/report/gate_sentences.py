"""Why a metric passes a gate or does not, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from deviate.contrast.guards import fewest_runs
from deviate.contrast.noninferiority import Noninferiority, drop_seen
from deviate.measure.intervals import Interval
from deviate.report.comparison.numbers import show_p as plain_p
from deviate.report.comparison.sentences import UNEQUAL_SDS
from deviate.report.gate_parts import DEFAULT_ALPHA, Drop, GateMetric, Losses
from deviate.report.shown import UNKNOWN, last_place, show, show_interval, show_level
from deviate.report.words import count


def gate_sentences(
    metric: GateMetric, drop: Drop, found: Noninferiority, lost: tuple[Losses, Losses], alpha: float, *,
    same: bool = False,
) -> list[str]:  # fmt: skip
    """Say where the mean stands to the limit, and why that decides or does not.

    Parameters
    ----------
    metric : GateMetric
        Numbers and outcome.
    drop : Drop
        What is allowed.
    found : Noninferiority
        What was tested.
    lost : (Losses, Losses)
        Runs that gave no finite value, of the side that is checked and of the other.
    alpha : float
        Share of wrong claims of each kind.
    same : bool, optional
        Each run gave exactly the value of its partner.
    """
    if same and not lost[0].runs:
        return [*_stand(metric, drop), "Each run gave exactly the value of the run of B that shares its draws."]
    return [*_stand(metric, drop), *_decided(metric, found, alpha), *_undecided(metric, found, *lost, alpha)]


def last_digit(metric: GateMetric) -> int | None:
    """Return the power of ten of the last digit worth showing."""
    known = [sd for sd in (metric.sd_a, metric.sd_b) if sd]
    return last_place(min(known)) if known else None


def _stand(metric: GateMetric, drop: Drop) -> Iterable[str]:
    place = last_digit(metric)
    unit = f" {metric.unit}" if metric.unit else ""
    yield (
        f"{show(metric.mean_a, place)} ± {show(metric.sd_a, place)}{unit} ({count(metric.n_a, 'run')}) against "
        f"{show(metric.mean_b, place)} ± {show(metric.sd_b, place)}{unit} ({count(metric.n_b, 'run')}), mean ± SD."
    )
    if metric.room is None:
        return
    worse = "lower" if metric.direction == "higher" else "higher"
    allowed = f"may be {drop.text}{'' if drop.relative else unit} {worse}" if drop.value else f"may not be {worse}"
    yield f"The mean {allowed}: the limit is {show(metric.limit, place)}, and {_distance(metric, metric.room, place)}."


def _distance(metric: GateMetric, room: float, place: int | None) -> str:
    above = (room >= 0) == (metric.direction == "higher")
    interval = metric.ci_room if room >= 0 else _negated(metric.ci_room)
    level = show_level(metric.ci_room.level)
    known = f" ({level} CI of the distance: {show_interval(interval, place)})" if interval.known else ""
    return (
        f"the mean is {show(abs(room), place)} {'above' if above else 'below'} it, "
        f"{'within' if room >= 0 else 'beyond'} the limit{known}"
    )


def _negated(interval: Interval) -> Interval:
    if interval.low is None or interval.high is None:
        return interval
    return msgspec.structs.replace(interval, low=-interval.high, high=-interval.low)


def _decided(metric: GateMetric, found: Noninferiority, alpha: float) -> Iterable[str]:
    if metric.outcome == "worse":
        yield f"That is more than noise (p {show_p(metric.p_worse_adjusted, alpha)}, one-sided)."
    elif metric.outcome == "not worse":
        yield f"That it is not beyond the limit is shown (p {show_p(metric.p_not_worse, alpha)}, one-sided)."
        yield from _caveat(metric)
    elif metric.outcome == "no drop shown":
        seen = drop_seen(found, alpha)
        told = f"; a drop of {show(seen, last_digit(metric))} would be shown by 4 of 5 such checks" if seen else ""
        yield (
            f"Nothing shows that it dropped (p {show_p(metric.p_worse, alpha)}, one-sided){told}. A --max-drop "
            "above 0 asks for proof that no larger one is there."
        )


def _caveat(metric: GateMetric) -> Iterable[str]:
    if metric.sd_a and metric.sd_b and metric.sd_a >= UNEQUAL_SDS * metric.sd_b:
        yield (
            f"Its SD is {metric.sd_a / metric.sd_b:.1f} times that of the other side: if its bad runs lie far from the "
            "rest, such a pass is wrong more often than alpha says."
        )


def _undecided(metric: GateMetric, found: Noninferiority, lost: Losses, lost_b: Losses, alpha: float) -> Iterable[str]:
    if metric.outcome not in ("inconclusive", "runs lost"):
        return
    fewest = fewest_runs(2 * alpha)
    if lost.runs:
        yield (
            f"{lost.runs} of {count(lost.ended, 'run')} of the side that is checked gave no finite value, against "
            f"{lost_b.runs} of {lost_b.ended} of the other: what was lost may be the worst, so the others alone do not "
            f"let it pass{', whatever --inconclusive says' if metric.outcome == 'runs lost' else ''}."
        )
    elif found.fewest < fewest:
        yield f"Below {fewest} runs a side nothing is claimed."
    elif found.reason:
        yield f"{found.reason[:1].upper()}{found.reason[1:]}."
    else:
        yield (
            f"Neither that it is beyond the limit (p {show_p(metric.p_worse_adjusted, alpha)}) nor that it is not "
            f"(p {show_p(metric.p_not_worse, alpha)}) is shown."
        )
    if metric.runs_needed is not None:
        yield f"If the means are where they seem to be, {metric.runs_needed} runs a side decide it in 4 of 5 cases."


def show_p(p: float | None, alpha: float = DEFAULT_ALPHA) -> str:
    """Write a p with its sign, with digits enough to tell it from alpha.

    Examples
    --------
    >>> show_p(0.0213), show_p(1e-9), show_p(0.0504), show_p(None)
    ('= 0.021', '< 0.0001', '= 0.0504', '–')
    """
    text = plain_p(p, alpha)
    return f"< {text[1:]}" if text.startswith("<") else text if text == UNKNOWN else f"= {text}"
