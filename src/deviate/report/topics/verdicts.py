"""The verdicts of a comparison in words: the first sentences, who leads, what looks do to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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
)
from deviate.report.words import count, drawn_factors, listed
from deviate.stats.contrast import EFFECTS, Contrast
from deviate.stats.factorial import Place
from deviate.stats.multiplicity import CORRECTION_NAMES
from deviate.stats.results import Effect
from deviate.stats.spread import Spread

# What repeated looks and runs that ``--until`` ended do to a verdict, in sentences.

#: Looks whose runs are listed.
LOOKS_LISTED = 4


def look_sentences(pair: PairComparison, comparison: Comparison) -> list[str]:
    """Say which look a comparison is, what p must be below at it, and why; nothing where it is the first and only."""
    return [*_stopped(pair.look, comparison.alpha), *_look(pair.look), *_plan(pair, comparison), *_unrecorded(pair)]


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
    """The numbers of one metric on two sides as text, all to one digit; differences and ratios are those of B to A."""

    def __init__(self, metric: MetricComparison, pair: PairComparison) -> None:
        contrast, a, b = metric.contrast, metric.a.spread, metric.b.spread
        place, numbers = last_digit(metric), Numbers(pair.alpha)
        self.name = metric.name if metric.name == metric.b.name else f"{metric.name} / {metric.b.name}"
        self.unit = unit_in_name(metric.unit)
        # The time of a run is one number already.
        self.aggregate = "" if metric.name == TIME_PER_RUN else metric.aggregate
        self.runs = f"{contrast.n_a}, {contrast.n_b}"
        self.a, self.b = side_spread(a, place), side_spread(b, place)
        self.mean_a, self.mean_b = show(a.mean, place), show(b.mean, place)
        difference, ratio = contrast.difference.negated, contrast.sd_ratio.inverted
        self.place = place
        self.difference = show(difference.value, place)
        self.ci = show_interval(difference.interval, place)
        self.p, self.spread_p = numbers.p(metric.deciding_p), numbers.p(metric.spread_p_adjusted)
        self.verdict = verdict_text(metric, pair)
        self.ratio, self.ratio_ci = show_factor(ratio.value), show_ratio(ratio.interval)
        noisier = {"a noisier": f"{pair.a} noisier", "b noisier": f"{pair.b} noisier"}
        self.noisier = noisier.get(metric.noisier, metric.noisier)
        self.effects = {EFFECTS[name].label: show_effect(effect) for name, effect in turned_effects(contrast).items()}


def most_decimals(sides: Iterable[MetricSpread]) -> int | None:
    """Return the digits behind the point of the side with most; None where no side tells them."""
    return max((side.decimals for side in sides if side.decimals is not None), default=None)


def last_digit(metric: MetricComparison) -> int | None:
    """Return the power of ten of the last digit worth showing."""
    return metric_place(most_decimals((metric.a, metric.b)), metric.a.spread.sd, metric.b.spread.sd)


def side_spread(spread: Spread, place: int | None) -> str:
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


def turned_effects(contrast: Contrast) -> dict[str, Effect]:
    """Return the effects of the second side against the first."""
    return {
        name: effect.complement if name == "p_superiority" else effect.negated
        for name, effect in contrast.effects.items()
    }


def row_word(metric: MetricComparison, pair: PairComparison) -> str:
    """Write the verdict on the second side in a row of a table; empty where no difference is shown."""
    if pair.draws.unshared:
        return "no verdict"
    words = {"a better": "worse", "b better": "better", "no difference shown": ""}
    return words.get(metric.verdict, metric.verdict)


def one_draw(pair: PairComparison) -> str:
    """Say which sides are one run of their recipe; empty where none is."""
    return "; ".join(
        f"all runs of {label} used the same random numbers for {drawn_factors(factors)}"
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


def places(comparison: Comparison) -> dict[str, Place]:
    """Return the places in the main metric, the best mean first; empty where none is ranked."""
    name = main_metric(comparison.pairs[0].metrics).name
    ranked = next((each.places for each in comparison.omnibus if each.name == name), [])
    return {place.name: place for place in ranked}
