"""What varied, drawn: SD, churn and distance of weights beside each other, a row for each variant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from deviate.core.factors import IMPLEMENTATION, find_variant, plain_name
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.sources import SpreadAcross, VariantSpread, is_fixed
from deviate.facts.variant import VariantFacts
from deviate.report.escape import clean
from deviate.report.figures import Figure, chart, only, quantity, slug, tips, view, word
from deviate.report.numbers import show_level, unit_in_name
from deviate.report.topics.distribution import SpreadText
from deviate.report.words import count
from deviate.stats.intervals import Interval
from deviate.stats.pairs import Estimate

#: Height of a row, in pixels.
ROW = 24

#: An axis ends at this many times its largest number: the interval of a few runs is wide. What is cut has an arrow.
CUT_AT = 4.0

#: From the start of one panel to that of the next, each 1 long.
STEP = 1.22

#: Names of the rows above and below the variants: what the panels show, and the numbers of their axes.
_HEAD, _AXIS = " ", "  "

#: Distance of two unit vectors that have nothing to do with each other.
UNRELATED = 1.41


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity by variant, on an axis from 0."""

    title: str
    #: By place of the row; None: not known.
    values: list[float | None]
    intervals: list[Interval | None]
    #: Where the axis ends; None: where the numbers do.
    end: float | None = None

    @property
    def most(self) -> float:
        """The end of the axis."""
        largest = max((value for value in self.values if value is not None), default=0.0)
        high = max((each.high for each in self.intervals if each and each.high is not None), default=largest)
        return self.end or min(max(high, largest), CUT_AT * largest) * 1.02 or 1.0


def sources_figures(facts: ExperimentFacts) -> list[Figure]:
    """Return one figure for each metric in which the runs of some variant differ."""
    return [_figure(table, facts, whole=not place) for place, table in enumerate(facts.across) if has_effect(table)]


def _figure(table: SpreadAcross, facts: ExperimentFacts, *, whole: bool) -> Figure:
    rows = source_rows(table, facts)
    shown = [row for row in rows if not row.folded]
    panels = [_sds(table, shown), *(_of_models(shown, facts) if whole else [])]
    return Figure(
        slug=slug("factors", table.metric),
        section="factors",
        title=f"What makes {clean(table.metric)} differ between runs",
        description=" ".join([*_sentences(table, rows), f"Lines: {show_level(facts.level)} confidence intervals."]),
        metric=table.metric,
        spec=_chart(panels, rows, table.whole),
    )


def _sds(table: SpreadAcross, rows: Sequence[SourceRow]) -> Panel:
    return Panel(
        title=f"SD of {clean(table.metric)}{clean(unit_in_name(table.unit))}",
        values=[row.spread.sd for row in rows],
        intervals=[row.spread.ci_sd for row in rows],
    )


def _of_models(rows: Sequence[SourceRow], facts: ExperimentFacts) -> Iterator[Panel]:
    churn = [churn_of(row.facts, facts) for row in rows]
    if any(each is not None and each.value is not None for each in churn):
        yield Panel(
            title="churn, %",
            values=[None if each is None or each.value is None else 100 * each.value for each in churn],
            intervals=[None if each is None else _percent(each.interval) for each in churn],
        )
    by_variant = {each.variant: each.distance for each in facts.weights}
    distances = [by_variant.get(row.spread.variant) for row in rows]
    if any(each is not None and each.value is not None for each in distances):
        yield Panel(
            title="L2 of weights",
            values=[None if each is None else each.value for each in distances],
            intervals=[None if each is None else each.interval for each in distances],
            end=UNRELATED * 1.02,
        )


def _percent(interval: Interval) -> Interval:
    low, high = (None if end is None else 100 * end for end in (interval.low, interval.high))
    return msgspec.structs.replace(interval, low=low, high=high)


def _chart(panels: Sequence[Panel], rows: Sequence[SourceRow], whole: str) -> dict[str, Any]:
    names = [clean(row.name) for row in rows]
    shown = [name for name, row in zip(names, rows, strict=True) if not row.folded]
    wholes = [row.spread.variant == whole for row in rows if not row.folded]
    x = {"scale": {"domain": [0, STEP * len(panels) - (STEP - 1)], "nice": False}, "axis": None}
    y = {
        "y": word(
            "variant",
            sort=None,
            scale={"domain": [_HEAD, *names, _AXIS]},
            title=None,
            axis={"grid": False, "ticks": False, "domain": False},
        )
    }
    data = {
        "points": list(_points(panels, shown, wholes)),
        **_frame(panels, shown),
        "folded": [
            {"at": 0.0, "variant": name, "text": clean(row.folded)}
            for name, row in zip(names, rows, strict=True)
            if row.folded
        ],
    }
    return chart(data, _layers(x, y), ROW * (len(names) + 2))


def _frame(panels: Sequence[Panel], shown: Sequence[str]) -> dict[str, Any]:
    """Return where panels begin, and the numbers of their axes."""
    return {
        "frames": [{"at": STEP * place, "variant": _HEAD, "text": panel.title} for place, panel in enumerate(panels)],
        "starts": [{"at": STEP * place, "variant": name} for place in range(len(panels)) for name in shown],
        "ticks": [
            {"at": STEP * place + tick / panel.most, "variant": _AXIS, "text": f"{tick:g}"}
            for place, panel in enumerate(panels)
            for tick in (rounded_ticks(panel.most) if panel.end is None else [0.0, 0.5, 1.0, UNRELATED])
        ],
    }


def _layers(x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is drawn: starts and axes of panels, then points with their intervals, the whole with wider ones."""
    at = {"x": quantity("at", **x), **y}
    text = {**at, "text": word("text")}
    line = {"x": quantity("low", **x), "x2": {"field": "high"}, **y}
    seen = {**at, "tooltip": tips(the_name="what varied", the_of="of", value="value")}
    layers = [
        view("starts", "tick", at, orient="vertical", size=ROW, thickness=0.8, opacity=0.5, style="ink"),
        view("frames", "text", text, align="left", dx=2, fontWeight="bold"),
        view("ticks", "text", text, style="soft-text", align="center"),
        view("folded", "text", text, style="soft-text", align="left", dx=4),
    ]
    for is_whole, thick, look in ((True, 3, {}), (False, 2, {"style": "ink"})):
        chosen = only(f"datum.whole === {str(is_whole).lower()}")
        layers += [
            view(
                "points", "bar", line, transform=[chosen, only("isValid(datum.low)")], height=thick, opacity=1, **look
            ),
            view("points", "point", seen, transform=[chosen], size=44, opacity=1, filled=True, **look),
            view(
                "points",
                "point",
                {"x": quantity("high", **x), **y},
                transform=[chosen, only("datum.cut")],
                shape="triangle-right",
                size=40,
                opacity=1,
                filled=True,
                **look,
            ),
        ]
    return layers


def _points(panels: Sequence[Panel], names: Sequence[str], wholes: Sequence[bool]) -> Iterator[dict[str, Any]]:
    for place, panel in enumerate(panels):
        for name, whole, value, ends in zip(names, wholes, panel.values, panel.intervals, strict=True):
            if value is None:
                continue
            drawn: dict[str, Any] = {"low": None, "high": None, "cut": False}
            if ends is not None and ends.low is not None and ends.high is not None:
                low, high = (STEP * place + min(end / panel.most, 1.0) for end in (ends.low, ends.high))
                drawn = {"low": low, "high": high, "cut": ends.high > panel.most}
            at = STEP * place + value / panel.most
            yield {"variant": name, "name": name, "whole": whole, "of": panel.title, "value": value, "at": at, **drawn}


def _sentences(table: SpreadAcross, rows: Sequence[SourceRow]) -> Iterator[str]:
    for row in rows:
        name, text = clean(row.name), SpreadText(row.spread, table)
        if row.folded:
            yield f"{name}: {clean(row.folded)}."
        elif row.spread.sd is None:
            yield f"{name}: no SD of one run."
        else:
            interval = f" {text.ci_sd}" if row.spread.sd and row.spread.ci_sd.known else ""
            yield f"{name}: SD {text.sd}{clean(unit_in_name(table.unit))}{interval}."


# The variants of an experiment as rows: which come first, what they are called, and which are folded and why.


class SourceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One variant with all that is known of it, and its place in the table."""

    spread: VariantSpread
    facts: VariantFacts
    name: str
    #: It varies a part of what varies in the whole.
    inner: bool
    #: Empty where it has a row of numbers; else why it has none.
    folded: str


def source_rows(table: SpreadAcross, facts: ExperimentFacts) -> list[SourceRow]:
    """Return the variants of a table: all together first, then by SD, nothing last; those without an effect folded."""
    by_name = {variant.variant: variant for variant in facts.variants}
    spreads = {row.variant: row for row in table.rows}
    rows = [_row(spread, by_name[name], table, by_name) for name, spread in spreads.items()]
    return sorted(rows, key=lambda row: (_FOLDS.get(row.folded[:4], 0), *_rank(row.spread, table)))


#: Below the rows of numbers: what can have no effect, then what has the runs of another row, then what draws nothing.
_FOLDS = {"": -1, "no e": 0, "same": 1, "no d": 2}


def _rank(row: VariantSpread, table: SpreadAcross) -> tuple[bool, bool, float]:
    return row.variant != table.whole, is_fixed(row.variant), -(row.sd or 0.0)


def _row(
    spread: VariantSpread, variant: VariantFacts, table: SpreadAcross, by_name: dict[str, VariantFacts]
) -> SourceRow:
    whole = by_name.get(table.whole)
    inner = whole is not None and _is_part(variant, whole)
    folded = _folded(spread, variant, by_name)
    name = plain_name(variant.variant)
    return SourceRow(spread=spread, facts=variant, name=name, inner=inner and not folded, folded=folded)


def _is_part(variant: VariantFacts, whole: VariantFacts) -> bool:
    """Tell whether a variant varies something, and not all, of what varies in the whole."""
    own, every = find_variant(variant.variant), find_variant(whole.variant)
    return bool(own and every and own.controlled and own.varying and own.varying < every.varying)


def _folded(spread: VariantSpread, variant: VariantFacts, by_name: dict[str, VariantFacts]) -> str:
    """Say why a variant can have no effect; empty where it can, or its runs differ."""
    known = find_variant(variant.variant)
    if spread.sd or known is None or not known.controlled or known.is_fixed or known.disturbed:
        return _twin(spread, variant, by_name)
    if known.varying == {IMPLEMENTATION} and variant.without_noise:
        return f"no effect possible: {_threads(variant)}, no GPU"
    if not spread.is_drawn:
        return "none seen in these runs"
    return ""


def _threads(variant: VariantFacts) -> str:
    threads = {each for each in variant.threads if each is not None}
    return count(threads.pop(), "thread") if len(threads) == 1 else "pinned threads"


def _twin(spread: VariantSpread, variant: VariantFacts, by_name: dict[str, VariantFacts]) -> str:
    """Say that a variant has the same runs as another one that varies kernels as well, which have no effect."""
    known = find_variant(variant.variant)
    if known is None or not variant.without_noise or IMPLEMENTATION in known.varying or not known.varying:
        return ""
    for other in by_name.values():
        freed = find_variant(other.variant)
        if freed and freed.varying == known.varying | {IMPLEMENTATION} and _values(other) == _values(variant):
            return f"same runs as {freed.plain}, as kernels have no effect here"
    return ""


def _values(variant: VariantFacts) -> list[tuple[str, list[float]]]:
    return [(metric.name, list(metric.values)) for metric in variant.metrics if metric.kind != "speed"]


def has_effect(table: SpreadAcross) -> bool:
    """Tell whether the runs of some variant differ."""
    return any(row.sd for row in table.rows)


def churn_of(variant: VariantFacts, facts: ExperimentFacts) -> Estimate | None:
    """Return the share of examples on which two runs of a variant differ; None where it is not known."""
    main = facts.main_stability(variant.variant)
    return main.labels.churn if main is not None and main.labels is not None else None


def rounded_ticks(most: float) -> list[float]:
    """Return three to six round numbers from 0 up to the largest."""
    steps = (digit * 10.0**power for power in range(-12, 13) for digit in (1, 2, 5))
    step = next((each for each in steps if most / each < 5), most or 1.0)
    return [step * place for place in range(int(most / step) + 1)]
