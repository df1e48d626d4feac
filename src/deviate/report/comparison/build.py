"""Say everything about sides beside each other, as data."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import combinations

import msgspec
import numpy as np

from deviate.contrast.contrast import Contrast, contrast
from deviate.contrast.verdict import judge, judge_spread
from deviate.experiment import Direction
from deviate.measure.spread import Spread, spread
from deviate.report.comparison.families import Adjusted, adjust_families, family_sizes
from deviate.report.comparison.inputs import Asked, Side, SideMetric
from deviate.report.comparison.match import Matched, direction_of, match_metrics, settle_names
from deviate.report.comparison.methods import comparison_methods
from deviate.report.comparison.omnibus import metric_omnibus
from deviate.report.comparison.overview import headline
from deviate.report.comparison.pairing import Partners, partners
from deviate.report.comparison.parts import Comparison, MetricComparison, MetricOmnibus, PairComparison
from deviate.report.comparison.remarks import remarks
from deviate.report.comparison.sentences import Told, why, why_noisier
from deviate.report.order import place

#: Kinds of metrics with a true zero.
_RATIO_SCALES = ("speed", "resource")


class _Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one pair of sides, before the tests of all are looked at together."""

    a: SideMetric
    b: SideMetric
    spread_a: Spread
    spread_b: Spread
    contrast: Contrast
    direction: Direction | None


class _Families(msgspec.Struct, frozen=True, kw_only=True):
    """Adjusted p-values of each question, over the metrics and pairs of each family."""

    means: Adjusted
    spreads: Adjusted
    margins: Adjusted


def build_comparison(sides: Sequence[Side], asked: Asked, command: str) -> Comparison:
    """Compare sides in every metric they have in common.

    Parameters
    ----------
    sides : sequence of Side
        Two or more.
    asked : Asked
        What the user wants to know.
    command : str
        What to type for the same.

    Raises
    ------
    BadOption
        If options and metrics do not fit; see `match_metrics`.
    """
    asked = settle_names(sides, asked)
    # The same order in every table, as in a report.
    matched = sorted(match_metrics(sides, asked), key=lambda metrics: place(metrics[0]))
    places = list(combinations(range(len(sides)), 2))
    together = [partners(sides[i], sides[j], asked.pairing) for i, j in places]
    drawn = [
        [_draw(metrics[i], metrics[j], direction_of(metrics, asked), found, asked) for metrics in matched]
        for (i, j), found in zip(places, together, strict=True)
    ]
    families = _families([one for row in drawn for one in row], asked)
    pairs = [
        _pair(sides[i], sides[j], row, found, families, start * len(matched), asked)
        for start, ((i, j), row, found) in enumerate(zip(places, drawn, together, strict=True))
    ]
    family, times = family_sizes([metric for pair in pairs for metric in pair.metrics])
    return Comparison(
        labels=[side.label for side in sides],
        alpha=asked.alpha,
        correction=asked.correction,
        family=family,
        times_family=times,
        pairs=pairs,
        omnibus=_omnibus(sides, matched, pairs, asked),
        headline=headline(pairs, asked.correction),
        warnings=remarks(sides, matched, pairs, chosen=bool(asked.metrics)),
        methods=comparison_methods(pairs, family, asked),
        command=command,
    )


def _draw(a: SideMetric, b: SideMetric, direction: Direction | None, found: Partners, asked: Asked) -> _Drawn:
    # Own draws for each metric, so that leaving one out does not change the others.
    rng = np.random.default_rng([asked.seed, zlib.crc32(a.name.encode("utf-8", "replace"))])
    ratio_scale = a.kind in _RATIO_SCALES
    pairs, margin = found.places(a, b), asked.margins.get(a.name)
    return _Drawn(
        a=a,
        b=b,
        spread_a=spread(a.values, ratio_scale=ratio_scale),
        spread_b=spread(b.values, ratio_scale=ratio_scale),
        contrast=contrast(a.values, b.values, rng, level=asked.level, pairs=pairs, margin=margin),
        direction=direction,
    )


def _families(drawn: Sequence[_Drawn], asked: Asked) -> _Families:
    contrasts = [one.contrast for one in drawn]
    names = [one.a.name for one in drawn]
    margins = [None if found.equivalence is None else found.equivalence.p for found in contrasts]
    spreads = [found.tests[found.spread.test].p for found in contrasts]
    return _Families(
        means=adjust_families(names, [found.p for found in contrasts], asked.correction),
        spreads=adjust_families(names, spreads, asked.correction),
        margins=adjust_families(names, margins, asked.correction),
    )


def _pair(
    a: Side, b: Side, row: Sequence[_Drawn], found: Partners, families: _Families, start: int, asked: Asked
) -> PairComparison:
    metrics = [_metric(one, (a.label, b.label), families, start + place, asked) for place, one in enumerate(row)]
    return PairComparison(
        a=a.label,
        b=b.label,
        variant_a=a.variant,
        variant_b=b.variant,
        metrics=metrics,
        pairing=found.reason,
        shared=found.shared,
    )


def _metric(drawn: _Drawn, labels: tuple[str, str], families: _Families, place: int, asked: Asked) -> MetricComparison:
    found = drawn.contrast
    n_a, n_b = found.runs_compared
    judged = judge(
        n_a=n_a,
        n_b=n_b,
        alpha=asked.alpha,
        p_adjusted=families.means.ps[place],
        difference=found.difference.value,
        direction=drawn.direction,
        equivalence_p=families.margins.ps[place],
    )
    noisier = judge_spread(
        n_a=found.n_a,
        n_b=found.n_b,
        alpha=asked.alpha,
        p_adjusted=families.spreads.ps[place],
        sd_a=drawn.spread_a.sd,
        sd_b=drawn.spread_b.sd,
    )
    told = Told(
        label_a=labels[0],
        label_b=labels[1],
        contrast=found,
        spread_a=drawn.spread_a,
        spread_b=drawn.spread_b,
        unit=drawn.a.unit,
        direction=drawn.direction,
        alpha=asked.alpha,
        correction=asked.correction,
        family=families.means.sizes[place],
        spread_family=families.spreads.sizes[place],
        p_adjusted=families.means.ps[place],
        spread_p_adjusted=families.spreads.ps[place],
        equivalence_p_adjusted=families.margins.ps[place],
        judged=judged,
        noisier=noisier,
    )
    return MetricComparison(
        name_a=drawn.a.name,
        name_b=drawn.b.name,
        aggregate=drawn.a.aggregate,
        kind=drawn.a.kind,
        unit=drawn.a.unit,
        direction=drawn.direction,
        spread_a=drawn.spread_a,
        spread_b=drawn.spread_b,
        values_a=drawn.a.values,
        values_b=drawn.b.values,
        runs_a=drawn.a.runs,
        runs_b=drawn.b.runs,
        excluded_a=drawn.a.excluded,
        excluded_b=drawn.b.excluded,
        contrast=found,
        p_adjusted=told.p_adjusted,
        spread_p_adjusted=told.spread_p_adjusted,
        equivalence_p_adjusted=told.equivalence_p_adjusted,
        family=told.family,
        verdict=judged.verdict,
        differs=judged.differs,
        noisier=noisier,
        why=why(told),
        why_noisier=why_noisier(told),
    )


def _omnibus(
    sides: Sequence[Side], matched: Sequence[Matched], pairs: Sequence[PairComparison], asked: Asked
) -> list[MetricOmnibus]:
    return metric_omnibus(sides, matched, pairs, asked) if len(sides) > 2 else []
