"""A check in lines: a block for each thing that is checked, with its word, the drop and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from deviate.facts.gate import Gate
from deviate.facts.gate_metric import GateMetric
from deviate.report.numbers import metric_place, show, show_interval, show_percent
from deviate.report.words import compared_runs, count, joined, listed
from deviate.stats.contrast import PAIRED

#: The word of each outcome; what is undecided and counts as passed says so.
_ORDER = ("FAIL", "UNDECIDED", "PASS")


def outcome_word(metric: GateMetric) -> str:
    """Write whether a metric passes."""
    return "UNDECIDED" if metric.outcome == "inconclusive" else "PASS" if metric.passed else "FAIL"


def gate_lines(gate: Gate) -> list[tuple[str, str]]:
    """Return the lines of a check, each behind its word: what fails first, what passes in one line if it is several."""
    conditions = _condition_lines(gate)
    if gate.passed and len(gate.metrics) > 1 and all(metric.outcome != "inconclusive" for metric in gate.metrics):
        return [("PASS", f"{len(gate.metrics)} of {count(len(gate.metrics), 'metric')}"), *conditions]
    words = {metric.name: outcome_word(metric) for metric in gate.metrics}
    ordered = sorted(gate.metrics, key=lambda metric: _ORDER.index(words[metric.name]))
    whole = [metric for metric in ordered if words[metric.name] != "PASS"] or ordered
    passed = [metric.name for metric in ordered if metric not in whole]
    return [
        *(pair for metric in whole for pair in metric_lines(metric, gate)),
        *([("PASS", joined(passed))] if passed else []),
        *conditions,
    ]


def metric_lines(metric: GateMetric, gate: Gate) -> list[tuple[str, str]]:
    """Return the two or three lines of one metric."""
    what = f"{gate.a} against {gate.b}, {metric.name}"
    counted = " (counts as passed)" if metric.outcome == "inconclusive" and metric.passed else ""
    return [(outcome_word(metric), f"{what}{counted}"), *(("", line) for line in _drop_lines(metric))]


def _drop_lines(metric: GateMetric) -> Iterator[str]:
    """Say by how much a metric fell, how much it may, and what would decide it."""
    if metric.lost_a and metric.outcome in ("inconclusive", "runs lost"):
        yield (
            f"{metric.lost_a} of {count(metric.ended_a, 'new run')} failed or collapsed ({metric.lost_b} of "
            f"{metric.ended_b} before): the others alone do not pass"
        )
    yield from drop_lines(metric)
    if metric.outcome != "inconclusive":
        return
    if metric.compared < metric.fewest_runs:
        yield f"a verdict takes {metric.fewest_runs} runs of each"
    elif metric.runs_needed is not None:
        yield f"about {metric.runs_needed} runs of each would decide it"
    elif metric.reason:
        yield metric.reason


def drop_lines(metric: GateMetric, between: str = "   ") -> Iterator[str]:
    """Say by how much a metric fell, and how much it may; `between` parts that from the runs."""
    word = "drop" if metric.direction == "higher" else "rise"
    allowed = _allowed(metric)
    if metric.same and not metric.lost_a:
        yield f"no {word}: each run has exactly the value of its partner"
    elif metric.room is not None:
        place = last_digit(metric)
        ends = ""
        if metric.ci_room.low is not None and metric.ci_room.high is not None:
            drop = msgspec.structs.replace(
                metric.ci_room, low=allowed - metric.ci_room.high, high=allowed - metric.ci_room.low
            )
            ends = f" {show_interval(drop, place)}"
        paired = metric.test == PAIRED.test
        runs = compared_runs(metric.compared if paired else metric.n_a, metric.n_b, paired=paired)
        limit = f"{metric.drop.text} = {show(allowed, place)}" if metric.drop.relative else show(allowed, place)
        yield f"{word} {show(allowed - metric.room, place)}{ends}, allowed {limit}{between}{runs}"


def _allowed(metric: GateMetric) -> float:
    """Return how much worse the mean may be, in the unit of the metric."""
    return metric.drop.value * abs(metric.mean_b or 0.0) if metric.drop.relative else metric.drop.value


def _condition_lines(gate: Gate) -> list[tuple[str, str]]:
    """Return the lines on what is checked beside the metrics."""
    lines: list[tuple[str, str]] = []
    failures = gate.failures
    if failures.allowed is not None:
        text = (
            f"{failures.failed} of {count(failures.runs, 'new run')} failed: at most {show_percent(failures.upper)}, "
            f"allowed {show_percent(failures.allowed)}"
        )
        lines.append((_word(failures.passed), text))
    if gate.churn is not None:
        upper = "unknown" if gate.churn.upper is None else f"at most {show_percent(gate.churn.upper)}"
        lines.append((_word(gate.churn.passed), f"changed answers {upper}, allowed {show_percent(gate.churn.allowed)}"))
    if gate.groups is not None:
        lines += [(_word(gate.groups.passed), sentence) for sentence in group_sentences(gate)[:1]]
        failing = [group.accuracy for group in gate.groups.groups if not group.accuracy.passed]
        lines += [("", f"{accuracy.name}: {line}") for accuracy in failing for line in _drop_lines(accuracy)]
    return lines


def _word(passed: bool) -> str:
    return "PASS" if passed else "FAIL"


def last_digit(metric: GateMetric) -> int | None:
    """Return the power of ten of the last digit worth showing."""
    return metric_place(metric.decimals, metric.sd_a, metric.sd_b)


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
