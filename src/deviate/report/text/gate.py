"""Why a metric passes a gate or does not, in sentences with numbers, and what to know before trusting it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from deviate.contrast.contrast import TESTS
from deviate.inference.comparison.metric import UNEQUAL_SDS
from deviate.inference.gate.gate import Gate
from deviate.inference.gate.looks import GateLook
from deviate.inference.gate.metric import WIDEST_SHARE, GateMetric
from deviate.measure.intervals import Interval
from deviate.report.numbers import Numbers, finest, last_place, show, show_interval, show_level, show_percent
from deviate.report.text.caveat import Caveat
from deviate.report.text.comparison.caveats import comparison_caveats, pairing_sentences
from deviate.report.text.comparison.looks import runs_at_looks
from deviate.report.text.comparison.predictions import changed_sentences
from deviate.report.text.words import count, listed


def gate_sentence(gate: Gate) -> str:
    """Say whether the side that is checked passes."""
    failing = [metric.outcome for metric in gate.metrics if not metric.passed]
    outcomes = listed(list(dict.fromkeys(failing)))
    reasons = [f"{len(failing)} of {count(len(gate.metrics), 'metric')} ({outcomes})"] if failing else []
    reasons += [] if gate.failures.passed else ["the rate of failures"]
    reasons += ["the share of answers that change"] if gate.churn is not None and not gate.churn.passed else []
    reasons += group_failures(gate)
    outcome = "passes" if gate.passed else f"does not pass: {listed(reasons)}"
    return f"{gate.a} against {gate.b} {outcome}."


def failure_sentences(gate: Gate) -> list[str]:
    """Say how often runs of the side that is checked fail, and what so many runs cannot show."""
    failures, level = gate.failures, show_level(1 - gate.look.alpha)
    runs = count(failures.runs, "run")
    failed = f"{failures.failed} of {runs}" if failures.failed else f"None of {runs}"
    upper = f"the rate is at most {show_percent(failures.upper)} ({level} one-sided limit)"
    sentences = [f"{failed} of {gate.a} failed, gave no value or collapsed: {upper}."]
    if failures.allowed is not None:
        kept = "kept" if failures.passed else "not shown to be kept"
        sentences.append(f"Allowed is {show_percent(failures.allowed)}, which is {kept}.")
    if not failures.failed:
        sentences.append(
            f"{runs} show a rate of {show_percent(failures.seen)} or more at least once in {level} of checks; smaller "
            "ones go unseen more often, and so does what such failures would do to the mean."
        )
    return sentences


def churn_sentences(gate: Gate) -> list[str]:
    """Say how many answers change and how many may; nothing where that is not checked."""
    if gate.churn is None:
        return []
    sentences = changed_sentences(gate.churn.predictions, gate.a, gate.b)
    allowed = f"Allowed is {show_percent(gate.churn.allowed)}"
    if gate.churn.upper is None:
        return [*sentences, f"{allowed}; no upper limit of the share is known, so it does not pass."]
    level = show_level(1 - gate.look.alpha)
    kept = "kept" if gate.churn.passed else "not shown to be kept"
    upper = f"the share is at most {show_percent(gate.churn.upper)} ({level} one-sided limit)"
    return [*sentences, f"{allowed}, which is {kept}: {upper}."]


def group_failures(gate: Gate) -> list[str]:
    """Return what of the groups fails, as words of a list; nothing where they pass or none are checked."""
    if gate.groups is None or gate.groups.passed:
        return []
    failing = sum(not group.accuracy.passed for group in gate.groups.groups)
    return [f"{failing} of {count(len(gate.groups.groups), 'group')}"] if failing else ["the groups"]


def group_sentences(gate: Gate) -> list[str]:
    """Say on how many groups the accuracy passes, and where it fell most; nothing where no groups are checked."""
    if gate.groups is None:
        return []
    if gate.groups.withheld:
        return [f"The groups do not pass: {gate.groups.withheld}."]
    passing = sum(group.accuracy.passed for group in gate.groups.groups)
    allowed = (
        f"may be {show_percent(gate.groups.allowed)} of its examples lower" if gate.groups.allowed else "may not fall"
    )
    sentences = [f"The accuracy on each group {allowed}: {passing} of {count(len(gate.groups.groups), 'group')} pass."]
    fallen = [group.accuracy for group in gate.groups.groups if (_fall(group.accuracy) or 0) > 0]
    if fallen:
        most = max(fallen, key=lambda accuracy: _fall(accuracy) or 0)
        place = last_digit(most)
        means = f"{show(most.mean_a, place)} against {show(most.mean_b, place)}"
        sentences.append(f"The largest drop is in the {most.name}: {means}.")
    small = [group.label for group in gate.groups.groups if group.is_too_small(gate.look.alpha)]
    if small:
        sentences.append(
            "Too few examples and runs for the limit, so that not even runs without an error would pass: "
            f"{listed(small)}."
        )
    return sentences


def _fall(accuracy: GateMetric) -> float | None:
    return None if accuracy.mean_a is None or accuracy.mean_b is None else accuracy.mean_b - accuracy.mean_a


def outcome_text(metric: GateMetric) -> str:
    """Write an outcome, and what becomes of one that is open."""
    if metric.outcome != "inconclusive":
        return metric.outcome
    return f"{metric.outcome} (counts as {'passed' if metric.passed else 'failed'})"


def gate_reasons(metric: GateMetric, alpha: float) -> list[str]:
    """Say where the mean stands to the limit, and why that decides or does not.

    `alpha` is the share of wrong claims of each kind.
    """
    if metric.same and not metric.lost_a:
        return [*_stand(metric), "Each run gave exactly the value of the run of B with the same random numbers."]
    numbers = Numbers(alpha)
    return [*_stand(metric), *_decided(metric, numbers), *_undecided(metric, numbers)]


def last_digit(metric: GateMetric) -> int | None:
    """Return the power of ten of the last digit worth showing."""
    return finest((metric.sd_a, metric.sd_b))


def _stand(metric: GateMetric) -> Iterator[str]:
    place, drop = last_digit(metric), metric.drop
    unit = f" {metric.unit}" if metric.unit else ""
    yield (
        f"{show(metric.mean_a, place)} ± {show(metric.sd_a, place)}{unit} ({count(metric.n_a, 'run')}) against "
        f"{show(metric.mean_b, place)} ± {show(metric.sd_b, place)}{unit} ({count(metric.n_b, 'run')}), mean ± SD."
    )
    if metric.room is None:
        return
    worse = "lower" if metric.direction == "higher" else "higher"
    allowed = f"may be {drop.text}{'' if drop.relative else unit} {worse}" if drop.value else f"may not be {worse}"
    yield f"The mean {allowed}: {_distance(metric, metric.room, place)} the limit of {show(metric.limit, place)}."


def _distance(metric: GateMetric, room: float, place: int | None) -> str:
    interval = metric.ci_room if room >= 0 else _negated(metric.ci_room)
    known = f" ({show_level(metric.ci_room.level)} CI {show_interval(interval, place)})" if interval.known else ""
    return f"it is {show(abs(room), place)}{known} {'within' if room >= 0 else 'beyond'}"


def _negated(interval: Interval) -> Interval:
    if interval.low is None or interval.high is None:
        return interval
    return msgspec.structs.replace(interval, low=-interval.high, high=-interval.low)


def _decided(metric: GateMetric, numbers: Numbers) -> Iterator[str]:
    if metric.outcome == "worse":
        yield f"That is more than noise (p {numbers.compared_p(metric.p_worse_adjusted)}, one-sided)."
    elif metric.outcome == "not worse":
        p = numbers.compared_p(metric.p_not_worse)
        yield f"The drop stays within the limit (one-sided p {p})."
        if metric.sd_ratio is not None and metric.sd_ratio >= UNEQUAL_SDS:
            yield (
                f"Its SD is {metric.sd_ratio:.1f} times that of the baseline: if its bad runs are outliers, such a "
                "pass is wrong more often than alpha says."
            )
    elif metric.outcome == "no drop shown":
        drop = show(metric.drop_seen, last_digit(metric))
        seen = f"; a drop of {drop} would be shown by 4 of 5 such checks" if metric.drop_seen else ""
        yield (
            f"No drop is shown (p {numbers.compared_p(metric.p_worse)}, one-sided){seen}. A --max-drop "
            "above 0 asks for proof that no larger one is there."
        )


def _undecided(metric: GateMetric, numbers: Numbers) -> Iterator[str]:
    if metric.outcome not in ("inconclusive", "runs lost"):
        return
    if metric.lost_a:
        ways = ["gave no finite value"]
        ways += ["were left out as weak"] if metric.weak_a or metric.weak_b else []
        ways += ["collapsed"] if metric.collapsed_a or metric.collapsed_b else []
        gave = " or ".join(ways)
        yield (
            f"{metric.lost_a} of {count(metric.ended_a, 'run')} that are checked {gave}, against "
            f"{metric.lost_b} of {metric.ended_b} of the baseline: the lost runs may be the worst ones, so the others "
            f"alone do not pass{', whatever --inconclusive says' if metric.outcome == 'runs lost' else ''}."
        )
    elif metric.compared < metric.fewest_runs:
        yield f"Below {metric.fewest_runs} runs of each, nothing is claimed."
    elif metric.reason:
        yield f"{metric.reason[:1].upper()}{metric.reason[1:]}."
    else:
        yield (
            "These runs show neither that the drop exceeds the limit (p "
            f"{numbers.compared_p(metric.p_worse_adjusted)}) nor that it stays within it (p "
            f"{numbers.compared_p(metric.p_not_worse)})."
        )
    if metric.runs_needed is not None:
        yield f"If the true means equal those measured, {metric.runs_needed} runs of each decide it in 4 of 5 cases."


def gate_caveats(gate: Gate) -> list[Caveat]:
    """List all caveats: limits that let anything pass, then those on the sides."""
    wide = [
        Caveat(slug="limit-wide", message=_wide(metric, gate.b)) for metric in gate.metrics if metric.wide is not None
    ]
    return [*wide, *_look_caveats(gate), *comparison_caveats(gate.comparability)]


def _look_caveats(gate: Gate) -> Iterator[Caveat]:
    """Say which check of growing sides it is, and what p must be below because of that."""
    look = gate.look
    if look.stopped_alpha is not None:
        message = (
            f"`deviate run --until` ended the runs of {listed(look.stopped)} when they looked alike, which makes SDs "
            f"look small: each one-sided p must be below {look.stopped_alpha:.2g} instead of {gate.alpha:g}. Wrong "
            f"claims of each kind are then {show_percent(gate.alpha)} or fewer, and up to twice as many if values are "
            "skewed."
        )
        yield Caveat(slug="stopped-by-rule", message=message, severity="note")
    if look.number > 1:
        yield Caveat(slug="checked-again", message=_checked_again(look), severity="note")
    if look.unrecorded:
        message = f"This check could not be recorded ({look.unrecorded}): the next one of them will not know of it."
        yield Caveat(slug="look-unrecorded", message=message)


def _checked_again(look: GateLook) -> str:
    again = f"This is check {look.number} of these experiments as they grow ({runs_at_looks(look.sizes)})"
    if look.settled is not None:
        return (
            f"{again}. Check {look.settled} showed what this one asks, so each one-sided p must be below "
            f"{look.alpha:.2g} only."
        )
    return (
        f"{again}: each one-sided p must be below {look.alpha:.2g}, so that wrong claims of each kind stay at "
        f"{show_percent(look.whole)} or fewer over all checks."
    )


def _wide(metric: GateMetric, label: str) -> str:
    """Say of what the limit is too large a part, and what it lets pass."""
    share, sds, place = metric.limit_share or 0.0, metric.limit_sds or 0.0, last_digit(metric)
    if metric.wide == "share":
        wide = f"more than a fifth of the mean of {label}"
    elif metric.wide == "mean":
        times = f"{share:.3g} times" if share >= 10 else f"{show_percent(share)} of"
        wide = f"{times} the mean of {label} ({show(metric.mean_b, place)})"
    else:
        wide = f"{sds:.0f} SDs of {label} ({show(metric.sd_b, last_place(metric.sd_b))})"
    moves = "drop" if metric.direction == "higher" else "rise"
    message = (
        f"{metric.name}: the limit {metric.drop.text} is {wide}: a {moves} to {show(metric.limit, place)} would pass"
    )
    percent = metric.fractions and not metric.drop.relative and share > WIDEST_SHARE
    meant = f"; if points of a percentage are meant, type --max-drop {metric.drop.value / 100:.10g}" if percent else ""
    return f"{message}{meant}."


def gate_methods(gate: Gate) -> list[str]:
    """Say for a paper how it was checked."""
    tests = listed(list(dict.fromkeys(TESTS[metric.test].label for metric in gate.metrics)))
    over = [count(len(gate.metrics), "metric")]
    over += [count(len(gate.groups.groups), "group")] if gate.groups else []
    adjusted = f"; p-values of being worse are Holm-adjusted over {listed(over)}" if len(gate.judged) > 1 else ""
    look = gate.look
    return [
        f"Each mean is tested against its limit by one-sided {tests} tests, each kind of claim at level "
        f"{look.alpha:g}{adjusted}; intervals are {show_level(1 - 2 * look.alpha)} confidence intervals.",
        *_looks_methods(gate),
        *pairing_sentences(gate.comparability.pairings),
    ]


def _looks_methods(gate: Gate) -> Iterator[str]:
    look = gate.look
    if look.number > 1:
        yield (
            f"{gate.a} was checked against {gate.b} {look.number} times while runs were added; the later checks add "
            f"{show_percent(look.whole - gate.alpha)} of wrong claims of each kind to those of the first (alpha "
            "spending: Lan and DeMets, 1983)."
        )
