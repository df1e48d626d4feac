"""Why a verdict is what it is, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from deviate.contrast.contrast import Contrast
from deviate.contrast.guards import fewest_runs, smallest_p
from deviate.contrast.multiplicity import CORRECTION_NAMES
from deviate.contrast.power import (
    DEFAULT_POWER,
    detectable_difference,
    runs_for_difference,
)
from deviate.contrast.superiority import MEANINGFUL
from deviate.contrast.verdict import Judged, NoisierVerdict
from deviate.experiment import Direction
from deviate.measure.spread import Spread
from deviate.report.comparison.numbers import show_ends, show_factor, show_p, show_ratio, show_signed
from deviate.report.shown import last_place, show, show_level, show_percent

#: From this ratio of the larger to the smaller number of runs on, skewed values cost Welch's test its level: in the
#: simulation 6 to 8 % false alarms instead of 5 % (``benchmarks/statistics``).
UNEQUAL_RUNS = 2.0

#: From this ratio of SDs on, skewed values do: 10 to 13 % false alarms at a ratio of 3 and equal numbers of runs, 18 %
#: where the noisier side has 5 runs and the other 16 (``benchmarks/statistics``).
UNEQUAL_SDS = 2.0

#: Below this many runs a side an SD ratio of 2 goes unseen more often than not (power 0.56 at 16 runs).
RUNS_FOR_SPREAD = 16


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What the sentences on one metric are made from."""

    label_a: str
    label_b: str
    contrast: Contrast
    spread_a: Spread
    spread_b: Spread
    unit: str
    direction: Direction | None
    alpha: float
    correction: str
    family: int
    spread_family: int
    p_adjusted: float | None
    spread_p_adjusted: float | None
    equivalence_p_adjusted: float | None
    judged: Judged
    noisier: NoisierVerdict

    @property
    def place(self) -> int | None:
        """Power of ten of the last digit worth showing."""
        known = [spread.sd for spread in (self.spread_a, self.spread_b) if spread.sd]
        return last_place(min(known)) if known else None


def why(told: Told) -> list[str]:
    """Say why the verdict on the means is what it is."""
    verdict = told.judged.verdict
    if verdict == "too few runs":
        return list(_too_few(told))
    if told.p_adjusted is None:
        return ["All runs of both sides gave exactly the same value."]
    return [
        _tested(told),
        _difference(told),
        *_equivalence(told),
        *_undirected(told),
        *(_not_shown(told) if verdict == "no difference shown" and not told.judged.differs else ()),
        *_caveats(told),
    ]


def why_noisier(told: Told) -> list[str]:
    """Say why the verdict on the spread is what it is."""
    found, ratio = told.contrast.tests[told.contrast.spread.test], told.contrast.sd_ratio
    if told.noisier == "too few runs":
        return [found.reason[:1].upper() + found.reason[1:] + "."] if found.reason else list(_too_few_spread(told))
    sentences = [
        f"{told.contrast.spread.label}: {_p(told, found.p, told.spread_p_adjusted, told.spread_family)}.",
    ]
    if ratio.value is not None:
        interval = f" ({show_level(1 - told.alpha)} CI {show_ratio(ratio.interval)})" if ratio.interval.known else ""
        sentences.append(
            f"The SD of {told.label_a} is {show_factor(ratio.value)} times that of {told.label_b}{interval}."
        )
    n = min(told.contrast.n_a, told.contrast.n_b)
    if told.noisier == "no difference shown" and n < RUNS_FOR_SPREAD:
        sentences.append(
            f"With fewer than {RUNS_FOR_SPREAD} runs a side even twice the SD is missed more often than not."
        )
    return sentences


def _p(told: Told, p: float | None, adjusted: float | None, family: int) -> str:
    if family < 2 or told.correction == "none":
        return f"p = {show_p(p, told.alpha)}".replace("= <", "< ")
    after = f"{show_p(adjusted, told.alpha)} after {CORRECTION_NAMES[told.correction]} over {family} tests"
    return f"p = {show_p(p, told.alpha)}, {after}".replace("= <", "< ")


def _tested(told: Told) -> str:
    contrast = told.contrast
    chosen = contrast.location
    p = _p(told, contrast.p, told.p_adjusted, told.family)
    return f"{chosen.label[:1].upper() + chosen.label[1:]}: {p}; {chosen.reason}."


def _difference(told: Told) -> str:
    effect, place = told.contrast.difference, told.place
    assert effect.value is not None
    if effect.value == 0:
        return "The means are equal."
    higher, lower = (told.label_a, told.label_b) if effect.value > 0 else (told.label_b, told.label_a)
    interval = effect.interval
    if effect.value < 0 and interval.low is not None and interval.high is not None:
        interval = msgspec.structs.replace(interval, low=-interval.high, high=-interval.low)
    ci = f" ({show_level(1 - told.alpha)} CI {show_ends(interval, place)})" if interval.known else ""
    unit = f" {told.unit}" if told.unit else ""
    text = f"The mean of {higher} is {show(abs(effect.value), place)}{unit} higher than that of {lower}{ci}"
    return f"{text}{_superiority(told, higher, lower)}."


def _superiority(told: Told, higher: str, lower: str) -> str:
    found = told.contrast.effects["p_superiority"]
    if found.value is None or found.interval.low is None or found.interval.high is None:
        return ""
    share, low, high = found.value, found.interval.low, found.interval.high
    if higher == told.label_b:
        share, low, high = 1 - share, 1 - high, 1 - low
    ci = f"{show_percent(low)}–{show_percent(high)}"
    small = f", short of the {show_percent(MEANINGFUL)} that is taken to matter" if share < MEANINGFUL else ""
    small = small if told.judged.differs else ""
    return (
        f"; a run of {higher} gives more than a run of {lower} with probability {show_percent(share)} (CI {ci}){small}"
    )


def _equivalence(told: Told) -> Iterable[str]:
    contrast = told.contrast
    if contrast.margin is None or contrast.equivalence is None:
        return
    margin = show(contrast.margin)
    if contrast.equivalence.p is None:
        yield f"Equivalence within ± {margin} could not be tested: {contrast.equivalence.reason}."
        return
    p = show_p(told.equivalence_p_adjusted, told.alpha)
    if told.judged.verdict == "equivalent":
        also = ": they differ, but by less than what matters" if told.judged.differs else ""
        yield f"Two one-sided tests: the means differ by less than {margin} (p = {p}){also}.".replace("= <", "< ")
    else:
        yield f"Two one-sided tests: not shown to differ by less than {margin} (p = {p})."


def _undirected(told: Told) -> Iterable[str]:
    if told.direction is None and told.judged.differs and told.judged.verdict == "no difference shown":
        yield (
            "A difference is shown, but nobody knows whether higher or lower values are better, so neither side can "
            "be called better; say it with --direction METRIC=higher or METRIC=lower."
        )


def _too_few(told: Told) -> Iterable[str]:
    contrast = told.contrast
    n, m = contrast.runs_compared
    needed = fewest_runs(told.alpha)
    if min(n, m) >= needed:
        reason = contrast.tests[contrast.location.test].reason or contrast.difference.reason
        yield f"Nothing could be tested: {reason}."
        if contrast.tests["welch_t"].reason.startswith("the runs of each side"):
            yield "Such runs are one training repeated; compare variants in which seeds vary."
        return
    yield f"{n} against {m} runs: a verdict needs {needed} a side."
    if min(n, m) >= 2:
        floor = smallest_p(n, m, paired=contrast.paired)
        cannot = f", so it cannot reach {told.alpha:g}" if floor > told.alpha else ""
        size = detectable_difference(n, m, told.alpha, paired=contrast.paired)
        yield f"The smallest p that a rank test can give with so few is {show_p(floor, told.alpha)}{cannot}."
        yield f"Only a difference of {size:.1f} SDs{_in_unit(told, size)} would show with a power of {_power()}."


def _not_shown(told: Told) -> Iterable[str]:
    contrast = told.contrast
    n, m = contrast.runs_compared
    alpha = _strictest(told)
    size = detectable_difference(n, m, alpha, paired=contrast.paired)
    seen = contrast.effects["cohen_dz" if contrast.paired else "cohen_d"].value
    what = "SDs of the differences" if contrast.paired else "SDs"
    each = f" (each of {told.family} tests at {alpha:.2g})" if alpha < told.alpha else ""
    yield (
        f"No difference shown is not no difference: with {n} against {m} runs one of {size:.2g} {what}"
        f"{_in_unit(told, size)} shows with a power of {_power()}{each}{_seen(seen, alpha, contrast.paired)}."
    )


def _strictest(told: Told) -> float:
    """Give the alpha of the first step of Holm's procedure, which is that of Bonferroni."""
    return told.alpha / max(told.family, 1) if told.correction in ("holm", "bonferroni") else told.alpha


def _seen(seen: float | None, alpha: float, paired: bool) -> str:
    if not seen:
        return ""
    needed = runs_for_difference(seen, alpha, paired=paired)
    what = f"{needed} runs a side" if needed else "more runs than can be made"
    return f"; to show one as large as was seen ({show_factor(abs(seen))}) takes {what}"


def _in_unit(told: Told, size: float) -> str:
    sd = None if told.contrast.paired else _pooled(told.spread_a, told.spread_b)
    unit = f" {told.unit}" if told.unit else ""
    return f" ({show(size * sd, last_place(size * sd))}{unit})" if sd else ""


def _pooled(a: Spread, b: Spread) -> float | None:
    if a.sd is None or b.sd is None:
        return None
    weighted = (a.n - 1) * a.sd**2 + (b.n - 1) * b.sd**2
    return float((weighted / (a.n + b.n - 2)) ** 0.5)


def _power() -> str:
    return show_percent(DEFAULT_POWER)


def _caveats(told: Told) -> Iterable[str]:
    contrast = told.contrast
    if contrast.paired:
        yield from _paired_caveat(contrast)
        return
    low, high = sorted((contrast.n_a, contrast.n_b))
    if high >= UNEQUAL_RUNS * low:
        yield f"With {low} against {high} runs, false alarms are 6 to 8% instead of 5% if values are skewed."
    ratio = contrast.sd_ratio.value
    if ratio is not None and max(ratio, 1 / ratio) >= UNEQUAL_SDS:
        yield (
            "The SDs differ by a factor of 2 or more: if values are skewed as well, false alarms are 10 to 18% instead "
            "of 5%."
        )


def _paired_caveat(contrast: Contrast) -> Iterable[str]:
    if contrast.correlation is not None:
        helps = "helps" if contrast.correlation > 0 else "does not help"
        yield f"The correlation within pairs is {show_signed(contrast.correlation, -2)}, so pairing {helps}."


def _too_few_spread(told: Told) -> Iterable[str]:
    yield f"{told.contrast.n_a} against {told.contrast.n_b} runs: a verdict needs {fewest_runs(told.alpha)} a side."
