r"""A page as a LaTeX fragment of tables, paragraphs, lists, and lines for figures; for ``\input``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from itertools import groupby

from deviate.report.escape import clean
from deviate.report.figures.figure import Figure
from deviate.report.page import (
    Answer,
    Block,
    ByMetric,
    Code,
    Drawing,
    Facts,
    Fold,
    Hint,
    Page,
    Remarks,
    Section,
    Sentences,
    Strips,
    Table,
)
from deviate.report.text.words import code
from deviate.report.writers.latex_table import latex_table
from deviate.report.writers.latex_text import PREAMBLE, latex, latex_prose

#: Folder that the lines for figures name; that of the examples of ``--figures``.
FOLDER = "figures"

#: The comment that a fragment begins with.
HEAD = (
    r"% Needs \usepackage{booktabs}. Everything below may be cut into pieces; the line that begins with",
    r"% \providecommand is needed before names with letters that are not Latin: LuaLaTeX and XeLaTeX print them,",
    r"% with a font that has them; pdfLaTeX prints question marks.",
    r"% To cite the software, in BibTeX:",
    r"% @software{deviate, author = {{The Deviate authors}}, license = {MIT},",
    r"%   title = {{Deviate}: how much identical deep-learning training runs differ, and why}}",
    PREAMBLE,
    "",
)

_SIGNS = {"good": "+ ", "bad": "× "}

Lines = list[str]


def render_latex(page: Page) -> str:
    """Return the page as a fragment."""
    lines = [f"% {latex(text)}" for text in (page.title, page.subtitle) if text]
    lines += [*HEAD, *(line for section in page.sections for line in _section(section, page.command))]
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(section: Section, command: str) -> Lines:
    lines = _blocks(section.blocks, command)
    return [rf"\subsection*{{{latex(section.title)}}}", "", *lines] if section.title and lines else lines


def _blocks(blocks: Sequence[Block], command: str) -> Lines:
    lines: Lines = []
    for kind, run in groupby(blocks, key=type):
        if kind is Drawing:
            lines += _figures([block.figure for block in run if isinstance(block, Drawing)], command)
        else:
            lines += [line for block in run for line in _block(block, command)]
    return lines


@singledispatch
def _block(block: Block, command: str) -> Iterable[str]:
    raise TypeError(f"no LaTeX shows {type(block).__name__}")


@_block.register
def _(block: Sentences, command: str) -> Iterable[str]:
    if not block.listed:
        return _paragraph(block.about, block.sentences)
    return [*_title(block.about), *_list(map(latex_prose, block.sentences))]


@_block.register
def _(block: Answer, command: str) -> Iterable[str]:
    return _paragraph(block.about, [*block.sentences, *([block.basis] if block.basis else [])])


@_block.register
def _(block: Remarks, command: str) -> Iterable[str]:
    items = []
    for remark in block.remarks:
        lead = r"\textbf{Warning.} " if remark.severity == "warning" else ""
        about = f"{latex(remark.about)}: " if remark.about else ""
        items.append(lead + about + latex_prose(remark.message))
    return _list(items)


@_block.register
def _(block: Table, command: str) -> Iterable[str]:
    if not block.prose:
        return latex_table(block)
    return [*_title(block.caption), *_list(_item([cell.text for cell in row.cells]) for row in block.rows)]


@_block.register
def _(block: Facts, command: str) -> Iterable[str]:
    names = (rf"\item[{{{latex(name)}}}]" if name else r"\par" for name, _ in block.pairs)
    lines = [f"  {name} {latex_prose(text)}" for name, (_, text) in zip(names, block.pairs, strict=True)]
    return _environment("description", lines)


@_block.register
def _(block: Code, command: str) -> Iterable[str]:
    lines = [rf"\texttt{{{latex(line)}}}\par" for line in block.lines if line.strip()]
    return [r"{\raggedright\footnotesize\sloppy", *lines, "}", ""] if lines else []


@_block.register
def _(block: Hint, command: str) -> Iterable[str]:
    return _paragraph("", [block.text], rf"\texttt{{{latex(block.command)}}}")


@_block.register
def _(block: Drawing, command: str) -> Iterable[str]:
    return _figures([block.figure], command)


@_block.register
def _(block: Strips, command: str) -> Iterable[str]:
    # Papers have figures.
    return []


@_block.register
def _(block: Fold, command: str) -> Iterable[str]:
    title = f"{_SIGNS.get(block.emphasis, '')}{block.title} {block.remark}".rstrip()
    return [*_title(title), "", *_blocks(block.blocks, command)]


@_block.register
def _(block: ByMetric, command: str) -> Iterable[str]:
    return [line for panel in block.panels for line in _blocks(panel.blocks, command)]


def _title(title: str) -> Lines:
    return [rf"\paragraph{{{latex_prose(title if title[-1:] in '.:!?' else f'{title}.')}}}"] if title else []


def _paragraph(title: str, sentences: Iterable[str], *more: str) -> Lines:
    lines = [*(latex_prose(sentence) for sentence in sentences if sentence), *more]
    # Commands in typewriter are not broken within words.
    return [*_title(title), r"{\sloppy", *lines, r"\par}", ""] if lines else []


def _list(items: Iterable[str]) -> Lines:
    return _environment("itemize", [rf"  \item {item}" for item in items])


def _environment(name: str, lines: Lines) -> Lines:
    return [rf"\begin{{{name}}}\sloppy", *lines, rf"\end{{{name}}}", ""] if lines else []


def _item(texts: Sequence[str]) -> str:
    """Return a row of sentences: what is asked, what is answered, and further texts behind it."""
    question, answer, *more = [*texts, *[""] * (2 - len(texts))]
    behind = latex("; ".join(text for text in more if text))
    return rf"\emph{{{latex(question)}}} {latex_prose(answer)}{f' ({behind})' if behind else ''}"


def _figures(figures: Iterable[Figure], command: str) -> Lines:
    r"""Return a commented ``figure`` with its caption for each, ready to be cut out and used."""
    words = clean(f"{command} --figures {FOLDER}").strip()
    needs = rf"% Figures, as {code(words)} writes them; they need \usepackage{{graphicx}}."
    return [needs, *(line for figure in figures for line in _figure(figure)), ""]


def _figure(figure: Figure) -> Iterable[str]:
    yield r"% \begin{figure}[tbp]"
    yield r"%   \centering"
    yield rf"%   \includegraphics[width=\columnwidth]{{{FOLDER}/{figure.slug}.pdf}}"
    yield rf"%   \caption{{{latex(figure.description)}}}"
    yield rf"%   \label{{fig:{figure.slug}}}"
    yield r"% \end{figure}"
