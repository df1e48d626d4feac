"""One metric on two sides: what tests show, how sure it is, and what so few runs could not show."""

from __future__ import annotations

import math
import zlib
from typing import Literal

import msgspec
import numpy as np

from deviate.contrast.choice import FEWEST_PAIRS, PAIRED, choose_location
from deviate.contrast.contrast import Contrast, contrast
from deviate.contrast.failures import FailureContrast, failure_contrast, stays_better
from deviate.contrast.guards import fewest_runs, smallest_p
from deviate.contrast.power import (
    DEFAULT_POWER,
    detectable_difference,
    paired_t_power,
    runs_for_difference,
    welch_power,
)
from deviate.contrast.sign_errors import ShownErrors, shown_errors
from deviate.contrast.verdict import Judged, NoisierVerdict, Verdict, judge, judge_spread
from deviate.experiment import Direction, Kind
from deviate.inference.comparison.families import Adjusted
from deviate.inference.comparison.options import ComparisonOptions
from deviate.inference.comparison.pairing import Pairing
from deviate.inference.metric import MetricSpread, measured_sample, narrowed_sample
from deviate.measure.spread import Spread

#: From this ratio of SDs on, skewed values do: 6 to 13 % false alarms at a ratio of 3 and equal numbers of runs, 9 to
#: 17 % where the noisier side has 5 runs and the other 16 (``benchmarks/statistics``).
UNEQUAL_SDS = 2.0

#: Below this many runs per side the Brown-Forsythe test at 5 % misses an SD ratio of 2 more often than not: its power
#: is 0.49 at 14 runs and 0.51 at 15 (`deviate.contrast.power.simulated_power` with 200,000 pairs of normal samples).
RUNS_FOR_SPREAD = 15


#: The true difference that is assumed where one is shown that so many runs miss in more than a fifth of cases, as a
#: share of the one that was seen: replications found half the size of what had been published [1]_.
#:
#: .. [1] Open Science Collaboration, "Estimating the reproducibility of psychological science", Science 349, 2015.
TRUE_SHARE = 0.5


class Sensitivity(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest difference that so many runs show, and the runs that it takes to show what was seen."""

    #: Of the strictest step of the correction, where a verdict was possible.
    alpha: float
    power: float
    #: In SDs; in SDs of the differences where runs are paired.
    detectable: float
    #: Pooled over the sides, in the unit of the metric, and the difference in that unit; None where runs are paired.
    pooled_sd: float | None
    detectable_in_unit: float | None
    #: The difference that was seen, in SDs, and the runs per side that show one as large; None where that is unknown,
    #: or more runs are needed than can be made.
    seen: float | None = None
    runs_for_seen: int | None = None


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

    @property
    def name(self) -> str:
        """Name on the first side."""
        return self.a.name

    @property
    def deciding_p(self) -> float | None:
        """The adjusted p that the verdict rests on: of equivalence where that is shown, of the means elsewhere."""
        return self.equivalence_p_adjusted if self.verdict == "equivalent" else self.p_adjusted

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
    if len(places) == a.n == b.n or not (asked or choose_location(a.n, b.n, len(places)) == PAIRED):
        return a, b
    at_a, at_b = ([pair[side] for pair in places] for side in (0, 1))
    return measured_sample(narrowed_sample(a, at_a), level), measured_sample(narrowed_sample(b, at_b), level)


def contrast_metric(a: MetricSpread, b: MetricSpread, pairing: Pairing, options: ComparisonOptions) -> Contrast:
    """Compare one metric of two sides in every way, before the tests of all metrics are looked at together."""
    # Own draws for each metric, so that leaving one out does not change the others.
    rng = np.random.default_rng([options.seed, zlib.crc32(a.name.encode("utf-8", "replace"))])
    pairs, margin = pairing.positions(a, b), options.margins.get(a.name)
    return contrast(a.values, b.values, rng, level=options.level, pairs=pairs, margin=margin)


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
) -> MetricComparison:
    """Turn the tests of one metric into verdicts.

    `tried`: all runs of each side, with those that are in no pair; `means`, `spreads` and `margins`: the p-values of
    the tests of the means, of the spread and of equivalence; `one_draw`: runs of a side repeat a draw that the other
    does not, so that they are one run of its recipe; `confounded`: see `MetricComparison`; `undecided`: they may be,
    since the other side was imported, so that a difference is claimed and nothing better; `other_unit`: one side is a
    fraction and the other percent.
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
    if other_unit:
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
        sensitivity=_sensitivity(contrast, a.spread, b.spread, step, seen=unseen) if unseen or few else None,
        failures=failure_contrast(*(count for each in tried for count in (len(each.unsuccessful), each.tried))),
        near_limit=_near_limit(contrast, strictest_alpha(options, means)) if shown else None,
        confounded=confounded,
        survivors=survivors,
        claim=means.claim,
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


def _sensitivity(contrast: Contrast, a: Spread, b: Spread, alpha: float, *, seen: bool) -> Sensitivity:
    n, m = contrast.runs_compared
    sd = None if contrast.paired else _pooled_sd(a, b)
    detectable = detectable_difference(n, m, alpha, paired=contrast.paired)
    effect = _seen(contrast) if seen else None
    return Sensitivity(
        alpha=alpha,
        power=DEFAULT_POWER,
        detectable=detectable,
        pooled_sd=sd,
        detectable_in_unit=detectable * sd if sd else None,
        seen=effect,
        runs_for_seen=runs_for_difference(effect, alpha, paired=contrast.paired) if effect else None,
    )


def _seen(contrast: Contrast) -> float | None:
    """Return the difference that was seen, in SDs."""
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
