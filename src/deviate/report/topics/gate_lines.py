"""A check in lines: a block for each thing that is checked, with its word, the drop and what is allowed.

The page of a target: whether it is reached, and by which rule.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from deviate.core.shell_words import typed_word
from deviate.facts.gate import Gate
from deviate.facts.gate_metric import GateMetric
from deviate.facts.target import Target
from deviate.report.numbers import (
    Numbers,
    mean_and_sd,
    metric_place,
    show,
    show_interval,
    show_level,
    show_percent,
    significant,
    unit_text,
)
from deviate.report.page import AT_TERMINAL, Answer, Badge, Block, Page, Reader, Section, Sentences
from deviate.report.words import compared_runs, count, joined, listed
from deviate.stats.contrast import PAIRED
from deviate.stats.gates import NANOGPT_MARGIN, Convergence, Reached

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
    allowed, paired = _allowed(metric), metric.test == PAIRED.test
    if metric.same and not metric.lost_a:
        whose = "its partner" if paired else "all others"
        yield f"no {word}: each run has exactly the value of {whose}"
    elif metric.room is not None:
        place = last_digit(metric)
        ends = ""
        if metric.ci_room.low is not None and metric.ci_room.high is not None:
            drop = msgspec.structs.replace(
                metric.ci_room, low=allowed - metric.ci_room.high, high=allowed - metric.ci_room.low
            )
            ends = f" {show_interval(drop, place)}"
        runs = compared_runs(metric.compared if paired else metric.n_a, metric.n_b, paired=paired)
        limit = f"{metric.drop.text} = {show(allowed, place)}" if metric.drop.relative else show(allowed, place)
        yield f"{word} {show(allowed - metric.room, place)}{ends}, allowed {limit}{between}{runs}"


def _allowed(metric: GateMetric) -> float:
    """Return how much worse the mean may be, in the unit of the metric."""
    return metric.drop.value * abs(metric.mean_b or 0.0) if metric.drop.relative else metric.drop.value


def _condition_lines(gate: Gate) -> list[tuple[str, str]]:
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


#: Said below each answer.
UNTUNED = "Runs by which the recipe was tuned or chosen do not count: make new ones."


def target_page(facts: Target, reader: Reader) -> Page:
    """Make the page of a target."""
    badge = Badge(text=facts.outcome, emphasis="good" if facts.passed else "bad") if reader == "full" else None
    blocks: list[Block] = [
        Answer(sentences=[f"{'PASS' if facts.passed else 'FAIL'}  {_outcome(facts)}"], badge=badge),
        Sentences(sentences=list(target_sentences(facts))),
        Sentences(sentences=[UNTUNED], emphasis="quiet"),
    ]
    return Page(
        title="" if reader in AT_TERMINAL else facts.a,
        subtitle="" if reader in AT_TERMINAL else "against a target",
        command=target_command(facts),
        reader=reader,
        sections=[Section(slug="target", blocks=blocks)],
    )


def target_command(facts: Target) -> str:
    """Return what to type for the same."""
    words = ["deviate", "check", facts.a]
    if facts.target is None:
        words += ["--against", facts.against, "--metric", facts.metric]
    else:
        sign = ">=" if facts.direction == "higher" else "<="
        words += ["--target", f"{facts.metric}{sign}{facts.target:g}"]
    return " ".join(map(typed_word, [*words, "--set", f"rule={facts.rule}"]))


def _outcome(facts: Target) -> str:
    if facts.convergence is not None:
        return f"{facts.a} against {facts.against}, {facts.metric}: {facts.outcome}"
    sign = "≥" if facts.direction == "higher" else "≤"
    return f"{facts.a}, {facts.metric} {sign} {show(facts.target)}{unit_text(facts.unit)}: {facts.outcome}"


def target_sentences(facts: Target) -> Iterator[str]:
    """Name the test, and say its result."""
    if facts.lost:
        yield f"{facts.lost} of {count(facts.lost + len(facts.values), 'run')} failed or gave no value."
    if facts.convergence is not None:
        yield from _convergence(facts, facts.convergence)
    elif facts.reached is not None:
        yield from _reached(facts, facts.reached)


def _reached(facts: Target, reached: Reached) -> Iterator[str]:
    numbers = Numbers(facts.alpha)
    place = metric_place(facts.decimals, reached.sd)
    written = mean_and_sd(reached.mean, reached.sd, place) + unit_text(facts.unit)
    if reached.reason:
        yield f"Mean {written}, {count(reached.n, 'run')}: {reached.reason}."
        return
    if facts.margin is not None:
        yield (
            f"Mean {written}, {count(reached.n, 'run')}: the distance times √n is {significant(facts.margin, 3)}, and "
            f"{NANOGPT_MARGIN:g} is asked for (modded-nanogpt, SD known as 0.0013)."
        )
        return
    p = numbers.compared_p(reached.p_reached)
    if reached.test == "sign":
        there = int(reached.statistic or 0)
        yield f"{there} of {count(reached.n, 'run')} are there (exact one-sided sign test of the median, p {p})."
        return
    name = "z test, SD known" if reached.test == "sd" else "t test"
    bound = f"{show_level(1 - facts.alpha)} bound of the mean {show(reached.bound, place)}"
    yield f"Mean {written}, {count(reached.n, 'run')} (one-sided {name}, p {p}; {bound})."


def _convergence(facts: Target, checked: Convergence) -> Iterator[str]:
    mean, reference, limit = (show(each, digits=8) for each in (checked.mean, checked.reference, checked.limit))
    runs = count(len(facts.values), "run")
    yield f"Olympic mean {mean} of {runs}; reference {reference}, and below {limit} is too fast."
    if checked.factor > 1 and facts.passed:
        yield f"It is faster than the reference: MLPerf scales its score by {significant(checked.factor, 4)}."
