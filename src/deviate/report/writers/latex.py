r"""A page as a LaTeX fragment of tables, paragraphs, lists, and lines for figures; for ``\input``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import singledispatch
from itertools import groupby

import msgspec

from deviate.report.escape import clean, code_pieces, encodable
from deviate.report.figures import Figure, slug
from deviate.report.numbers import UNKNOWN
from deviate.report.page import (
    Answer,
    Bars,
    Block,
    ByMetric,
    Cell,
    Code,
    Column,
    Drawing,
    Facts,
    Fold,
    Hint,
    Latex,
    Page,
    Remarks,
    Row,
    Section,
    Sentences,
    Strips,
    Table,
)
from deviate.report.words import code

# Text and numbers as LaTeX shows them, whoever wrote them.
#
# Letters that pdfLaTeX has no glyph for by itself are put into ``\deviateother``, which `PREAMBLE` defines: LuaLaTeX
# and XeLaTeX print them, pdfLaTeX prints a question mark for each instead of stopping.

#: What a fragment needs before its first use of `latex`.
PREAMBLE = (
    r"\providecommand{\deviateother}[2]"
    r"{\ifdefined\directlua#1\else\ifdefined\XeTeXversion#1\else#2\fi\fi}"
)

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # Some languages of babel give these another meaning.
    '"': r"\symbol{34}",
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "µ": r"$\mu$",
    "°": r"\textdegree{}",
    "η": r"$\eta$",
    "²": "$^2$",
}

#: Signs that TeX draws as one where they follow each other, such as the two hyphens of an option.
_LIGATURES = "-,'!?"

#: Letters beside ASCII that pdfLaTeX knows in every font encoding.
_LATIN = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿß"

_OTHER = re.compile(rf"([^\x20-\x7e{_LATIN}±−×–—…µ°η²]+)")

#: What is mathematics in a sentence: a divisor, a p-value, and the letter of "p-values".
_MATHS = re.compile(r"(?<![\w.])(n - 1(?![\w.])|p [=<] \d+(?:\.\d+)?(?:e-?\d+)?(?!\w)|p(?=-values?\b))")

#: Numbers, intervals and p-values; all else is text.
_NUMERIC = re.compile(r"<?[-−–±.,%\d e+]*(?: to [-−.\de]+)?")

_NUMBER = re.compile(r"(?<![\w.])(-?)(\d[\d.,]*)(?:e(-?\d+))?")


def latex(text: str) -> str:
    r"""Return one line that LaTeX shows as `text` and that does nothing else.

    >>> print(latex("val_acc 100% of {x}\\input{y}"))
    val\_acc 100\% of \{x\}\textbackslash{}input\{y\}
    >>> print(latex("--epochs"), latex("точ"))
    -{}-epochs \deviateother{точ}{???}
    >>> print(latex("partial η²"))
    partial $\eta$$^2$
    >>> print(latex("[1] a*"))
    {}[1] a*
    """
    pieces = _OTHER.split(encodable(clean(text)))
    # Every second piece is a match of `_OTHER`.
    written = "".join(_others(piece) if index % 2 else _known(piece) for index, piece in enumerate(pieces))
    # A bracket or a star would belong to the command before it: the end of a row, a rule, an item.
    return f"{{}}{written}" if written.startswith(("[", "*")) else written


def latex_prose(text: str) -> str:
    r"""Return a sentence as `latex` does, with what one types in typewriter and what is mathematics as such.

    >>> print(latex_prose("`python a_b.py` has divisor n - 1 and p < 1.5e-7."))
    \texttt{python a\_b.py} has divisor $n-1$ and $p<1.5\times10^{-7}$.
    """
    pieces = enumerate(code_pieces(text))
    return "".join(rf"\texttt{{{latex(piece)}}}" if index % 2 else _with_maths(piece) for index, piece in pieces)


def _with_maths(text: str) -> str:
    # Every second piece is a match of `_MATHS`.
    return "".join(_math(piece) if index % 2 else latex(piece) for index, piece in enumerate(_MATHS.split(text)))


def _math(number: str) -> str:
    digits, _, power = number.replace(" ", "").partition("e")
    return rf"${digits}\times10^{{{int(power)}}}$" if power else f"${digits}$"


def number(text: str) -> str:
    r"""Return a number, an interval or a p-value, as `report.numbers` writes them, in LaTeX.

    >>> print(number("-0.5 to 1.2e-7"), number("0.1–0.3"), number("<0.0001"), number("13%"))
    $-0.5$ to $1.2\times10^{-7}$ 0.1--0.3 $<$0.0001 13\%
    """
    if text == UNKNOWN:
        return "--"
    if not _NUMERIC.fullmatch(text):
        return latex(text)
    signs = {"–": "--", "±": r"$\pm$", "%": r"\%", "<": "$<$"}
    return "".join(signs.get(sign, sign) for sign in _NUMBER.sub(_grouped, text.replace("−", "-")))


def _grouped(match: re.Match[str]) -> str:
    minus, digits, power = match.groups()
    if power is None:
        return f"${minus}{digits}$" if minus else digits
    return rf"${minus}{digits}\times10^{{{int(power)}}}$"


def _known(text: str) -> str:
    signs = []
    for before, sign in zip(" " + text, text, strict=False):
        apart = "{}" if sign == before and sign in _LIGATURES else ""
        signs.append(apart + _SPECIAL.get(sign, sign))
    return "".join(signs)


def _others(text: str) -> str:
    return rf"\deviateother{{{text}}}{{{'?' * len(text)}}}"


# Tables with booktabs rules, split where they have more rows than a page.

#: Rows of a table that fit a page.
ROWS = 40

#: Heads that are symbols, which papers set as mathematics.
_SYMBOLS = frozenset({"n", "p", "N", "P"})

#: Column of notes on a row, which are sentences.
_WRAPPED = r"p{0.9\linewidth}@{}"


def latex_table(table: Table) -> list[str]:
    """Return a table as lines, as several where it has too many rows."""
    pages = [table.rows[start : start + ROWS] for start in range(0, max(1, len(table.rows)), ROWS)]
    below = _below(table)
    lines: list[str] = []
    for index, rows in enumerate(pages, 1):
        more = f" ({index} of {len(pages)})" if len(pages) > 1 else ""
        lines += [
            r"\begin{table*}[tbp]",
            # The classes of LaTeX itself leave no room between a caption and what is below it.
            r"  \centering\footnotesize\setlength{\tabcolsep}{3pt}\setlength{\belowcaptionskip}{4pt}",
            rf"  \caption{{{latex(f'{table.caption} {table.remark}'.strip())}{more}}}",
            rf"  \label{{tab:{slug(table.slug or table.caption)}{f'-{index}' if index > 1 else ''}}}",
            *_tabular(table.columns, rows, table.folded if index == len(pages) else []),
            *(below if index == len(pages) else []),
            r"\end{table*}",
            "",
        ]
    return lines


def _below(table: Table) -> list[str]:
    more = [f"{table.more.text} {code(table.more.command)}"] if table.more else []
    texts = [latex_prose(text) for text in (*more, *table.sentences, *table.small_print)]
    return [r"  \par\smallskip\begin{minipage}{0.9\linewidth}", *texts, r"  \end{minipage}"] if texts else []


def _tabular(columns: Sequence[Column], rows: Sequence[Row], folded: Sequence[tuple[str, str]]) -> Iterable[str]:
    letters = "".join(map(_alignment, columns))
    yield rf"  \begin{{tabular}}{{@{{}}{letters}@{{}}}}"
    yield r"    \toprule"
    yield rf"    {' & '.join(_head(column.head) for column in columns)} \\"
    yield r"    \midrule"
    for row in rows:
        yield f"    {_row(row, columns)}"
        notes = (rf"\quad {latex_prose(note)}" for note in row.notes)
        yield from (f"    {_across(note, len(columns), _WRAPPED)}" for note in notes)
    for name, why in folded:
        yield rf"    {latex(name)} & {_across(latex(why), len(columns) - 1)}"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"


def _alignment(column: Column) -> str:
    return "r" if column.numeric and not column.leading else "c" if column.centered else "l"


def _head(text: str) -> str:
    text = text.strip()
    return f"${text}$" if text in _SYMBOLS else latex(text)


def _row(row: Row, columns: Sequence[Column]) -> str:
    cells = [_cell(cell, numeric=column.numeric) for cell, column in zip(row.cells, columns, strict=True)]
    start = r"\quad " if row.inner else ""
    return rf"{start}{' & '.join(cells)} \\"


def _across(text: str, columns: int, shape: str = "l") -> str:
    return rf"\multicolumn{{{columns}}}{{@{{}}{shape}}}{{{text}}} \\"


def _cell(cell: Cell, *, numeric: bool) -> str:
    return number(cell.inline) if numeric else latex(cell.inline)


#: Folder that the lines for figures name; that of the examples of ``--set figures``.
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
    return _paragraph(block.about, block.sentences)


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
    if block.typed:
        return []
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


@_block.register(Strips)
@_block.register(Bars)
def _(block: Strips | Bars, command: str) -> Iterable[str]:
    # Papers have figures.
    return []


@_block.register
def _(block: Fold, command: str) -> Iterable[str]:
    title = f"{_SIGNS.get(block.emphasis, '')}{block.title} {block.remark}".rstrip()
    return [*_title(title), "", *_blocks(block.blocks, command)]


@_block.register
def _(block: ByMetric, command: str) -> Iterable[str]:
    return [line for panel in block.in_text for line in _blocks(panel.blocks, command)]


@_block.register
def _(block: Latex, command: str) -> Iterable[str]:
    return []


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
    words = clean(f"{command} --set figures={FOLDER}").strip()
    needs = rf"% Figures, as {code(words)} writes them; they need \usepackage{{graphicx}}."
    return [needs, *(line for figure in figures for line in _figure(figure)), ""]


def _figure(figure: Figure) -> Iterable[str]:
    yield r"% \begin{figure}[tbp]"
    yield r"%   \centering"
    yield rf"%   \includegraphics[width=\columnwidth]{{{FOLDER}/{figure.slug}.pdf}}"
    yield rf"%   \caption{{{latex(figure.description)}}}"
    yield rf"%   \label{{fig:{figure.slug}}}"
    yield r"% \end{figure}"


# The LaTeX fragment as conferences and journals ask for it: the width of tables, and whose questions are answered.

#: The section whose table has the questions of checklists, each with its answer and who asks it.
_CHECKLIST = "reproducibility"


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """What a conference or journal asks for."""

    #: Pages have two columns, and tables span both.
    two_columns: bool
    #: How those begin who ask the questions that are answered; empty: it has no checklist.
    checklist: str = ""
    #: The answers to each numbered question stand together, as the form has one place for them.
    by_number: bool = False


#: NeurIPS asks its own checklist; JMLR published that of Pineau et al. (22(164), 2021); ICML asks none.
STYLES = {
    "neurips": Style(two_columns=False, checklist="NeurIPS", by_number=True),
    "icml": Style(two_columns=True),
    "jmlr": Style(two_columns=False, checklist="ML reproducibility checklist"),
}


def render_styled(page: Page, name: str) -> str:
    """Return the page as a fragment in a style of `STYLES`."""
    style = STYLES[name]
    sections = [_answered(each, style) if each.slug == _CHECKLIST else each for each in page.sections]
    kept = [section for section in sections if section.blocks]
    text = render_latex(msgspec.structs.replace(page, sections=kept))
    # Braces of users are escaped, so this is the environment alone.
    return text if style.two_columns else text.replace("{table*}", "{table}")


def _answered(section: Section, style: Style) -> Section:
    tables = [block for block in section.blocks if isinstance(block, Table)]
    blocks = [block for table in tables for block in _questions(table, style)] if style.checklist else []
    return msgspec.structs.replace(section, blocks=blocks)


def _questions(table: Table, style: Style) -> list[Block]:
    rows = [(row, asked) for row in table.rows for asked in row.cells[2].text.split(", ")]
    asked = [(row, who) for row, who in rows if who.startswith(style.checklist)]
    if not style.by_number:
        return [msgspec.structs.replace(table, rows=[row for row, _ in asked])]
    answers: dict[str, list[str]] = {}
    for row, who in asked:
        question, answer, *_ = row.cells
        # What is not known says nothing without its question.
        text = f"{question.text} {answer.text}" if answer.emphasis == "quiet" else answer.text
        answers.setdefault(who, []).append(text)
    return [
        Sentences(
            about=f"{style.checklist} paper checklist, question {who.rpartition(' ')[2]}: justification",
            sentences=texts,
        )
        for who, texts in sorted(answers.items())
    ]
