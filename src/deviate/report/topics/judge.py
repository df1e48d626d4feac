"""The pages of a baseline and of a change that was judged: keep, discard or run more, and by what."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.facts.judging import Judged, JudgedMetric, Loop, mean_sd
from deviate.report.numbers import mean_and_sd, metric_place, show, show_percent, significant, unit_text
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Badge,
    Block,
    Emphasis,
    Facts,
    Hint,
    Page,
    Reader,
    Section,
    Sentences,
)
from deviate.report.words import count
from deviate.stats.judging import Decision, Rule

#: The metric where its name was not typed.
UNNAMED = "value"


def judged_page(facts: Judged, reader: Reader) -> Page:
    """Make the page of a change that was judged."""
    blocks: list[Block] = [
        Answer(
            sentences=list(judged_answer(facts)),
            badge=Badge(text=facts.decision, emphasis=_EMPHASIS[facts.decision]) if reader == "full" else None,
        ),
        Facts(pairs=list(_sides(facts))),
        Sentences(sentences=list(promise(facts))),
    ]
    if (hint := _next(facts)) is not None:
        blocks.append(hint)
    return _page("change", "judged against the baseline", blocks, reader)


_EMPHASIS: dict[Decision, Emphasis] = {"keep": "good", "discard": "bad", "run more": "warning"}


def baseline_page(loop: Loop, reader: Reader) -> Page:
    """Make the page of a baseline."""
    blocks: list[Block] = [
        Answer(sentences=list(baseline_answer(loop))),
        Hint(text="judge a change:", command=_judge_command(bool(loop.side))),
    ]
    return _page("baseline", "the floor that changes are judged against", blocks, reader)


def _page(title: str, subtitle: str, blocks: list[Block], reader: Reader) -> Page:
    is_titled = reader not in AT_TERMINAL
    return Page(
        title=title if is_titled else "",
        subtitle=subtitle if is_titled else "",
        command="deviate judge",
        reader=reader,
        sections=[Section(slug="judge", blocks=blocks)],
    )


def baseline_answer(loop: Loop) -> Iterator[str]:
    """Say what the floor is, and what it takes to keep a change."""
    metric, rule = loop.metric, loop.rule
    written = _spread_text(metric, *mean_sd(loop.values))
    yield f"Baseline: {metric.name or UNNAMED} {written} ({count(rule.floor, 'run')}, {metric.direction} is better)."
    if rule.fewest is None:
        yield f"{_too_few(rule)} Make more runs of the baseline."
        return
    yield f"A change is kept after {count(rule.fewest, 'run')} at the earliest, and has {rule.most} at the most."
    if loop.spread is not None:
        yield _spread_rule(loop.spread)
    yield f"{rule.tries} changes can be judged; {_rate(sum(each.alpha for each in loop.rules))}."


def _spread_rule(rule: Rule) -> str:
    if rule.fewest is None:
        return f"With {count(rule.floor, 'baseline run')} none is kept because its runs differ less."
    return f"One whose runs differ less is kept after {count(rule.fewest, 'run')} at the earliest."


def _spread_text(metric: JudgedMetric, mean: float | None, sd: float | None) -> str:
    return mean_and_sd(mean, sd, metric_place(metric.decimals, sd)) + unit_text(metric.unit)


def _too_few(rule: Rule) -> str:
    return (
        f"With {count(rule.floor, 'baseline run')} nothing can be kept within {count(rule.most, 'run')} of a change "
        f"over {rule.tries} tries."
    )


def _rate(alpha: float) -> str:
    return f"the chance to keep any that has no effect is at most {show_percent(alpha)}"


def judged_answer(facts: Judged) -> Iterator[str]:
    """Say what to do, and why."""
    if facts.reason == "same":
        yield "Discard: source, command and settings are those of the baseline."
        return
    if facts.reason == "spent":
        yield f"Run more: {facts.tries} changes were judged against this floor. Measure a new one."
        return
    if facts.reason == "floor":
        yield (
            f"Run more: with {count(len(facts.floor), 'baseline run')} no change can be kept; "
            f"make {count(facts.floor_more, 'further run')} of the baseline."
        )
        return
    yield f"{_DECIDED[facts.decision]}: {_counted(facts)} ({_p(facts)})."
    if facts.decision == "run more":
        yield f"It needs {facts.fewest_more} more at least and {facts.most_more} at most."
    elif facts.decision == "discard":
        yield _discarded(facts)


_DECIDED: dict[Decision, str] = {"keep": "Keep", "discard": "Discard", "run more": "Run more"}


def _counted(facts: Judged) -> str:
    runs, one = f"{count(facts.runs, 'run')} of the change", facts.runs == 1
    if facts.counted == "spread":
        lie = f"{'lies' if one else 'lie'} between two of the baseline's"
        return f"{runs} {lie} in {facts.beaten} of {facts.pairs} cases, a third without effect"
    return f"{runs} {'beats' if one else 'beat'} the baseline's in {facts.beaten} of {facts.pairs} pairs"


def _p(facts: Judged) -> str:
    return f"p = {significant(facts.p, 2)}; kept at {significant(facts.level, 2)} or less"


def _discarded(facts: Judged) -> str:
    if len(facts.values) and facts.values[: facts.runs].count(None) == facts.runs:
        return f"{'Its run' if facts.runs == 1 else 'All its runs'} failed or gave no value."
    shown = "it is better" if facts.counted == "value" else "its runs differ less"
    return f"Further runs are unlikely to show that {shown}."


def _sides(facts: Judged) -> Iterator[tuple[str, str]]:
    metric = facts.metric
    place = metric_place(metric.decimals, facts.sd_floor)
    floor = _spread_text(metric, facts.mean_floor, facts.sd_floor)
    lost = facts.floor.count(None)
    yield f"baseline{_called(facts.baseline)}", f"{metric.name or UNNAMED} {floor} ({_runs_text(facts, lost)})"
    if facts.values:
        values = ", ".join("failed" if value is None else show(value, place) for value in facts.values[:SHOWN])
        more = ", …" if len(facts.values) > SHOWN else ""
        yield f"change{_called(facts.change)}", f"{values}{more}"


#: Values of a change that a screen shows.
SHOWN = 8


def _called(side: str) -> str:
    return f" {side.rpartition(':')[0]}" if side else ""


def _runs_text(facts: Judged, lost: int) -> str:
    failed = f", {lost} failed" if lost else ""
    return f"{count(len(facts.floor), 'run')}{failed}; {facts.metric.direction} is better"


def promise(facts: Judged) -> Iterator[str]:
    """Say which try it is, and what the rule holds."""
    if facts.reason == "same":
        yield f"It does not count as a try; {facts.attempt} of {facts.tries} are used."
        return
    floors = f" (floor {facts.floors} of this project)" if facts.floors > 1 else ""
    yield f"Try {facts.attempt} of {facts.tries} against this floor{floors}: {_rate(facts.alpha)}."


def _next(facts: Judged) -> Hint | None:
    if facts.decision == "keep":
        return Hint(text="it is the baseline now; the next change:", command=_judge_command(bool(facts.change)))
    if facts.reason in ("floor", "spent"):
        runs = len(facts.floor) + facts.floor_more
        return Hint(text="on the baseline's source:", command=f"deviate baseline -n {runs} -- COMMAND")
    if facts.decision == "run more" and not facts.change:
        typed = " ".join(f"--value {value!r}" for value in facts.values)
        return Hint(text="with one more run:", command=f"deviate judge {typed} --value …")
    return None


def _judge_command(trains: bool) -> str:
    return "deviate judge -- COMMAND" if trains else "deviate judge --value …"
