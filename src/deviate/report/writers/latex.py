r"""The document as a LaTeX fragment: tables, a methods paragraph, answers to checklists; for ``\input``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deviate.report.curves import Curves
from deviate.report.figures.slugs import slug
from deviate.report.latex_text import PREAMBLE, latex, latex_prose, number
from deviate.report.order import ORDER
from deviate.report.parts import Answer, Document, MetricReport, SpreadAcross, VariantReport
from deviate.report.shown import Places, Shown, ShownSpread, places, show_level
from deviate.report.words import count
from deviate.report.writers.latex_figures import figure_lines

#: Rows of a table that fit a page.
ROWS = 40

#: What a reader of a fragment is told first.
HEAD = (
    r"% Needs \usepackage{booktabs}. Everything below may be cut into pieces; the line that begins with",
    r"% \providecommand is needed before names with letters that are not Latin: LuaLaTeX and XeLaTeX print them,",
    r"% with a font that has them; pdfLaTeX prints question marks.",
    PREAMBLE,
    "",
)


def render_latex(document: Document, curves: Curves | None = None) -> str:
    """Return the tables of every variant, the spread by factor, the methods, the checklist and lines for figures.

    Parameters
    ----------
    document : Document
        What is said.
    curves : Curves, optional
        Of `deviate.report.curves.curves_of`; without, no line is for a figure of learning curves.
    """
    lines = [f"% {latex(document.experiment)}, written {document.generated}", f"% {ORDER}", *HEAD]
    digits = places(metric for variant in document.variants for metric in variant.metrics)
    for variant in document.variants:
        lines += _metrics(variant, document, digits)
    lines += _across(document)
    lines += paragraph("Methods.", document.methods)
    lines += _checklist(document.checklist)
    lines += figure_lines(document, curves)
    return "\n".join(lines).rstrip("\n") + "\n"


def table(heads: Sequence[str], columns: str, rows: Sequence[Sequence[str]], caption: str, label: str) -> list[str]:
    """Return a table with booktabs rules as lines; as several where it has more rows than a page.

    Parameters
    ----------
    heads : sequence of str
        Names of the columns, escaped.
    columns : str
        Their alignment, as ``lrr``.
    rows : sequence of sequence of str
        Cells, escaped; a row of one cell is a heading over all columns. Rows below a heading stay together, and where
        they are too many for one table the next one repeats it.
    caption : str
        Escaped.
    label : str
        Of ASCII letters, digits and hyphens.
    """
    lines: list[str] = []
    pages = _pages(rows)
    for page, part in enumerate(pages, 1):
        more = f" ({page} of {len(pages)})" if len(pages) > 1 else ""
        lines += [
            r"\begin{table*}[tbp]",
            # The classes of LaTeX itself leave no room between a caption and what is below it.
            r"  \centering\footnotesize\setlength{\tabcolsep}{3pt}\setlength{\belowcaptionskip}{4pt}",
            rf"  \caption{{{caption}{more}}}",
            rf"  \label{{tab:{label}{f'-{page}' if page > 1 else ''}}}",
            rf"  \begin{{tabular}}{{@{{}}{columns}@{{}}}}",
            r"    \toprule",
            f"    {_row(heads, len(columns))}",
            r"    \midrule",
            *(f"    {_row(row, len(columns))}" for row in part),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table*}",
            "",
        ]
    return lines


def paragraph(title: str, sentences: Iterable[str]) -> list[str]:
    """Return sentences as one paragraph with a title; nothing where there are none."""
    said = [latex_prose(sentence) for sentence in sentences]
    # Commands in typewriter are not broken within words.
    return [rf"\paragraph{{{latex(title)}}}", r"{\sloppy", *said, r"\par}", ""] if said else []


def _pages(rows: Sequence[Sequence[str]]) -> list[list[Sequence[str]]]:
    """Share rows among tables of at most `ROWS`, cut between the metrics where that is possible."""
    pages: list[list[Sequence[str]]] = [[]]
    for group in _groups(rows):
        if pages[-1] and len(pages[-1]) + len(group) > ROWS:
            pages.append([])
        pages[-1] += group
        while len(pages[-1]) > ROWS:
            again = [[f"{group[0][0]} (continued)"]] if len(group[0]) == 1 else []
            pages[-1:] = [pages[-1][:ROWS], [*again, *pages[-1][ROWS:]]]
    return pages


def _groups(rows: Sequence[Sequence[str]]) -> Iterable[list[Sequence[str]]]:
    """Yield each heading with the rows below it; rows without a heading by themselves."""
    group: list[Sequence[str]] = []
    for row in rows:
        headed = bool(group) and len(group[0]) == 1
        if group and (len(row) == 1 or not headed):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _row(cells: Sequence[str], width: int) -> str:
    if len(cells) == 1:
        return rf"\multicolumn{{{width}}}{{@{{}}l}}{{{cells[0]}}} \\"
    return rf"{' & '.join(cells)} \\"


def _metrics(variant: VariantReport, document: Document, digits: Places) -> list[str]:
    measured = [metric for metric in variant.metrics if metric.n]
    if not measured:
        return []
    level = latex(show_level(document.level))
    heads = ("Metric", "$n$", "Mean", "SD", f"{level} CI of the mean", f"{level} CI of the SD", "Min", "Max")
    done = f"{variant.completed} of {count(variant.planned, 'run')} completed"
    caption = f"{document.experiment}, {variant.variant} ({variant.factors.gloss}): {done}. SD: of single runs."
    label = slug("metrics", document.experiment, variant.variant)
    return table(heads, "lrrrrrrr", [_cells(metric, digits) for metric in measured], latex(caption), label)


def _cells(metric: MetricReport, digits: Places) -> list[str]:
    shown = Shown(metric, digits)
    how = f" ({shown.aggregate})" if shown.aggregate else ""
    numbers = (shown.n, shown.mean, shown.sd, shown.ci_mean, shown.ci_sd, shown.min, shown.max)
    return [latex(f"{shown.name}{how}"), *map(number, numbers)]


def _across(document: Document) -> list[str]:
    if not document.across:
        return []
    whole = any(found.whole for found in document.across)
    level = latex(show_level(document.level))
    heads = ["What varies", "$n$", "Mean", "SD", f"{level} CI of the SD", *(["SD, share"] if whole else [])]
    rows = [row for found in document.across for row in _spread_rows(found, whole)]
    shares = {found.whole for found in document.across if found.whole}
    of = f" Shares are of the SD of {', '.join(sorted(shares))}." if shares else ""
    caption = f"{document.experiment}: how much runs differ, by what varies.{of} {' '.join(document.across_notes)}"
    columns = "lrrrr" + ("r" if whole else "")
    return table(heads, columns, rows, latex(caption.strip()), slug("factors", document.experiment))


def _spread_rows(found: SpreadAcross, whole: bool) -> Iterable[list[str]]:
    unit = f", {found.unit}" if found.unit else ""
    yield [rf"\emph{{{latex(f'{found.metric} ({found.aggregate}{unit})')}}}"]
    for row in found.rows:
        shown = ShownSpread(row, found.rows)
        cells = (shown.n, shown.mean, shown.sd, shown.ci_sd, *([shown.relative] if whole else []))
        yield [rf"\quad {latex(row.variant)}", *map(number, cells)]


def _checklist(answers: Sequence[Answer]) -> list[str]:
    if not answers:
        return []
    items = [
        rf"  \item \emph{{{latex(answer.question)}}} {latex_prose(answer.answer)} ({latex('; '.join(answer.asked_by))})"
        for answer in answers
    ]
    return [r"\paragraph{Reproducibility.}", r"\begin{itemize}\sloppy", *items, r"\end{itemize}"]
