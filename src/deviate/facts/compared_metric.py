"""One metric on two sides: what tests show, how sure it is, and what so few runs could not show."""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

import msgspec
import numpy as np

from deviate.core.experiment import Direction, Kind
from deviate.facts.comparable import Match, Pairing, direction_of
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.metric import MetricSpread, measured_sample, narrowed_sample
from deviate.observe.metrics import TIMES
from deviate.stats.contrast import (
    FEWEST_PAIRS,
    PAIRED,
    Contrast,
    Judged,
    NoisierVerdict,
    Verdict,
    choose_location,
    contrast,
    judge,
    judge_spread,
)
from deviate.stats.effects import mean_difference
from deviate.stats.factorial import Place, ranking
from deviate.stats.failures import FailureContrast, failure_contrast, stays_better
from deviate.stats.intervals import Interval
from deviate.stats.multiplicity import Correction, adjust, claim_factor
from deviate.stats.power import (
    DEFAULT_POWER,
    ShownErrors,
    paired_t_power,
    planned_difference,
    planned_runs,
    shown_errors,
    welch_power,
)
from deviate.stats.results import Tested, fewest_runs, smallest_p
from deviate.stats.spread import Spread
from deviate.stats.tests import kruskal_wallis, welch_anova

# Which tests are adjusted together: those of what is claimed, of what is explored beside it, and of measured times.

_MEASURED = frozenset(metric.name for metric in TIMES)

#: ``claimed``: the metrics that were named before, or the main one; ``explored``: all others that the training reports;
#: ``times``: those that Deviate measures.
Family = Literal["claimed", "explored", "times"]
FAMILIES: tuple[Family, ...] = ("claimed", "explored", "times")

#: Names a test within a comparison; the last part is the metric's name.
Key = TypeVar("Key", bound=tuple[str, ...])


class Claimed(NamedTuple):
    """When something was claimed of two sides."""

    #: As `deviate.store.looks.Claim` has it.
    number: int = 1
    #: Tests that were made together then; 0 where that is now.
    tests: int = 0


class Adjusted(msgspec.Struct, frozen=True, kw_only=True):
    """A p-value adjusted within its family; None where the test could not be made."""

    p: float | None
    #: Tests that were adjusted together with this one, itself included.
    family: int
    #: Comparisons of the same runs that claimed something new until this was claimed, see `Claimed`.
    claim: int = 1

    @property
    def divisor(self) -> int:
        """By what alpha is divided in the strictest step."""
        return max(self.family, 1) * claim_factor(self.claim)


def is_measured_time(name: str) -> bool:
    """Tell whether Deviate measures this time itself, in every experiment and whether or not anybody asks for it.

    >>> is_measured_time("time per run"), is_measured_time("images per second")
    (True, False)
    """
    return name in _MEASURED


def family_of(name: str, claimed: Collection[str]) -> Family:
    """Return the family of a metric's tests.

    >>> [family_of(name, ["acc"]) for name in ("acc", "loss", "time per run")]
    ['claimed', 'explored', 'times']
    """
    if is_measured_time(name):
        return "times"
    return "claimed" if name in claimed else "explored"


def adjust_families(
    ps: Mapping[Key, float | None],
    correction: Correction,
    claimed: Collection[str],
    claims: Mapping[Key, Claimed] | None = None,
) -> dict[Key, Adjusted]:
    """Adjust the p-values of each family together.

    What is claimed is settled before the values are seen, so that a verdict on it does not depend on which other
    metrics there are. Nobody chose the measured times as outcomes. Within each family the chance of any false alarm
    stays at alpha or below.

    Parameters
    ----------
    ps : mapping of tuple to float or None
        p in [0, 1] by a key that ends in the metric's name; None where a test could not be made, which does not count.
    correction : {'holm', 'bonferroni', 'bh', 'none'}
        See `stats.multiplicity.adjust`.
    claimed : collection of str
        Names of the metrics that are claimed.
    claims : mapping of tuple to Claimed, optional
        When each of them was first claimed: those of one claim are adjusted together, with as many tests as it had.

    Examples
    --------
    >>> ps = {("acc",): 0.04, ("loss",): 0.02, ("f1",): 0.5, ("time per run",): 0.04}
    >>> [(each.p, each.family) for each in adjust_families(ps, "holm", ["acc"]).values()]
    [(0.04, 1), (0.04, 2), (0.5, 2), (0.04, 1)]
    """
    adjusted: dict[Key, Adjusted] = {}
    for family in FAMILIES:
        one = {key: p for key, p in ps.items() if family_of(key[-1], claimed) == family}
        adjusted |= adjust_claims(one, correction, claims or {} if family == "claimed" else {})
    return {key: adjusted[key] for key in ps}


def adjust_claims(
    ps: Mapping[Key, float | None], correction: Correction, claims: Mapping[Key, Claimed]
) -> dict[Key, Adjusted]:
    """Adjust the p-values of one family: those of one claim together, those of later ones times `claim_factor`."""
    together: dict[Claimed, list[Key]] = {}
    for key in ps:
        together.setdefault(claims.get(key, Claimed()) if correction != "none" else Claimed(), []).append(key)
    adjusted: dict[Key, Adjusted] = {}
    for when, keys in together.items():
        values = [ps[key] for key in keys]
        size = sum(p is not None for p in values)
        # Nothing is known of those that were claimed with them and are not compared now.
        unseen = [1.0] * max(0, when.tests - size)
        factor = claim_factor(when.number)
        for key, p in zip(keys, adjust([*values, *unseen], correction), strict=False):
            p_claimed = None if p is None else min(1.0, factor * p)
            adjusted[key] = Adjusted(p=p_claimed, family=size + len(unseen), claim=when.number)
    return adjusted


def family_sizes(ps: Mapping[Key, float | None], claimed: Collection[str]) -> dict[Family, int]:
    """Return how many tests each family has.

    >>> family_sizes({("acc",): 0.04, ("loss",): 0.02, ("f1",): None}, ["acc"])
    {'claimed': 1, 'explored': 1, 'times': 0}
    """
    tested = [family_of(key[-1], claimed) for key, p in ps.items() if p is not None]
    return {family: tested.count(family) for family in FAMILIES}


#: From this ratio of SDs on, skewed values do: 6 to 13 % false alarms at a ratio of 3 and equal numbers of runs, 9 to
#: 17 % where the noisier side has 5 runs and the other 16 (``benchmarks/statistics``).
UNEQUAL_SDS = 2.0

#: Below this many runs per side the Brown-Forsythe test at 5 % misses an SD ratio of 2 more often than not: its power
#: is 0.49 at 14 runs and 0.51 at 15 (`deviate.stats.power.simulated_power` with 200,000 pairs of normal samples).
RUNS_FOR_SPREAD = 15


#: The true difference that is assumed where one is shown that so many runs miss in more than a fifth of cases, as a
#: share of the one that was seen: replications found half the size of what had been published [1]_.
#:
#: .. [1] Open Science Collaboration, "Estimating the reproducibility of psychological science", Science 349, 2015.
TRUE_SHARE = 0.5


class Sensitivity(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest difference that so many runs show, and the runs that show a smaller one, as a plan has them."""

    #: Of the strictest step of the correction, where a verdict was possible.
    alpha: float
    power: float
    #: In SDs; in SDs of the differences where runs are paired.
    detectable: float
    #: Pooled over the sides, in the unit of the metric; None where runs are paired.
    pooled_sd: float | None
    #: The same difference in the unit of the metric.
    detectable_in_unit: float | None
    #: The difference that was seen, in SDs, and the runs per side that show one as large; None where that is unknown,
    #: or more runs are needed than can be made. Runs are known of what is claimed of two sides.
    seen: float | None = None
    runs_for_seen: int | None = None
    #: A round difference of half of `detectable_in_unit` or a little less, and the runs per side that show it.
    smaller: float | None = None
    runs_for_smaller: int | None = None


class MetricComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One metric on two sides."""

    a: MetricSpread
    b: MetricSpread
    direction: Direction | None
    contrast: Contrast
    #: Adjusted over the metrics and pairs of a family: of the test of the means, of the spread, of equivalence.
    p_adjusted: float | None
    spread_p_adjusted: float | None
    equivalence_p_adjusted: float | None
    #: Tests of means, and of spreads, that were adjusted together with this one, itself included.
    family: int
    spread_family: int
    verdict: Verdict
    #: The means differ, whichever is better; None where it could not be tested.
    differs: bool | None
    noisier: NoisierVerdict
    #: Runs per side below which there is no verdict.
    fewest_runs: int
    #: The smallest p that a rank test can give with so many runs; None below two runs per side.
    smallest_p: float | None
    #: None where a difference is shown, or nothing could be tested.
    sensitivity: Sensitivity | None
    #: Runs that failed, gave no finite value, or collapsed.
    failures: FailureContrast
    #: How wrong a difference is expected to be that so many runs do not show reliably; None where none is shown, or one
    #: as large as was seen is shown with `DEFAULT_POWER`.
    near_limit: ShownErrors | None = None
    #: A time of runs that were not made in turn, which neither side is called better by: the machine may have been
    #: busier during those of one.
    confounded: bool = False
    #: The means of the runs that gave a value differ, and the side that is better in them lost a larger share of its
    #: runs: if those are the worst of all, it is not shown to be better.
    survivors: bool = False
    #: Comparisons of the same runs that claimed something new until this was claimed, itself included.
    claim: int = 1
    #: The interval of the difference at each level that was asked for, in their order; empty with one level.
    ci_levels: list[Interval] = []

    @property
    def name(self) -> str:
        """Name on the first side."""
        return self.a.name

    @property
    def deciding_p(self) -> float | None:
        """The adjusted p that the verdict rests on: of equivalence where that is shown, of the means elsewhere."""
        return self.equivalence_p_adjusted if self.verdict == "equivalent" else self.p_adjusted

    @property
    def main(self) -> bool:
        """Whether the user said that it leads."""
        return self.a.main

    @property
    def kind(self) -> Kind:
        """What the metric is a measure of."""
        return self.a.kind

    @property
    def unit(self) -> str:
        """Unit of the values, as the first side says."""
        return self.a.unit

    @property
    def aggregate(self) -> str:
        """How the records of a run became one value."""
        return self.a.aggregate

    @property
    def higher(self) -> Literal["a", "b"] | None:
        """The side whose mean is higher, where the means are shown to differ; None elsewhere."""
        if not self.differs or not self.contrast.difference.value:
            return None
        return "a" if self.contrast.difference.value > 0 else "b"

    def __repr__(self) -> str:
        return f"<{self.name!r}: {self.verdict}>"


def paired_samples(
    a: MetricSpread, b: MetricSpread, pairing: Pairing, level: float
) -> tuple[MetricSpread, MetricSpread]:
    """Return what is compared of two samples: the runs in pairs where pairs are compared, all runs elsewhere."""
    places = pairing.positions(a, b)
    asked = pairing.reason == "on" and len(places) >= FEWEST_PAIRS
    if len(places) == a.n == b.n or not (asked or choose_location(a.values, b.values, len(places)) == PAIRED):
        return a, b
    at_a, at_b = ([pair[side] for pair in places] for side in (0, 1))
    return measured_sample(narrowed_sample(a, at_a), level), measured_sample(narrowed_sample(b, at_b), level)


def contrast_metric(a: MetricSpread, b: MetricSpread, pairing: Pairing, options: ComparisonOptions) -> Contrast:
    """Compare one metric of two sides in every way, before the tests of all metrics are looked at together."""
    # Own draws for each metric, so that leaving one out does not change the others.
    rng = np.random.default_rng([options.seed, zlib.crc32(a.name.encode("utf-8", "replace"))])
    pairs, margin = pairing.positions(a, b), options.margins.get(a.name)
    return contrast(a.values, b.values, rng, level=options.level, pairs=pairs, margin=margin)


def intervals_of_difference(
    a: MetricSpread, b: MetricSpread, pairing: Pairing, levels: Sequence[float]
) -> list[Interval]:
    """Return the interval of the difference of the means at each level."""
    pairs = pairing.positions(a, b)
    paired = choose_location(a.values, b.values, len(pairs)) == PAIRED
    places = zip(*pairs, strict=True) if paired else (range(a.n), range(b.n))
    first, second = ([side.values[at] for at in where] for side, where in zip((a, b), places, strict=True))
    return [mean_difference(first, second, level, paired=paired).interval for level in levels]


def compare_metric(
    a: MetricSpread,
    b: MetricSpread,
    contrast: Contrast,
    *,
    tried: tuple[MetricSpread, MetricSpread],
    direction: Direction | None,
    means: Adjusted,
    spreads: Adjusted,
    margins: Adjusted,
    one_draw: bool,
    options: ComparisonOptions,
    confounded: bool = False,
    undecided: bool = False,
    other_unit: bool = False,
    ci_levels: Sequence[Interval] = (),
    planned: bool = False,
    held: bool = False,
) -> MetricComparison:
    """Turn the tests of one metric into verdicts.

    `tried`: all runs of each side, with those that are in no pair; `means`, `spreads` and `margins`: the p-values of
    the tests of the means, of the spread and of equivalence; `one_draw`: runs of a side repeat a draw that the other
    does not, so that they are one run of its recipe; `confounded`: see `MetricComparison`; `undecided`: they may be,
    since the other side was imported, so that a difference is claimed and nothing better; `other_unit`: one side is a
    fraction and the other percent; `ci_levels`: see `MetricComparison`; `planned`: see `Sensitivity`; `held`: nothing
    varies on either side, so that equal runs stay equal however many are made.
    """
    n, m = contrast.runs_compared
    alpha = options.alpha
    judged = judge(
        n_a=1 if one_draw else n,
        n_b=1 if one_draw else m,
        alpha=alpha,
        p_adjusted=means.p,
        difference=contrast.difference.value,
        direction=None if confounded or undecided else direction,
        equivalence_p=margins.p,
    )
    stay = held and a.spread.identical and b.spread.identical
    if other_unit or (stay and judged.verdict == "too few runs" and contrast.difference.value):
        judged = Judged(verdict="not compared", differs=None)
    survivors = _is_of_survivors(*tried, judged, direction, alpha)
    if survivors:
        judged = Judged(verdict="differs", differs=True)
    noisier = judge_spread(
        n_a=contrast.n_a, n_b=contrast.n_b, alpha=alpha, p_adjusted=spreads.p, sd_a=a.spread.sd, sd_b=b.spread.sd
    )
    unseen = judged.verdict == "no difference shown" and means.p is not None
    few = not one_draw and judged.verdict == "too few runs" and 2 <= min(n, m) < fewest_runs(alpha)
    shown = bool(judged.differs) and judged.verdict != "equivalent"
    step = strictest_alpha(options, means) if unseen else alpha
    return MetricComparison(
        a=a,
        b=b,
        direction=direction,
        contrast=contrast,
        p_adjusted=means.p,
        spread_p_adjusted=spreads.p,
        equivalence_p_adjusted=margins.p,
        family=means.family,
        spread_family=spreads.family,
        verdict=judged.verdict,
        differs=judged.differs,
        noisier="too few runs" if other_unit else noisier,
        fewest_runs=fewest_runs(alpha),
        smallest_p=smallest_p(n, m, paired=contrast.paired) if min(n, m) >= 2 else None,
        sensitivity=_sensitivity(contrast, a.spread, b.spread, step, seen=unseen, planned=planned)
        if unseen or few
        else None,
        failures=failure_contrast(*(count for each in tried for count in (len(each.unsuccessful), each.tried))),
        near_limit=_near_limit(contrast, strictest_alpha(options, means)) if shown else None,
        confounded=confounded,
        survivors=survivors,
        claim=means.claim,
        ci_levels=list(ci_levels),
    )


def _is_of_survivors(
    a: MetricSpread, b: MetricSpread, judged: Judged, direction: Direction | None, alpha: float
) -> bool:
    """Tell whether the verdict "better" rests on runs that were left, and not on those that were lost."""
    if direction is None or judged.verdict not in ("a better", "b better"):
        return False
    better, other = (a, b) if judged.verdict == "a better" else (b, a)
    lost = len(better.lost), len(other.lost)
    if lost[0] * other.tried <= lost[1] * better.tried:
        return False
    return not stays_better(better.values, other.values, lost, direction, alpha)


def strictest_alpha(options: ComparisonOptions, adjusted: Adjusted) -> float:
    """Return the alpha of the first step of Holm's procedure, which is that of Bonferroni."""
    return options.alpha / adjusted.divisor if options.correction in ("holm", "bonferroni") else options.alpha


def _sensitivity(contrast: Contrast, a: Spread, b: Spread, alpha: float, *, seen: bool, planned: bool) -> Sensitivity:
    n, m = contrast.runs_compared
    paired, freedom = contrast.paired, n - 1 if contrast.paired else n + m - 2
    pooled = None if paired else _pooled_sd(a, b)
    sd = contrast.sd_differences if paired else pooled
    detectable = planned_difference(n, alpha, m=m, paired=paired, freedom=freedom)
    effect = _seen(contrast) if seen else None
    smaller = round_below(detectable * sd / 2) if seen and sd else None

    def runs(size: float | None) -> int | None:
        return planned_runs(size, alpha, paired=paired, freedom=freedom) if size and planned else None

    return Sensitivity(
        alpha=alpha,
        power=DEFAULT_POWER,
        detectable=detectable,
        pooled_sd=pooled,
        detectable_in_unit=detectable * sd if sd else None,
        seen=effect,
        runs_for_seen=runs(effect),
        smaller=smaller,
        runs_for_smaller=runs(smaller / sd) if smaller and sd else None,
    )


def round_below(size: float) -> float | None:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above `size`; None of 0.

    >>> round_below(0.55), round_below(0.199), round_below(3.0), round_below(0.0)
    (0.5, 0.1, 2.0, None)
    """
    if not (size > 0 and math.isfinite(size)):
        return None
    power = int(f"{size:e}".partition("e")[2])
    return max(float(f"{digit}e{power}") for digit in (1, 2, 5) if digit == 1 or float(f"{digit}e{power}") <= size)


def _seen(contrast: Contrast) -> float | None:
    return contrast.effects["cohen_dz" if contrast.paired else "cohen_d"].value


def _near_limit(contrast: Contrast, alpha: float) -> ShownErrors | None:
    n, m = contrast.runs_compared
    seen = abs(_seen(contrast) or 0.0)
    power = paired_t_power(seen, n, alpha) if contrast.paired else welch_power(seen, n, m, alpha)
    if not seen or power >= DEFAULT_POWER:
        return None
    return shown_errors(TRUE_SHARE * seen, n, m, alpha, paired=contrast.paired)


def _pooled_sd(a: Spread, b: Spread) -> float | None:
    if a.sd is None or b.sd is None:
        return None
    # Squares of what a 64-bit float holds may be larger than any.
    return math.hypot(math.sqrt(a.n - 1) * a.sd, math.sqrt(b.n - 1) * b.sd) / math.sqrt(a.n + b.n - 2)


# More than two sides: whether they differ at all, and which is best.

#: By the labels of the sides and the metric.
Verdicts = Mapping[tuple[str, str, str], Verdict]


class MetricOmnibus(msgspec.Struct, frozen=True, kw_only=True):
    """One metric on more than two sides."""

    name: str
    kind: Kind
    welch_anova: Tested
    kruskal_wallis: Tested
    #: Of Welch's test, adjusted over the metrics of a family.
    p_adjusted: float | None
    #: Tests that were adjusted together, this one included.
    family: int
    #: Deviate measures it in every experiment; such times are a family of their own.
    measured_time: bool
    #: Best first; empty where it is not known which values are better.
    places: list[Place]


def metric_omnibus(
    labels: Sequence[str],
    matches: Sequence[Match],
    verdicts: Verdicts,
    claimed: Collection[str],
    options: ComparisonOptions,
) -> list[MetricOmnibus]:
    """Test each metric over all sides and rank the sides, in the order of `matches`."""
    welch = {(match[0].name,): welch_anova([sample.values for sample in match]) for match in matches}
    adjusted = adjust_families({key: tested.p for key, tested in welch.items()}, options.correction, claimed)
    return [
        MetricOmnibus(
            name=match[0].name,
            kind=match[0].kind,
            welch_anova=welch[(match[0].name,)],
            kruskal_wallis=kruskal_wallis([sample.values for sample in match]),
            p_adjusted=adjusted[(match[0].name,)].p,
            family=adjusted[(match[0].name,)].family,
            measured_time=is_measured_time(match[0].name),
            places=_places(labels, match, verdicts, direction_of(match, options)),
        )
        for match in matches
    ]


def _places(labels: Sequence[str], match: Match, verdicts: Verdicts, direction: Direction | None) -> list[Place]:
    if direction is None or any(not sample.values for sample in match):
        return []
    better = [
        (a, b) if verdict == "a better" else (b, a)
        for (a, b, metric), verdict in verdicts.items()
        if metric == match[0].name and verdict in ("a better", "b better")
    ]
    means = [sum(sample.values) / len(sample.values) for sample in match]
    return ranking(labels, means, direction, better)
