"""Documents and comparisons as small pieces of HTML for a notebook, and their figures as Altair charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from deviate.report.comparison.cells import Cells
from deviate.report.comparison.parts import Comparison, PairComparison
from deviate.report.escape import clean, encodable
from deviate.report.figures import Figure, themed
from deviate.report.parts import Document, VariantReport, together
from deviate.report.shown import Shown, show_level
from deviate.report.words import count

#: Rows of a table; more are counted.
ROWS_SHOWN = 20

#: Pixels of a chart: not every notebook knows how wide its cells are.
NOTEBOOK_WIDTH = 560


class Figures(Mapping[str, Any]):
    """Altair charts by slug, each made when it is asked for: making one takes a moment.

    Parameters
    ----------
    figures : sequence of Figure
        With slugs of their own.
    """

    def __init__(self, figures: Sequence[Figure]) -> None:
        self._figures = {figure.slug: figure for figure in figures}

    def __getitem__(self, slug: str) -> Any:
        import altair as alt

        figure = self._figures[slug]
        return alt.Chart.from_dict({**themed(figure, title=True), "width": NOTEBOOK_WIDTH})

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __repr__(self) -> str:
        return f"<{count(len(self), 'figure')}: {', '.join(self)}>"

    def describe(self, slug: str) -> str:
        """Return the numbers that a figure shows, as a caption."""
        return self._figures[slug].description


def document_html(document: Document) -> str:
    """Return headline and metrics of an experiment as HTML: no script, no style of its own, every text escaped."""
    pieces = [f"<p><strong>{_text(document.experiment)}</strong></p>"]
    for variant in document.variants:
        pieces.append(f"<p>{_text(' '.join(variant.headline))}</p>")
        pieces += _metrics(variant, document.level)
    warnings = sum(warned.severity == "warning" for warned, _ in together(document.warnings))
    notes = len(together(document.warnings)) - warnings
    if warnings or notes:
        said = f"{count(warnings, 'warning')} and {count(notes, 'note')}"
        pieces.append(f"<p>{_text(f'{said}: deviate report {document.experiment}')}</p>")
    return f"<div>{''.join(pieces)}</div>"


def comparison_html(comparison: Comparison) -> str:
    """Return headline and metrics of a comparison as HTML, as `document_html`."""
    pieces = [f"<p><strong>{_text(' against '.join(comparison.labels))}</strong></p>"]
    pieces += [f"<p>{_text(sentence)}</p>" for sentence in comparison.headline]
    for pair in comparison.pairs:
        pieces += _pair(pair, comparison)
    return f"<div>{''.join(pieces)}</div>"


def _metrics(variant: VariantReport, level: float) -> list[str]:
    measured = [metric for metric in variant.metrics if metric.n]
    share = show_level(level)
    heads = ("metric", "aggregate", "n", "mean", "SD", "CV", "min", "max", f"{share} CI of the SD")
    rows = []
    for metric in measured:
        found = Shown(metric)
        numbers = (found.n, found.mean, found.sd, found.cv, found.min, found.max, found.ci_sd)
        rows.append((found.name, found.aggregate, *numbers))
    return _table(heads, rows) if rows else []


def _pair(pair: PairComparison, comparison: Comparison) -> list[str]:
    share = show_level(comparison.level)
    heads = ("metric", "n", pair.a, pair.b, "difference", f"{share} CI", "p", "verdict")
    rows = []
    for metric in pair.metrics:
        found = Cells(metric, pair)
        numbers = (found.runs, found.a, found.b, found.difference, found.ci, found.p)
        rows.append((f"{found.name}{found.unit}", *numbers, found.verdict))
    return _table(heads, rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    head = "".join(f"<th>{_text(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows[:ROWS_SHOWN])
    more = [f"<p>and {count(len(rows) - ROWS_SHOWN, 'more metric')}</p>"] if len(rows) > ROWS_SHOWN else []
    return [f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", *more]


def _text(text: str) -> str:
    return escape(encodable(clean(text)))
