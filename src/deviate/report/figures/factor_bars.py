"""How much runs differ by what varies: a bar a variant, the longest first."""

from __future__ import annotations

from typing import Any

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.sources import Ranking, SpreadAcross, VariantSpread, rank
from deviate.report.escape import clean
from deviate.report.figures.figure import Figure, slug
from deviate.report.figures.scales import axis_title, quantitative, rows
from deviate.report.figures.views import chart, number, only, tips, view, word
from deviate.report.numbers import show_level
from deviate.report.text.metric_text import SpreadText
from deviate.report.text.words import count

ROW = 30

#: The axis ends at this many times the largest SD: the interval of two or three runs is so wide that all bars would
#: be too short to see. What is cut is marked.
CUT_AT = 4.0

#: Name of the row that holds all variants whose runs are equal.
NO_EFFECT = "no effect"


def factor_figures(facts: ExperimentFacts) -> list[Figure]:
    """Return one figure for each metric in which the runs of some variant differ."""
    return [factor_figure(table, facts.level) for table in facts.across if rank(table).differing]


def factor_figure(table: SpreadAcross, level: float) -> Figure:
    """Draw the SD of one metric with its interval, a bar for each variant whose runs differ."""
    ranking = rank(table)
    sentences = [_sentence(row, table.unit) for row in (*ranking.differing, *ranking.equal, *ranking.unknown)]
    key = f"Whiskers: {show_level(level)} confidence interval of the SD; an arrow where it extends beyond the chart."
    return Figure(
        slug=slug("factors", table.metric),
        section="factors",
        title=f"How much {clean(table.metric)} differs between runs, by what varies",
        description=" ".join([*sentences, key]),
        metric=table.metric,
        spec=_chart(table, ranking),
    )


def _chart(table: SpreadAcross, ranking: Ranking) -> dict[str, Any]:
    end = _end(table)
    x = quantitative([0, end], axis_title(f"SD of {table.metric}", table.unit))
    silent = _silent(ranking)
    names = [*(row.variant for row in ranking.differing), *(row["variant"] for row in silent)]
    y = {"y": rows(names)}
    tooltips = tips(sd="SD", low="CI from", high="CI to", n="runs")
    at = {"x": number("sd", **x), **y, "tooltip": tooltips}
    whisker = {"x": number("low", **x), "x2": {"field": "shown"}, **y}
    data = {"known": [_row(row, end) for row in ranking.differing], **({"silent": silent} if silent else {})}
    layers = [
        view("known", "bar", at, height=12, opacity=0.75),
        view("known", "point", at, style="ink", shape="diamond", size=26, opacity=1, filled=True),
        view("known", "rule", whisker, transform=[only("isValid(datum.low)")], style="ink", strokeWidth=1.2),
        view(
            "known",
            "point",
            {"x": number("shown", **x), **y},
            transform=[only("datum.cut")],
            style="ink",
            shape="triangle-right",
            size=40,
            opacity=1,
            filled=True,
        ),
    ]
    if silent:
        words = {"x": number("at", **x), **y, "text": word("why")}
        layers.append(view("silent", "text", words, style="soft-text", align="left", dx=4))
    return chart(data, layers, ROW * len(names))


def _end(table: SpreadAcross) -> float:
    largest = max((row.sd for row in table.rows if row.sd is not None), default=0.0)
    high = max((row.ci_sd.high for row in table.rows if row.ci_sd.high is not None), default=largest)
    return min(high, CUT_AT * largest) * 1.02 or 1.0


def _row(row: VariantSpread, end: float) -> dict[str, Any]:
    low, high = row.ci_sd.low, row.ci_sd.high
    cut = high is not None and high > end
    fields = {"variant": row.variant, "n": row.n, "sd": row.sd, "low": low, "high": high}
    return {**fields, "shown": end if cut else high, "cut": cut}


def _silent(ranking: Ranking) -> list[dict[str, Any]]:
    """Return the rows that have words instead of a bar: variants without an effect in one, then those without an SD."""
    equal = [{"variant": NO_EFFECT, "at": 0, "why": ", ".join(row.variant for row in ranking.equal)}]
    unknown = [
        {"variant": row.variant, "at": 0, "why": "no SD: one run" if row.n == 1 else "no SD"} for row in ranking.unknown
    ]
    return [*(equal if ranking.equal else []), *unknown]


def _sentence(row: VariantSpread, unit: str) -> str:
    shown = SpreadText(row)
    if row.sd is None:
        return f"{clean(row.variant)}: {count(row.n, 'run')}, no SD."
    interval = f" ({shown.ci_sd})" if row.ci_sd.known else ""
    return f"{clean(row.variant)}: SD {shown.sd}{f' {clean(unit)}' if unit else ''}{interval}, {count(row.n, 'run')}."
