"""Why a verdict is what it is, and how it was reached, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from deviate.core.shell_words import typed_word
from deviate.facts.comparable import Comparability
from deviate.facts.compared_metric import RUNS_FOR_SPREAD, UNEQUAL_SDS, MetricComparison, MetricOmnibus, Sensitivity
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.experiment import ExperimentFacts
from deviate.report.numbers import (
    Numbers,
    difference_text,
    difference_unit,
    last_place,
    show,
    show_factor,
    show_interval,
    show_level,
    show_percent,
    show_ratio,
)
from deviate.report.topics.checklist import COMPUTED, ERROR_BARS, NUMBER, Answer, checklist
from deviate.report.topics.comparison_caveats import pairing_sentences, unalternated_text
from deviate.report.topics.reproduce import run_methods
from deviate.report.topics.verdicts import (
    failures_text,
    families_text,
    last_digit,
    look_sentences,
    one_draw,
    planned_runs,
)
from deviate.report.words import capital, count, drawn_factors, listed
from deviate.stats.effects import MEANINGFUL
from deviate.stats.multiplicity import CORRECTION_NAMES, claim_factor
from deviate.stats.power import DEFAULT_ALPHA


def reasons(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> list[str]:
    """Say why the verdict on the means is what it is."""
    if pair.draws.unshared:
        return [f"No verdict: {one_draw(pair)}, so they count as one run of the recipe."]
    if metric.verdict == "not compared" and metric.p_adjusted is not None:
        return ["One of the two looks like a fraction and the other like percent."]
    if metric.verdict in ("too few runs", "not compared"):
        return [*_too_few(metric, pair), *look_sentences(pair, comparison)]
    if metric.p_adjusted is None:
        if metric.a.spread.identical and metric.b.spread.identical:
            return ["All runs compared gave exactly the same value."]
        return ["The two runs of each pair gave exactly the same value."]
    return [
        _tested(metric, pair, comparison),
        *look_sentences(pair, comparison),
        *_later_claim(metric),
        _difference(metric, pair),
        *superiority_sentence(metric, pair),
        *_extremes(metric, pair),
        *_equivalence(metric, pair),
        *_undirected(metric, pair),
        *_near_limit(metric),
        *_not_shown(metric, pair),
        *_doubts(metric, pair),
        *_failures(metric, pair, comparison),
    ]


def short_reasons(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> list[str]:
    """Say what the answer and the numbers beside it do not: looks, what keeps a side from being called better."""
    if pair.draws.unshared:
        return [f"Such runs count as one run of the recipe. Make both with: {pair.draws.remedy}"]
    if metric.p_adjusted is None or metric.verdict in ("too few runs", "not compared"):
        return []
    return [
        *look_sentences(pair, comparison),
        *_later_claim(metric),
        *unalternated(metric),
        *_undirected(metric, pair),
        *_survivors(metric, pair),
    ]


def further_reasons(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> list[str]:
    """Say what the verdict rests on beside the tests: looks, single runs, margins, doubts, runs that were lost."""
    if pair.draws.unshared or metric.p_adjusted is None or metric.verdict in ("too few runs", "not compared"):
        return reasons(metric, pair, comparison)
    return [
        *look_sentences(pair, comparison),
        *_later_claim(metric),
        *_extremes(metric, pair),
        *_equivalence(metric, pair),
        *_undirected(metric, pair),
        *_near_limit(metric),
        *_not_shown(metric, pair),
        *([] if metric.contrast.paired else _doubts(metric, pair)),
        *_failures(metric, pair, comparison),
    ]


def spread_reasons(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> list[str]:
    """Say why the verdict on the spread is what it is."""
    contrast = metric.contrast
    test, ratio = contrast.tests[contrast.spread.test], contrast.sd_ratio.inverted
    if metric.noisier == "too few runs":
        runs = f"{contrast.n_a} against {contrast.n_b} runs: a verdict needs {metric.fewest_runs} of each."
        return [f"{capital(test.reason)}." if test.reason else runs]
    p = _p(test.p, metric.spread_p_adjusted, metric.spread_family, metric, pair, comparison)
    sentences = [f"{contrast.spread.label}: {p}."]
    if ratio.value is not None:
        ends = f" ({_level(pair)} CI {show_ratio(ratio.interval)})" if ratio.interval.known else ""
        sentences.append(f"The SD of {pair.b} is {show_factor(ratio.value)} times that of {pair.a}{ends}.")
    few = min(contrast.n_a, contrast.n_b) < RUNS_FOR_SPREAD and comparison.alpha <= DEFAULT_ALPHA
    if metric.noisier == "no difference shown" and few and not contrast.paired:
        sentences.append(
            f"With fewer than {RUNS_FOR_SPREAD} runs of each, even a doubled SD is missed more often than not."
        )
    return sentences


def _level(pair: PairComparison) -> str:
    return Numbers(pair.alpha).level()


def _p(
    p: float | None,
    adjusted: float | None,
    family: int,
    metric: MetricComparison,
    pair: PairComparison,
    comparison: Comparison,
) -> str:
    numbers = Numbers(pair.alpha)
    over = f"{CORRECTION_NAMES[comparison.correction]} over {family} tests" if family > 1 else ""
    later = f"times {claim_factor(metric.claim)} as claim {metric.claim}" if metric.claim > 1 else ""
    text = f"p {numbers.compared_p(p)}"
    if comparison.correction == "none" or not (over or later):
        return text
    return f"{text}, {numbers.p(adjusted)} after {' and '.join(part for part in (over, later) if part)}"


def _tested(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> str:
    chosen = metric.contrast.location
    p = _p(metric.contrast.p, metric.p_adjusted, metric.family, metric, pair, comparison)
    return f"{capital(chosen.label)}: {p}; {chosen.reason}."


def _later_claim(metric: MetricComparison) -> Iterator[str]:
    if metric.claim > 1:
        yield (
            f"{count(metric.claim - 1, 'earlier comparison')} of these runs claimed something else, so p is multiplied "
            f"by {claim_factor(metric.claim)}."
        )


def _difference(metric: MetricComparison, pair: PairComparison) -> str:
    effect, place = metric.contrast.difference, last_digit(metric)
    assert effect.value is not None
    if effect.value == 0:
        return "The means are equal."
    higher, lower = (pair.a, pair.b) if effect.value > 0 else (pair.b, pair.a)
    interval = effect.interval
    if effect.value < 0 and interval.low is not None and interval.high is not None:
        interval = msgspec.structs.replace(interval, low=-interval.high, high=-interval.low)
    ci = f" ({_level(pair)} CI {show_interval(interval, place)})" if interval.known else ""
    unit = difference_unit(metric.unit)
    text = f"The mean of {higher} is {show(abs(effect.value), place)}{unit} higher than that of {lower}{ci}"
    return f"{text}."


def _extremes(metric: MetricComparison, pair: PairComparison) -> Iterator[str]:
    """Set the worst run of the side with the better mean beside the best one of the other."""
    difference = metric.contrast.difference.value
    if not metric.differs or metric.direction is None or not difference:
        return
    # As if lower values were better, so that one order serves both.
    sign = -1 if metric.direction == "higher" else 1
    sides = [(pair.a, metric.a), (pair.b, metric.b)]
    (better, first), (other, second) = sides if sign * difference < 0 else sides[::-1]
    place = last_digit(metric)
    worst, best = (sign * end(sign * value for value in of.values) for end, of in ((max, first), (min, second)))
    pairs = [sign * (x - y) for x in first.values for y in second.values]
    wrong, equal = sum(each > 0 for each in pairs), pairs.count(0)
    ties = f", and are equal in {equal}" if equal else ""
    yield (
        f"The worst run of {better} gave {show(worst, place)} and the best of {other} {show(best, place)}: single runs "
        f"rank the two wrongly in {wrong} of {count(len(pairs), 'pair')}{ties}."
    )


def superiority_sentence(metric: MetricComparison, pair: PairComparison) -> list[str]:
    """Say how often a run of the better side beats one of the other; nothing where none is shown to be better."""
    effect = metric.contrast.effects["p_superiority"]
    value, low, high = effect.value, effect.interval.low, effect.interval.high
    if metric.verdict not in ("a better", "b better") or value is None or low is None or high is None:
        return []
    better, other = (pair.a, pair.b) if metric.verdict == "a better" else (pair.b, pair.a)
    # The effect is how often the first side has the larger value.
    if (metric.verdict == "a better") != (metric.direction == "higher"):
        value, low, high = 1 - value, 1 - high, 1 - low
    ties = "" if set(metric.a.values).isdisjoint(metric.b.values) else ", ties counted half"
    share = f"{show_percent(value)} of cases [{100 * low:.0f}, {100 * high:.0f}]"
    small = f", short of the {show_percent(MEANINGFUL)} that is taken to matter" if high <= MEANINGFUL else ""
    return [f"A run of {better} beats a run of {other} in {share}{ties}{small}."]


def _equivalence(metric: MetricComparison, pair: PairComparison) -> Iterator[str]:
    contrast = metric.contrast
    if contrast.margin is None or contrast.equivalence is None:
        return
    margin = show(contrast.margin)
    if contrast.equivalence.p is None:
        yield f"Equivalence within ± {margin} could not be tested: {contrast.equivalence.reason}."
        return
    p = f"p {Numbers(pair.alpha).compared_p(metric.equivalence_p_adjusted)}"
    if metric.verdict == "equivalent":
        also = ": they differ, but by less than what matters" if metric.differs else ""
        yield f"Two one-sided tests: the means differ by less than {margin} ({p}){also}."
    else:
        yield f"Two one-sided tests: not shown to differ by less than {margin} ({p})."


def unalternated(metric: MetricComparison) -> list[str]:
    """Say why neither side is called better in a time that differs; pages say it once, of all times."""
    times = {metric.name: metric.direction or "lower"}
    return [unalternated_text(times)] if metric.confounded and metric.differs else []


def _undirected(metric: MetricComparison, pair: PairComparison) -> Iterator[str]:
    if metric.verdict != "differs" or metric.confounded or metric.survivors:
        return
    for label, factors in pair.draws.unknown.items():
        other = pair.b if label == pair.a else pair.a
        yield (
            f"All runs of {other} used the same random numbers for {drawn_factors(factors)}, and what varied in "
            f"{label} is not known: the difference may be one of the recipes or of these numbers, so neither is called "
            f"better. For a verdict on recipes make {other} with: {pair.draws.remedy}"
        )
    if not pair.draws.unknown:
        yield (
            f"A difference is shown, but the direction of {metric.name} is unknown, so neither is called better: "
            f"add --set {typed_word(f'direction={metric.name}=higher')} (or lower)."
        )


def _too_few(metric: MetricComparison, pair: PairComparison) -> Iterator[str]:
    contrast, numbers = metric.contrast, Numbers(pair.alpha)
    n, m = contrast.runs_compared
    if min(n, m) >= metric.fewest_runs:
        yield f"Nothing could be tested: {contrast.decides.reason or contrast.difference.reason}."
        if metric.a.spread.identical and metric.b.spread.identical:
            yield "Such runs show no random variation; compare variants in which seeds vary."
        return
    if _one_value(metric) and _all_alike(pair):
        yield f"All compared values of {pair.a} and {pair.b} are bit-identical."
    yield f"{n} against {m} runs: a verdict needs {metric.fewest_runs} of each."
    if metric.a.spread.identical and metric.b.spread.identical:
        return
    if metric.smallest_p is not None and metric.sensitivity is not None:
        floor, alpha = metric.smallest_p, pair.alpha
        cannot = f", so it cannot reach {alpha:.3g}" if floor > alpha else ""
        size = detectable_text(metric.sensitivity, metric)
        yield f"The smallest p that a rank test can give with so few is {numbers.p(floor)}{cannot}."
        yield f"Only a difference of {size} would show with a power of {show_percent(metric.sensitivity.power)}."


def _all_alike(pair: PairComparison) -> bool:
    """Tell whether every metric but times and resources had one value in all runs of both sides."""
    return all(_one_value(metric) for metric in pair.metrics if metric.kind not in ("speed", "resource"))


def _one_value(metric: MetricComparison) -> bool:
    return len({value.hex() for value in (*metric.a.values, *metric.b.values)}) == 1


def _not_shown(metric: MetricComparison, pair: PairComparison) -> Iterator[str]:
    known = metric.sensitivity
    if known is not None:
        each = f"; each of {metric.family} tests at {known.alpha:.2g}" if known.alpha < pair.alpha else ""
        yield (
            f"A difference of {detectable_text(known, metric)} would have been seen with probability "
            f"{show_percent(known.power)} (normal values, equal SDs{each})."
        )


def _near_limit(metric: MetricComparison) -> Iterator[str]:
    """Say of a difference that so few runs show only by luck how far it may be from the true one."""
    errors = metric.near_limit
    if errors is not None:
        wrong = show_percent(errors.wrong_sign)
        yield (
            "The difference is smaller than those that so many runs show reliably: if the true one is half as large, "
            f"what they show is {errors.exaggeration:.1f} times too large on average, and of the wrong sign in {wrong} "
            "of cases (type M and type S errors, normal values)."
        )


def detectable_text(known: Sensitivity, metric: MetricComparison) -> str:
    """Write the smallest difference that so many runs show, in the unit of the metric."""
    size = known.detectable_in_unit
    if size is None:
        return f"{known.detectable:.2g} SDs"
    return difference_text(show(size, last_place(size)), metric.unit)


def _failures(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> Iterator[str]:
    if metric.failures.fisher.p is not None:
        lost = [*metric.a.lost, *metric.b.lost]
        counted = "a run without a value, or left out, is in no mean" if lost else "all are in the means"
        yield f"{failures_text(metric, pair)}; {counted}."
    yield from _survivors(metric, pair)


def _survivors(metric: MetricComparison, pair: PairComparison) -> Iterator[str]:
    if metric.survivors:
        higher = pair.a if metric.higher == "a" else pair.b
        lower = pair.b if metric.higher == "a" else pair.a
        better = higher if metric.direction == "higher" else lower
        yield (
            f"{better} lost more of its runs: if those are the worst of all, it is not shown to be better "
            "(Mann-Whitney U)."
        )


def _doubts(metric: MetricComparison, pair: PairComparison) -> Iterator[str]:
    """Say where the test may raise more false alarms than it promises, and whether pairing helps."""
    contrast = metric.contrast
    if contrast.paired:
        if contrast.correlation is not None and contrast.correlation_interval.low is not None:
            ends = f"{_level(pair)} CI {show_interval(contrast.correlation_interval, -2)}"
            helps = "pairing helps" if contrast.correlation_interval.low > 0 else "it is not shown that pairing helps"
            yield f"The correlation within pairs is {show(contrast.correlation, -2)} ({ends}): {helps}."
        return
    ratio = contrast.sd_ratio.value
    if ratio is not None and max(ratio, 1 / ratio) >= UNEQUAL_SDS:
        yield (
            "The SDs differ by a factor of 2 or more: in simulations of skewed values, one SD 3 times the other, false "
            "alarms at a level of 5% were 4 to 17%, and more where some runs collapse."
        )


# How sides were compared, for a paper: which tests, which correction. Only what the comparison knows.


def comparison_methods(comparison: Comparison) -> list[str]:
    """Return the sentences of a methods paragraph."""
    metrics = [metric for pair in comparison.pairs for metric in pair.metrics]
    return [
        *_tests(metrics),
        *_correction(comparison),
        *_looks(comparison),
        *_margins(metrics, comparison.alpha),
        *pairing_sentences(comparison.comparability.pairings),
    ]


def _tests(metrics: Sequence[MetricComparison]) -> Iterator[str]:
    contrasts = [metric.contrast for metric in metrics]
    means = [contrast.location for contrast in contrasts if contrast.p is not None]
    for label, reason in dict.fromkeys((choice.label, choice.reason) for choice in means):
        yield f"Means are compared by {label}: {reason}."
    spreads = [contrast.spread for contrast in contrasts if contrast.tests[contrast.spread.test].p is not None]
    for label in dict.fromkeys(choice.label for choice in spreads):
        yield f"Spreads are compared by the {label}."


def _correction(comparison: Comparison) -> Iterator[str]:
    families = comparison.family, comparison.explored_family, comparison.times_family
    level = Numbers(comparison.alpha).level()
    yield f"Tests have a level of {comparison.alpha:g} and are two-sided; intervals are {level} confidence intervals."
    if max(families) < 2:
        return
    if comparison.correction == "none":
        yield f"The p-values of {count(sum(families), 'test')} of means are not corrected for their number."
        return
    how = CORRECTION_NAMES[comparison.correction]
    yield f"The p-values of means are adjusted within each family ({how}): {families_text(comparison)}."


def _looks(comparison: Comparison) -> Iterator[str]:
    for pair in comparison.pairs:
        look = pair.look
        if look.most is not None:
            yield (
                f"{pair.a} and {pair.b} were compared at up to {planned_runs(look)}, with an alpha spending "
                f"function like O'Brien and Fleming's (Lan and DeMets, 1983); this is look {look.number}, at level "
                f"{look.alpha:.2g}."
            )
        elif look.number > 1:
            yield (
                f"{pair.a} and {pair.b} were compared {look.number} times while runs were added; the later looks add "
                f"{show_percent(look.whole - comparison.alpha)} of false alarms to those of the first (alpha spending: "
                f"Lan and DeMets, 1983); this look is at level {look.alpha:.2g}."
            )
        if look.stopped_alpha is not None:
            yield (
                f"The runs of {listed(look.stopped)} were ended when an interval was narrow enough, and are tested at "
                f"level {look.stopped_alpha:.2g} for it."
            )


def _margins(metrics: Sequence[MetricComparison], alpha: float) -> Iterator[str]:
    given = dict.fromkeys(
        f"{metric.name} {difference_text(f'{metric.contrast.margin:g}', metric.unit)}"
        for metric in metrics
        if metric.contrast.margin
    )
    if given:
        margins = listed(list(given), len(given))
        yield f"Equivalence is tested by two one-sided t tests at level {alpha:g}, with the margins {margins}."


def omnibus_text(omnibus: MetricOmnibus, comparison: Comparison) -> str:
    """Say whether the sides differ at all in a metric, and how sure their places are."""
    return " ".join([omnibus_outcome(omnibus, comparison), *places_together(omnibus, comparison)])


def omnibus_outcome(omnibus: MetricOmnibus, comparison: Comparison) -> str:
    """Say whether the sides differ at all in a metric."""
    p = omnibus.p_adjusted
    if p is None:
        return f"Welch's analysis of variance could not be made: {omnibus.welch_anova.reason}."
    equal = "no difference shown between any of the means"
    outcome = "the means are not all equal" if p <= comparison.omnibus_alpha else equal
    return f"Welch's analysis of variance: {omnibus_p(omnibus, comparison)}, {outcome}."


def places_together(omnibus: MetricOmnibus, comparison: Comparison) -> list[str]:
    """Say whether the places in this metric and in others of its kind hold all at once; nothing without places."""
    if omnibus.p_adjusted is None:
        return []
    if comparison.correction not in ("holm", "bonferroni"):
        return [f"With {CORRECTION_NAMES[comparison.correction]} the places do not hold all together."]
    what = "measured times" if omnibus.measured_time else "metrics of the training"
    level = show_level(1 - max(pair.alpha for pair in comparison.pairs))
    return [f"The places in all {what} hold together at {level} confidence."]


def omnibus_p(omnibus: MetricOmnibus, comparison: Comparison) -> str:
    """Write p of the test over all sides."""
    return Numbers(comparison.omnibus_alpha).equal_p(omnibus.p_adjusted, comparison.correction, omnibus.family)


# How the compared runs were made, for a paper: methods and answers to checklists.


def runs_methods(compared: Comparability, made: Mapping[str, ExperimentFacts]) -> dict[str, list[str]]:
    """Return what is true of the runs of one side alone, by its label, and under an empty one what is so for each."""
    by_side = {label: run_methods(facts) for label, facts in made.items()}
    first = next(iter(by_side.values()), [])
    common = [sentence for sentence in first if all(sentence in each for each in by_side.values())]
    own = {label: [each for each in sentences if each not in common] for label, sentences in by_side.items()}
    data = "Checksums show the same set of examples in all runs compared."
    return {**own, "": [*common, *([data] if compared.same_examples else [])]}


def comparison_checklist(comparison: Comparison, made: Mapping[str, ExperimentFacts]) -> list[Answer]:
    """Answer the questions for all sides of a comparison."""
    bars = f"{Numbers(comparison.alpha).level()} confidence intervals of the difference of the means"
    return checklist_of_all(made, bars, comparison_methods(comparison))


def checklist_of_all(made: Mapping[str, ExperimentFacts], bars: str, methods: Iterable[str]) -> list[Answer]:
    """Answer the questions for all sides; where the answers differ, each begins with the label of its side.

    `bars` are what is shown beside the standard deviation, `methods` how it was computed.
    """
    compared = {
        ERROR_BARS: f"Standard deviation over runs (of a single run, not of the mean), and {bars}.",
        COMPUTED: " ".join(methods),
    }
    return [
        msgspec.structs.replace(answers[0], answer=compared[answers[0].question], known=True)
        if answers[0].question in compared
        else _of_all(list(made), answers)
        for answers in zip(*(checklist(facts) for facts in made.values()), strict=True)
    ]


def _of_all(labels: Sequence[str], answers: Sequence[Answer]) -> Answer:
    if len({each.answer for each in answers}) == 1 and answers[0].question != NUMBER:
        return answers[0]
    text = " ".join(f"{label}: {each.answer}" for label, each in zip(labels, answers, strict=True))
    return msgspec.structs.replace(answers[0], answer=text, known=True)
