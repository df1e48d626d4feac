"""A comparison as Markdown, for a repository or a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.contrast.labels import TEST_NAMES
from deviate.contrast.multiplicity import CORRECTION_NAMES
from deviate.report.comparison.cells import Cells
from deviate.report.comparison.families import adjusted_as
from deviate.report.comparison.numbers import show_p, show_statistic
from deviate.report.comparison.parts import Comparison, MetricComparison, MetricOmnibus, PairComparison
from deviate.report.escape import markdown, markdown_code, markdown_prose
from deviate.report.shown import UNKNOWN, show_level


def render_comparison_markdown(comparison: Comparison) -> str:
    """Return the whole comparison, every metric and every test included."""
    lines = [f"# {markdown(' against '.join(comparison.labels))}", ""]
    lines += [line for sentence in comparison.headline for line in (markdown(sentence), "")]
    lines += [line for found in comparison.omnibus for line in _omnibus(found)]
    lines += [line for pair in comparison.pairs for line in _pair(pair, comparison)]
    if comparison.warnings:
        lines += ["## What to know before trusting the numbers", ""]
        lines += [_warned(warned.message, warned.severity == "warning") for warned in comparison.warnings]
        lines.append("")
    lines += ["## Methods", "", " ".join(map(markdown_prose, comparison.methods)), ""]
    lines += ["## How to get this again", "", *markdown_code([comparison.command])]
    return "\n".join(lines).rstrip("\n") + "\n"


def _pair(pair: PairComparison, comparison: Comparison) -> list[str]:
    ci = f"{show_level(comparison.level)} CI"
    adjusted = adjusted_as(comparison)
    p = f"p ({CORRECTION_NAMES[comparison.correction]})" if adjusted else "p"
    heads = ("metric", "aggregate", "n", markdown(pair.a), markdown(pair.b), "difference", ci, p, "verdict")
    lines = [f"## {markdown(pair.a)} against {markdown(pair.b)}", "", _row(heads)]
    lines.append(_row(["---", "---", *["---:"] * 6, "---"]))
    cells = [(metric, Cells(metric, pair)) for metric in pair.metrics]
    lines += [
        _row([markdown(c.name + c.unit), c.aggregate, c.runs, c.a, c.b, c.difference, c.ci, c.p, markdown(c.verdict)])
        for _, c in cells
    ]
    lines += ["", f"Mean ± SD. Difference: first less second.{f' {adjusted}.' if adjusted else ''}", ""]
    lines += ["", _row(["metric", "SD ratio", ci, "p", "verdict on the spread"]), _row(["---", *["---:"] * 3, "---"])]
    lines += [
        _row([markdown(c.name), c.ratio, c.ratio_ci, show_p(metric.spread_p_adjusted), markdown(c.noisier)])
        for metric, c in cells
    ]
    for metric, c in cells:
        lines += ["", *_details(metric, c)]
    return [*lines, ""]


def _details(metric: MetricComparison, cells: Cells) -> Iterable[str]:
    found = metric.contrast
    yield f"### {markdown(cells.name)}"
    yield ""
    yield markdown(" ".join(metric.why))
    yield ""
    yield f"Spread: {markdown(' '.join(metric.why_noisier))}"
    yield ""
    yield _row(["test", "statistic", "p", "how"])
    yield _row(["---", "---:", "---:", "---"])
    for name, test in found.tests.items():
        chosen = " (decides)" if name in (found.location.test, found.spread.test) else ""
        how = markdown(test.reason or test.method)
        yield _row([TEST_NAMES[name] + chosen, show_statistic(test), show_p(test.p), how])
    yield ""
    yield "The intervals of d and g assume normal values; those of delta and P(A > B) assume no distribution."
    yield ""
    yield _row(["effect", "value (CI)"])
    yield _row(["---", "---:"])
    for name, text in cells.effects.items():
        yield _row([markdown(name), text])
    for name, order in (("first over second", found.a_over_b), ("second over first", found.b_over_a)):
        epsilon = UNKNOWN if order.epsilon is None else f"{order.epsilon:.2g}"
        yield _row([f"almost stochastic order, {name}", epsilon])


def _omnibus(found: MetricOmnibus) -> list[str]:
    lines = [f"## {markdown(found.name)}: ranking", "", markdown(found.why), ""]
    if found.places:
        lines += [_row(["rank", "experiment", "place"]), _row(["---:", "---", "---:"])]
        lines += [
            _row([str(place.rank), markdown(place.name), f"{place.lowest}–{place.highest}"]) for place in found.places
        ]
        lines.append("")
    return lines


def _warned(message: str, serious: bool) -> str:
    return f"- {'**Warning.** ' if serious else ''}{markdown(message)}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
