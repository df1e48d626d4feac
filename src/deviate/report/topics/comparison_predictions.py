"""The predictions of a comparison: how many answers change from one side to the other, and on which groups."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.facts.compared_predictions import ChangedGroup, ChangedPredictions
from deviate.facts.comparison import Comparison, PairComparison
from deviate.report.figures import slug
from deviate.report.numbers import Numbers, last_place, points, show, show_interval, show_share, show_shares
from deviate.report.page import Block, Cell, Row, Section, Sentences, Table
from deviate.report.topics.metrics import columns, number, share_cell
from deviate.report.words import capital, count, listed
from deviate.stats.contrast import WELCH_AND_PERMUTATION
from deviate.stats.factorial import Crossed
from deviate.stats.intervals import Interval
from deviate.stats.multiplicity import CORRECTION_NAMES
from deviate.stats.results import Tested

# How many answers change from one side to another, in sentences.


def changed_sentences(facts: ChangedPredictions, a: str, b: str) -> list[str]:
    """Say how many answers of B the runs of A change, beside what training B again changes."""
    if facts.churn is None:
        return [f"Predictions are not compared: {facts.withheld}."]
    measured = facts.churn
    share = show_share(measured.between.value)
    interval = f" {show_shares(measured.between.interval)}" if measured.between.interval.known else ""
    examples = f"of the {facts.examples} examples differently"
    sentences = [f"{a} and {b} label {share} {examples}{interval}."]
    if measured.paired is not None:
        same = f"Runs with the same random numbers label {show_share(measured.paired)} {examples}"
        sentences = [f"{same}, other runs of {a} and {b} {share}{interval}."]
    within = [
        f"two runs of {label} differ on {show_share(estimate.value)}"
        for label, estimate in ((b, measured.within_b), (a, measured.within_a))
        if estimate.value is not None
    ]
    if within:
        text = ", ".join(within)
        sentences.append(f"{capital(text)}.")
    excess = measured.excess
    if excess.value is not None and excess.interval.low is not None and excess.interval.high is not None:
        sentences.append(
            f"The share between {a} and {b} is {points(excess.value)} above that of retraining alone (mean of both)."
            if excess.interval.low > 0
            else f"These runs do not show that the share between {a} and {b} is above that of retraining alone."
        )
    if facts.groups:
        most = max(facts.groups, key=lambda group: group.between.value or 0.0)
        share, examples = show_share(most.between.value), count(most.examples, "example")
        sentences.append(f"Most labels change in group {most.label}: {share} of its {examples}.")
    return sentences


def screen_changed(pair: PairComparison) -> list[str]:
    """Say in one sentence on how many answers the sides disagree, beside two runs of one recipe."""
    facts = pair.predictions
    if facts is None:
        return []
    on_groups = group_sentences(facts.groups, pair.a, pair.b, one_draw=bool(pair.draws.unshared))
    if facts.churn is None:
        return [*changed_sentences(facts, pair.a, pair.b), *on_groups]
    between, within = facts.churn.between, [facts.churn.within_a.value, facts.churn.within_b.value]
    known = [share for share in within if share is not None]
    beside = f", two runs of one recipe on {show_share(sum(known) / len(known))}" if known else ""
    low = facts.churn.excess.interval.low
    beside += "; that it is more is not shown" if beside and low is not None and low <= 0 else ""
    ends = f" {show_shares(between.interval)}" if between.interval.known else ""
    share = f"{show_share(between.value)}{ends} of {count(facts.examples, 'example')}"
    return [f"Churn: they disagree on {share}{beside}.", *on_groups]


def group_sentences(groups: Sequence[ChangedGroup], a: str, b: str, *, one_draw: bool) -> list[str]:
    """Say on which groups the accuracy of one side is shown to be higher; nothing where no verdict is possible."""
    if not groups or one_draw:
        return []
    if all(group.verdict == "too few runs" for group in groups):
        return ["So few runs give no verdict on groups."]
    higher = {
        side: [group.label for group in groups if group.verdict == verdict]
        for side, verdict in ((a, "a better"), (b, "b better"))
    }
    if not any(higher.values()):
        return [f"On none of {count(len(groups), 'group')} another accuracy is shown."]
    return [
        f"The accuracy of {side} is higher on {listed(labels)} ({len(labels)} of {count(len(groups), 'group')}; "
        "exploratory)."
        for side, labels in higher.items()
        if labels
    ]


def group_note(family: int, correction: str, tests: set[str]) -> str:
    """Say what the p-values of groups are of."""
    what = "p: of the difference of the accuracies"
    if WELCH_AND_PERMUTATION.test in tests:
        where = ", where accuracies are of two kinds," if len(tests) > 1 else ""
        what += f" by Welch's t test and{where} by permuting the runs, the greater one of both"
    if correction == "none" or family < 2:
        return f"{what}."
    return f"{what}, adjusted over {family} tests of groups ({CORRECTION_NAMES[correction]})."


# Predictions that change between the experiments that are compared.


def brief_predictions(comparison: Comparison) -> Section | None:
    """Say how many predictions change, without a title."""
    section = predictions(comparison)
    return section and msgspec.structs.replace(section, title="")


def predictions(comparison: Comparison) -> Section | None:
    """Say for each pair how many predictions change, by groups where there are any."""
    blocks: list[Block] = []
    for pair in comparison.pairs:
        if pair.predictions is None:
            continue
        about = f"{pair.a} against {pair.b}" if len(comparison.pairs) > 1 else ""
        sentences = [*changed_sentences(pair.predictions, pair.a, pair.b), *of_examples(pair), *_on_groups(pair)]
        blocks.append(Sentences(about=about, sentences=sentences))
        if pair.predictions.groups:
            blocks.append(_group_table(pair, pair.predictions.groups, comparison.correction))
    return Section(slug="predictions", title="Predictions that change", blocks=blocks) if blocks else None


def of_examples(pair: PairComparison) -> list[str]:
    """Say what the difference is for other runs on other examples."""
    assert pair.predictions is not None
    one_draw = bool(pair.draws.unshared)
    return example_sentences(pair.predictions, pair.a, pair.b, alpha=pair.alpha, one_draw=one_draw)


def _on_groups(pair: PairComparison) -> list[str]:
    assert pair.predictions is not None
    return group_sentences(pair.predictions.groups, pair.a, pair.b, one_draw=bool(pair.draws.unshared))


def _group_table(pair: PairComparison, groups: Sequence[ChangedGroup], correction: str) -> Table:
    heads = "group", "examples", f"accuracy of {pair.a}", f"accuracy of {pair.b}", "changed", "beyond", "p"
    return Table(
        caption="Predictions that change, by group of examples",
        slug=slug("groups", pair.a, pair.b),
        columns=columns(*heads, last="verdict"),
        rows=[
            Row(
                cells=[
                    Cell(each.label),
                    number(str(each.examples), each.examples),
                    *(share_cell(share) for share in (each.accuracy_a, each.accuracy_b)),
                    *(share_cell(estimate.value) for estimate in (each.between, each.excess)),
                    number(Numbers(pair.alpha).p(each.p_adjusted), each.p_adjusted),
                    Cell(_verdict(each, pair)),
                ]
            )
            for each in groups
        ],
        notes=[
            "changed: from a run of the one to a run of the other; beyond: more than retraining changes.",
            group_note(groups[0].family, correction, {each.test for each in groups if each.p is not None}),
        ],
    )


def _verdict(group: ChangedGroup, pair: PairComparison) -> str:
    if pair.draws.unshared:
        return "no verdict"
    better = {"a better": f"{pair.a} better", "b better": f"{pair.b} better"}
    return better.get(str(group.verdict), str(group.verdict))


# The difference for other runs on other examples.


def example_sentences(facts: ChangedPredictions, a: str, b: str, *, alpha: float, one_draw: bool) -> list[str]:
    """Say what the difference is where the test set is a sample as the runs are; nothing where runs repeat one draw."""
    if facts.mcnemar is not None:
        return _single(facts.mcnemar, a, b, Numbers(alpha))
    if facts.crossed is None or facts.crossed.se is None or one_draw:
        return []
    return _crossed(facts.crossed, facts.score, a, b)


def _crossed(crossed: Crossed, score: str, a: str, b: str) -> list[str]:
    scale, unit = (100.0, " points") if score == "accuracy" else (1.0, "")
    effect = crossed.difference.negated
    errors = [scale * each for each in (crossed.se or 0.0, crossed.se_runs or 0.0, crossed.se_examples or 0.0)]
    place = last_place(errors[0] or None)
    value = (
        f"{show(scale * (effect.value or 0.0), place)}{unit} {show_interval(_scaled(effect.interval, scale), place)}"
    )
    within = f" in {count(crossed.clusters, 'cluster')}" if crossed.clusters is not None else ""
    runs, examples = (f"{show(each, place)}{unit}" for each in errors[1:])
    return [
        f"For other runs on other test examples, {b} minus {a} in {score}: {value}.",
        f"Its standard error is {runs} from the runs alone and {examples} from the "
        f"{count(crossed.examples, 'example')}{within} alone.",
    ]


def _scaled(interval: Interval, scale: float) -> Interval:
    low, high = interval.low or 0.0, interval.high or 0.0
    return Interval(low=scale * low, high=scale * high, level=interval.level, method=interval.method)


def _single(tested: Tested, a: str, b: str, numbers: Numbers) -> list[str]:
    p = f"p {numbers.compared_p(tested.p)} ({tested.method})" if tested.p is not None else f"no p: {tested.reason}"
    return [
        f"McNemar's test of these two models, one run of {a} and one of {b}: {p}.",
        "It says nothing about the recipes: other runs of them are other models.",
    ]
