"""The verdicts of a comparison in words: the first sentences, who leads, what looks do to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from deviate.core.shell_words import typed_word
from deviate.facts.compared_metric import MetricComparison
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.looks import PairLook
from deviate.facts.metric import MetricSpread
from deviate.observe.headline import main_metric
from deviate.observe.metrics import TIME_PER_RUN
from deviate.report.numbers import (
    Numbers,
    metric_place,
    show,
    show_effect,
    show_factor,
    show_interval,
    show_percent,
    show_ratio,
    unit_in_name,
    unit_text,
)
from deviate.report.words import count, joined, listed
from deviate.stats.contrast import EFFECTS
from deviate.stats.factorial import Place
from deviate.stats.intervals import Interval
from deviate.stats.multiplicity import CORRECTION_NAMES
from deviate.stats.spread import Spread

# What repeated looks and runs that ``--until`` ended do to a verdict, in sentences.

#: Looks whose runs are listed.
LOOKS_LISTED = 4


def look_sentences(pair: PairComparison, comparison: Comparison) -> list[str]:
    """Say which look a comparison is, what p must be below at it, and why; nothing where it is the first and only."""
    return [
        *_stopped(pair.look, comparison.alpha),
        *_look(pair.look),
        *_plan(pair, comparison),
        *_unrecorded(pair),
    ]


def limit_text(pair: PairComparison, comparison: Comparison) -> str:
    """Write what p must be below beside it, where that is not alpha."""
    if pair.alpha == comparison.alpha:
        return ""
    at = f" at look {pair.look.number}" if pair.look.number > 1 else ""
    return f", limit {pair.alpha:.2g}{at}"


def _stopped(look: PairLook, alpha: float) -> Iterator[str]:
    if look.stopped_alpha is None:
        return
    yield (
        f"`deviate run --until` ended the runs of {listed(look.stopped)} when they looked alike, which makes SDs look "
        f"small: p must be below {look.stopped_alpha:.2g} instead of {alpha:g}. False alarms are then "
        f"{show_percent(alpha)} or fewer, and up to twice as many if values are skewed."
    )


def _look(look: PairLook) -> Iterator[str]:
    if look.number < 2:
        return
    runs = runs_at_looks(look.sizes)
    if look.settled is not None:
        yield (
            f"This is look {look.number} at these experiments as they grow ({runs}). A difference was shown at look "
            f"{look.settled}, so p must be below {look.alpha:.2g} only."
        )
        return
    yield (
        f"This is look {look.number} at these experiments as they grow ({runs}): at this look p must be below "
        f"{look.alpha:.2g}, so that false alarms over all looks stay at {show_percent(look.whole)} or fewer."
    )


def runs_at_looks(sizes: Sequence[tuple[int, int]]) -> str:
    """Write the runs at each look; of many looks the first and the last ones."""
    texts = [f"{n} against {m}" for n, m in sizes]
    shown = texts if len(texts) <= LOOKS_LISTED else [texts[0], "…", *texts[-2:]]
    return f"{', '.join(shown)} runs"


def _plan(pair: PairComparison, comparison: Comparison) -> Iterator[str]:
    look = pair.look
    if look.most is None:
        return
    if look.number == 1:
        yield (
            f"Looks are planned up to {planned_runs(look)}: at this one p must be below {look.alpha:.2g}, so that "
            f"false alarms over all looks stay at {show_percent(look.whole)} or fewer."
        )
    if pair in comparison.open_pairs:
        yield f"Nothing is decided yet: make more runs of {_growing(pair)} (a larger -n), then repeat the command."
    elif look.ended:
        yield f"There are {planned_runs(look)}, as planned: this was the last look."


def planned_runs(look: PairLook) -> str:
    """Write the runs at the last look of a plan."""
    if look.most_b is None:
        return f"{count(look.most or 0, 'run')} of each"
    return f"{look.most} against {count(look.most_b, 'run')}"


def _growing(pair: PairComparison) -> str:
    """Name the sides that have fewer runs than were planned."""
    most, (n, m) = pair.look.most or 0, pair.look.sizes[-1]
    fewer = [label for label, lacks in ((pair.a, n < most), (pair.b, m < (pair.look.most_b or most))) if lacks]
    return fewer[0] if len(fewer) == 1 else "both"


def _unrecorded(pair: PairComparison) -> Iterator[str]:
    if pair.look.unrecorded:
        yield (
            f"This look could not be recorded ({pair.look.unrecorded}): the next comparison of them will not "
            "know of it."
        )


# The numbers and verdicts of one compared metric as text.


class MetricCells:
    """The numbers of one metric on two sides as text, all to the digit that the smaller SD allows."""

    def __init__(self, metric: MetricComparison, pair: PairComparison) -> None:
        contrast, a, b = metric.contrast, metric.a.spread, metric.b.spread
        place, numbers = last_digit(metric), Numbers(pair.alpha)
        self.name = metric.name if metric.name == metric.b.name else f"{metric.name} / {metric.b.name}"
        self.unit = unit_in_name(metric.unit)
        # The time of a run is one number already.
        self.aggregate = "" if metric.name == TIME_PER_RUN else metric.aggregate
        self.runs = f"{contrast.n_a}, {contrast.n_b}"
        self.a, self.b = mean_and_sd(a, place), mean_and_sd(b, place)
        self.mean_a, self.mean_b = show(a.mean, place), show(b.mean, place)
        self.difference = show(contrast.difference.value, place)
        self.ci = show_interval(contrast.difference.interval, place)
        self.p, self.spread_p = numbers.p(metric.deciding_p), numbers.p(metric.spread_p_adjusted)
        self.verdict, self.short_verdict = verdict_text(metric, pair), _short_verdict(metric, pair)
        self.ratio, self.ratio_ci = show_factor(contrast.sd_ratio.value), show_ratio(contrast.sd_ratio.interval)
        noisier = {"a noisier": f"{pair.a} noisier", "b noisier": f"{pair.b} noisier"}
        self.noisier = noisier.get(metric.noisier, metric.noisier)
        self.effects = {EFFECTS[name].label: show_effect(effect) for name, effect in contrast.effects.items()}


def last_digit(metric: MetricComparison) -> int | None:
    """Return the power of ten of the last digit worth showing."""
    return metric_place(metric.a.decimals, metric.a.spread.sd, metric.b.spread.sd)


def mean_and_sd(spread: Spread, place: int | None) -> str:
    """Write ``mean ± SD``; of one run the mean."""
    if spread.sd is None:
        return show(spread.mean)
    return f"{show(spread.mean, place)} ± {show(spread.sd, place)}"


def verdict_text(metric: MetricComparison, pair: PairComparison) -> str:
    """Write a verdict with the names of the sides."""
    if pair.draws.unshared:
        return "no verdict"
    if metric.verdict == "differs" and pair.draws.unknown:
        return f"differs; what varied in {next(iter(pair.draws.unknown))} is not known"
    if metric.verdict == "differs":
        return "differs" if metric.confounded or metric.survivors else "differs, direction unknown"
    if metric.verdict in ("a better", "b better"):
        return f"{pair.a if metric.verdict == 'a better' else pair.b} better"
    return metric.verdict


def _short_verdict(metric: MetricComparison, pair: PairComparison) -> str:
    """Write a verdict for a column of a narrow table whose heads have the letters of the sides."""
    if pair.draws.unshared:
        return "no verdict"
    short = {"a better": "A better", "b better": "B better", "no difference shown": "no diff. shown"}
    return short.get(metric.verdict, metric.verdict)


def one_draw(pair: PairComparison) -> str:
    """Say which sides are one run of their recipe; empty where none is."""
    return "; ".join(
        f"all runs of {label} used the same random numbers for {listed(factors)}"
        for label, factors in pair.draws.unshared.items()
    )


def failures_text(metric: MetricComparison, pair: PairComparison) -> str:
    """Say how many runs of each side gave no result worth a mean, and p of the test of the two rates."""
    failures = metric.failures
    p = Numbers(pair.alpha).compared_p(failures.fisher.p)
    return (
        f"{failures.failed_a} of {count(failures.runs_a, 'run')} of {pair.a} and {failures.failed_b} of "
        f"{failures.runs_b} of {pair.b} failed, gave no value or collapsed (Fisher's exact test: p {p})"
    )


def adjusted_text(comparison: Comparison, *, times: bool = True) -> str:
    """Say in how many tests the p-values of a table were adjusted; empty where none was.

    `times`: the table shows times that Deviate measures.

    Examples
    --------
    ``p adjusted (Holm): 3 tests of test acc, 9 tests of the other metrics and 6 tests of measured times``
    """
    most = max(comparison.family, comparison.explored_family, comparison.times_family if times else 0)
    if comparison.correction == "none" or most < 2:
        return ""
    return f"p adjusted ({CORRECTION_NAMES[comparison.correction]}): {families_text(comparison, times=times)}"


def families_text(comparison: Comparison, *, times: bool = True) -> str:
    """Say which tests of means are adjusted together, by what they are of; without `times` not of measured times."""
    families = {
        listed(comparison.claimed): comparison.family,
        "the other metrics": comparison.explored_family,
        "measured times": comparison.times_family if times else 0,
    }
    return listed([f"{count(size, 'test')} of {what}" for what, size in families.items() if size])


def comparison_headline(comparison: Comparison, *, brief: bool = False) -> list[str]:
    """Say in a sentence or two per pair how its sides compare; of several pairs each sentence names its own.

    The `brief` ones leave the means to the table.
    """
    several = len(comparison.pairs) > 1
    return [sentence for pair in comparison.pairs for sentence in _pair(pair, comparison, several=several, brief=brief)]


def no_claim(comparison: Comparison) -> str:
    """Say that no metric stands before the others, so that nothing is claimed; empty where something is."""
    if comparison.claimed:
        return ""
    metrics = [metric for metric in comparison.pairs[0].metrics if metric.kind != "speed"]
    return (
        f"Nothing is claimed: no metric stands before the others ({listed([each.name for each in metrics])}), and none "
        f"was named. --metric {typed_word(metrics[0].name)} claims one."
    )


def _pair(pair: PairComparison, comparison: Comparison, *, several: bool, brief: bool) -> list[str]:
    main = main_metric(pair.metrics)
    than = {pair.a: f" than {pair.b}", pair.b: f" than {pair.a}"} if several else {pair.a: "", pair.b: ""}
    claimed = [metric for metric in pair.metrics if metric.name in comparison.claimed and metric is not main]
    explored = [metric for metric in pair.metrics if metric.name not in comparison.claimed]
    claims = _which(pair, than, "better", claimed)
    beside = [*_fails_more(pair, main, comparison), *_which(pair, than, "better", explored)]
    beside += _which(pair, than, "noisier", [metric for metric in pair.metrics if metric.kind != "speed"])
    return [
        no_claim(comparison) or _main(pair, main, comparison, brief=brief),
        *([f"{'; '.join(claims)}."] if claims else []),
        *([f"Exploratory: {'; '.join(beside)}."] if beside else []),
    ]


def verdict_headline(comparison: Comparison) -> str:
    """Say in one sentence which of several experiments are better in the main metric, without numbers."""
    if nothing := no_claim(comparison):
        return nothing
    verdicts = [pair_verdict(pair, main_metric(pair.metrics)) for pair in comparison.pairs]
    main = main_metric(comparison.pairs[0].metrics)
    return f"{main.name} ({main.aggregate}): {'; '.join(verdicts)}."


def pair_verdict(pair: PairComparison, metric: MetricComparison) -> str:
    """Write the verdict on two of several experiments with both names."""
    better = {"a better": f"{pair.a} is better than {pair.b}", "b better": f"{pair.b} is better than {pair.a}"}
    word = verdict_text(metric, pair)
    if pair.draws.unshared or metric.verdict not in better:
        return f"{word} between {pair.a} and {pair.b}" if word.startswith("no ") else f"{pair.a} and {pair.b}: {word}"
    return better[metric.verdict]


def _which(
    pair: PairComparison,
    than: Mapping[str, str],
    word: Literal["better", "noisier"],
    metrics: Sequence[MetricComparison],
) -> list[str]:
    """Say of each side in which of the metrics it is better, or noisier."""
    verdicts = {metric.name: metric.verdict if word == "better" else metric.noisier for metric in metrics}
    return [
        f"{label} is {word}{than[label]} in {listed(names)}"
        for letter, label in (("a", pair.a), ("b", pair.b))
        if (names := [name for name, verdict in verdicts.items() if verdict == f"{letter} {word}"])
    ]


def _fails_more(pair: PairComparison, metric: MetricComparison, comparison: Comparison) -> list[str]:
    """Say which side fails more often, where that is shown."""
    failures = metric.failures
    if failures.fisher.p is None or failures.fisher.p > pair.alpha:
        return []
    more_in_a = failures.failed_a * failures.runs_b > failures.failed_b * failures.runs_a
    return [f"{pair.a if more_in_a else pair.b} fails more often: {failures_text(metric, pair)}"]


def _main(pair: PairComparison, metric: MetricComparison, comparison: Comparison, *, brief: bool) -> str:
    a, b = metric.a.spread, metric.b.spread
    place, unit = last_digit(metric), unit_text(metric.unit)
    means = f"{_mean(a, place)} in {pair.a}, {_mean(b, place)}{unit} in {pair.b}"
    tested = metric.verdict != "too few runs" and metric.p_adjusted is not None
    p = Numbers(pair.alpha).equal_p(metric.deciding_p, comparison.correction, metric.family)
    p += f" as claim {metric.claim} of these runs" if metric.claim > 1 else ""
    basis = f"{a.n} and {count(b.n, 'run')}{f'; {p}{limit_text(pair, comparison)}' if tested else ''}"
    verdict, far = _verdict(pair, metric), _far(pair, metric, place)
    sentences = [f"{verdict} ({basis})", *far] if brief else [verdict, *far, f"{means} (mean ± SD, {basis})"]
    return f"{metric.name} ({metric.aggregate}): {'. '.join(sentences)}."


def _far(pair: PairComparison, metric: MetricComparison, place: int | None) -> list[str]:
    """Say before any mean which runs lie far from the others of their side; nothing where none does."""
    return [
        f"{count(len(side.far), 'run')} of {label} {'lies' if len(side.far) == 1 else 'lie'} far from the others: mean "
        f"and SD describe no typical run; the median is {show(side.spread.median, place)}"
        for label, side in ((pair.a, metric.a), (pair.b, metric.b))
        if side.far
    ]


def _mean(spread: Spread, place: int | None) -> str:
    return f"{show(spread.mean, place)} ± {show(spread.sd, place)}"


def _verdict(pair: PairComparison, metric: MetricComparison) -> str:
    a, b = pair.a, pair.b
    if pair.draws.unshared:
        return f"no verdict: {one_draw(pair)}"
    if metric.verdict == "too few runs":
        return f"too few runs to compare {a} and {b}"
    if metric.verdict == "not compared" and metric.a.spread.identical and metric.b.spread.identical:
        return f"all runs of {a} gave one value and all runs of {b} another: that is no noise, and nothing to test"
    left = " among the runs that gave a value" if metric.a.lost or metric.b.lost else ""
    sentences = {
        "a better": f"{a} is better than {b}{left}",
        "b better": f"{b} is better than {a}{left}",
        "equivalent": f"{a} and {b} are equivalent within the margin",
    }
    usual = verdict_text(metric, pair).replace("differs", f"{a} and {b} differ")
    if metric.survivors:
        usual += left
    same = f", with the same {listed(pair.draws.shared)} in all runs" if pair.draws.shared else ""
    return f"{sentences.get(metric.verdict, usual)}{same}"


# The experiment that leads among three or more, and how the others stand beside it.

_BETTER = ("a better", "b better")

#: Experiments beside the first that a sentence names one by one.
NAMED_BESIDE = 3


class Beside(NamedTuple):
    """One experiment beside the one that leads."""

    label: str
    metric: MetricComparison
    pair: PairComparison

    @property
    def is_a(self) -> bool:
        """Whether the experiment is the first of the pair."""
        return self.pair.a == self.label

    @property
    def difference(self) -> float | None:
        """Its mean less that of the one that leads."""
        value = self.metric.contrast.difference.value
        return value if self.is_a or value is None else -value

    @property
    def interval(self) -> Interval:
        """The interval of that difference."""
        interval = self.metric.contrast.difference.interval
        if self.is_a or interval.low is None or interval.high is None:
            return interval
        return msgspec.structs.replace(interval, low=-interval.high, high=-interval.low)


def places(comparison: Comparison) -> dict[str, Place]:
    """Return the places in the main metric, the best mean first; empty where none is ranked."""
    name = main_metric(comparison.pairs[0].metrics).name
    ranked = next((each.places for each in comparison.omnibus if each.name == name), [])
    return {place.name: place for place in ranked}


def main_sides(comparison: Comparison) -> dict[str, MetricSpread]:
    """Return the main metric of each experiment: in the order of their places, else as they were named."""
    sides: dict[str, MetricSpread] = {}
    for pair in comparison.pairs:
        metric = main_metric(pair.metrics)
        sides |= {pair.a: metric.a, pair.b: metric.b}
    return {label: sides[label] for label in places(comparison) or comparison.labels}


def sides_beside(comparison: Comparison) -> list[Beside]:
    """Return the other experiments beside the first of them."""
    first, *others = main_sides(comparison)
    pairs = {frozenset((pair.a, pair.b)): pair for pair in comparison.pairs}
    beside = [(label, pairs[frozenset((first, label))]) for label in others]
    return [Beside(label, main_metric(pair.metrics), pair) for label, pair in beside]


def row_verdict(beside: Beside) -> str:
    """Write the verdict on one experiment beside the one that leads."""
    word = _word(beside.pair)
    if word != "better":
        return "no diff. shown" if word == "no difference shown" else word
    return "better" if beside.metric.verdict == ("a better" if beside.is_a else "b better") else "worse"


def _word(pair: PairComparison) -> str:
    metric = main_metric(pair.metrics)
    return "better" if metric.verdict in _BETTER and not pair.draws.unshared else verdict_text(metric, pair)


def leading_headline(comparison: Comparison) -> str:
    """Say of the main metric how the experiment that leads compares with the others, and of the rest how many differ.

    Examples
    --------
    ``test acc (last): wide is better than all 3 others; among the others, one is better in 2 of 3 pairs.``
    ``test acc (last): wide is better than 2 of 5 others; no difference shown between it and 3.``
    """
    if nothing := no_claim(comparison):
        return nothing
    main = main_metric(comparison.pairs[0].metrics)
    words = {_word(pair) for pair in comparison.pairs}
    if len(words) == 1 and "better" not in words:
        return f"{main.name} ({main.aggregate}): {words.pop()}, in all {len(comparison.pairs)} pairs."
    first, beside = next(iter(main_sides(comparison))), sides_beside(comparison)
    if len(beside) > NAMED_BESIDE:
        parts = [*_counted_beside(first, beside), *_better_elsewhere(comparison, first)]
        return f"{main.name} ({main.aggregate}): {'; '.join(parts)}."
    parts = [part for word in ("worse", "better") if (part := _better(first, beside, word))]
    parts += [
        f"{word} between {first} and {_any_of(labels, beside)}"
        for word in dict.fromkeys(_word(each.pair) for each in beside if _word(each.pair) != "better")
        if (labels := [each.label for each in beside if _word(each.pair) == word])
    ]
    return f"{main.name} ({main.aggregate}): {'; '.join([*parts, *_rest(comparison, first)])}."


def _counted_beside(first: str, beside: Sequence[Beside]) -> list[str]:
    """Count the experiments with each verdict beside the first; the table names them."""
    verdicts = [row_verdict(each) for each in beside]
    better, worse, all_of_them = verdicts.count("better"), verdicts.count("worse"), len(beside)
    parts = [f"{better} of {all_of_them} others {'is' if better == 1 else 'are'} better than {first}"] if better else []
    if worse:
        than = f"all {all_of_them} others" if worse == all_of_them else f"{worse} of {all_of_them} others"
        parts.append(f"{'it' if parts else first} is better than {than}")
    words = [word for each in beside if (word := _word(each.pair)) != "better"]
    for word in dict.fromkeys(words):
        others = words.count(word)
        parts.append(f"{word} between it and {others}" if parts else f"{word} between {first} and {others} others")
    return parts


def _better_elsewhere(comparison: Comparison, first: str) -> list[str]:
    """Count the pairs without the first experiment in which one is better."""
    words = [_word(pair) for pair in comparison.pairs if first not in (pair.a, pair.b)]
    better = words.count("better")
    return [f"among the others, one is better in {better} of {len(words)} pairs"] if better else []


def _better(first: str, beside: Sequence[Beside], word: str) -> str:
    labels = [each.label for each in beside if row_verdict(each) == word]
    if not labels:
        return ""
    if word == "better":
        return f"{joined(labels)} {'is' if len(labels) == 1 else 'are'} better than {first}"
    return f"{first} is better than {_others(labels, beside)}"


def _others(labels: Sequence[str], beside: Sequence[Beside]) -> str:
    """Name the experiments, but not one by one where they are many and all that are beside the first."""
    return f"all {len(labels)} others" if len(labels) == len(beside) > 2 else listed(labels)


def _any_of(labels: Sequence[str], beside: Sequence[Beside]) -> str:
    """Name the experiments that one is set beside, each alone."""
    return f"either {labels[0]} or {labels[1]}" if len(labels) == 2 else _others(labels, beside)


def _rest(comparison: Comparison, first: str) -> list[str]:
    """Say the verdict on the one pair without the experiment that leads, and count those on several."""
    pairs = [pair for pair in comparison.pairs if first not in (pair.a, pair.b)]
    if len(pairs) == 1:
        return [pair_verdict(pairs[0], main_metric(pairs[0].metrics))]
    words = [_word(pair) for pair in pairs]
    ordered = sorted(dict.fromkeys(words), key=lambda word: word != "better")
    counts = ["one is better" if word == "better" else word for word in ordered]
    parts = [f"{text} in {words.count(word)}" for text, word in zip(counts, ordered, strict=True)]
    return [f"among the others, {joined(parts)} of {len(words)} pairs"]
