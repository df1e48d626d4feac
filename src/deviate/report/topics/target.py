"""The page of a target: whether it is reached, and by which rule."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.core.shell_words import typed_word
from deviate.facts.target import Target
from deviate.report.numbers import Numbers, mean_and_sd, metric_place, show, show_level, significant, unit_text
from deviate.report.page import AT_TERMINAL, Answer, Badge, Block, Page, Reader, Section, Sentences
from deviate.report.words import count
from deviate.stats.targets import NANOGPT_MARGIN, Convergence, Reached

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
