"""Why a metric passes a gate or does not, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.contrast.guards import fewest_runs
from deviate.contrast.noninferiority import Noninferiority, drop_seen
from deviate.report.comparison.sentences import UNEQUAL_SDS
from deviate.report.gate_parts import Drop, GateMetric
from deviate.report.shown import UNKNOWN, last_place, show, show_interval, show_level
from deviate.report.words import count

#: A p below this is written as being below it.
SMALLEST_SHOWN_P = 1e-4


def gate_sentences(
    metric: GateMetric, drop: Drop, found: Noninferiority, lost: int, alpha: float, *, same: bool = False
) -> list[str]:
    """Say where the mean stands to the limit, and why that decides or does not.

    Parameters
    ----------
    metric : GateMetric
        Numbers and outcome.
    drop : Drop
        What is allowed.
    found : Noninferiority
        What was tested.
    lost : int
        Runs of the side that is checked that gave no finite value.
    alpha : float
        Share of wrong claims of each kind.
    same : bool, optional
        Each run gave exactly the value of its partner.
    """
    if same and not lost:
        return [*_stand(metric, drop), "Each run gave exactly the value of the run of B that shares its draws."]
    return [*_stand(metric, drop), *_decided(metric, found, alpha), *_undecided(metric, found, lost, alpha)]


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
    known = f" ({show_level(metric.ci_room.level)} CI {show_interval(metric.ci_room, place)})"
    side = "within" if metric.room >= 0 else "beyond"
    yield (
        f"The mean {allowed}: the limit is {show(metric.limit, place)}, and it is {show(abs(metric.room), place)} "
        f"{side} it{f'; room to the limit{known}' if metric.ci_room.known else ''}."
    )


def _decided(metric: GateMetric, found: Noninferiority, alpha: float) -> Iterable[str]:
    if metric.outcome == "worse":
        yield f"That is more than noise (p {show_p(metric.p_worse_adjusted)}, one-sided)."
    elif metric.outcome == "not worse":
        yield f"That it is not beyond the limit is shown (p {show_p(metric.p_not_worse)}, one-sided)."
        yield from _caveat(metric)
    elif metric.outcome == "no drop shown":
        seen = drop_seen(found, alpha)
        told = f"; a drop of {show(seen, last_digit(metric))} would be shown by 4 of 5 such checks" if seen else ""
        yield (
            f"Nothing shows that it dropped (p {show_p(metric.p_worse)}, one-sided){told}. A --max-drop above 0 asks "
            "for proof that no larger one is there."
        )


def _caveat(metric: GateMetric) -> Iterable[str]:
    if metric.sd_a and metric.sd_b and metric.sd_a >= UNEQUAL_SDS * metric.sd_b:
        yield (
            f"Its SD is {metric.sd_a / metric.sd_b:.1f} times that of the other side: if its bad runs lie far from the "
            "rest, such a pass is wrong more often than alpha says."
        )


def _undecided(metric: GateMetric, found: Noninferiority, lost: int, alpha: float) -> Iterable[str]:
    if metric.outcome != "inconclusive":
        return
    fewest = fewest_runs(2 * alpha)
    if lost:
        yield (
            f"{count(lost, 'run')} of the side that is checked gave no finite value: what was lost may be the worst, "
            "so the others alone do not let it pass."
        )
    elif found.fewest < fewest:
        yield f"Below {fewest} runs a side nothing is claimed."
    elif found.reason:
        yield f"{found.reason[:1].upper()}{found.reason[1:]}."
    else:
        yield (
            f"Neither that it is beyond the limit (p {show_p(metric.p_worse_adjusted)}) nor that it is not "
            f"(p {show_p(metric.p_not_worse)}) is shown."
        )
    if metric.runs_needed is not None:
        yield f"If the means are where they seem to be, {metric.runs_needed} runs a side decide it in 4 of 5 cases."


def show_p(p: float | None) -> str:
    """Write a p with its sign.

    Examples
    --------
    >>> show_p(0.0213), show_p(1e-9), show_p(None)
    ('= 0.021', '< 0.0001', '–')
    """
    if p is None:
        return UNKNOWN
    return f"< {SMALLEST_SHOWN_P:.4f}" if p < SMALLEST_SHOWN_P else f"= {p:.2g}"
