"""What a reader is shown, as data: a page of titled sections of blocks, which every writer knows how to lay out.

`pages` make pages of facts and are the only place where a table is spelled; `writers` lay them out and add no number,
no sentence and no table of their own. A new kind of content is one block here and one function in each writer.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from deviate.report.figures import Figure

#: Who reads: ``screen`` wants the answer in a dozen lines, ``brief`` also what it rests on, ``full`` everything, and
#: ``paper`` what goes into an article.
Reader = Literal["screen", "brief", "full", "paper"]

#: Readers at a terminal: their pages have no titles.
AT_TERMINAL: frozenset[Reader] = frozenset({"screen", "brief"})

#: How strongly a text stands out. ``good`` and ``bad``: what passes and what does not; ``accent``: what to look at.
Emphasis = Literal["plain", "strong", "quiet", "accent", "warning", "good", "bad"]

Severity = Literal["warning", "note"]


class Cell(msgspec.Struct, frozen=True):
    """One cell of a table: its text, and the number behind it where there is one."""

    text: str
    #: What the column is sorted by; None: unknown, behind all others.
    value: float | None = None
    #: Small print beside the text, such as where a metric is reported.
    remark: str = ""
    emphasis: Emphasis = "plain"
    #: A shorter text, for screens on which the column would otherwise be given up; empty: there is none.
    brief: str = ""
    #: The ``data:`` address of a picture that pages show instead of the text.
    picture: str = ""
    #: How far something is, in [0, 1], which pages draw as a bar before the text.
    done: float | None = None

    @property
    def inline(self) -> str:
        """The text with its small print, where both look alike."""
        remark = self.remark if self.remark.startswith("(") or not self.remark else f"({self.remark})"
        return f"{self.text} {remark}".strip() if remark else self.text


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table."""

    #: Screens of text keep its line breaks.
    head: str
    #: The head where the column before this one is given up; empty: the same.
    head_alone: str = ""
    #: Numbers are aligned to the right and never broken.
    numeric: bool = True
    #: Signs are centred; only where the column is not numeric.
    centered: bool = False
    #: Cells are drawn with characters, for screens of text; notebooks leave them out.
    drawn: bool = False
    #: How readily a narrow screen gives the column up, largest first; 0: never.
    sacrifice: int = 0
    emphasis: Emphasis = "plain"
    #: Of the first column: names of more cells than this are folded where other columns need the room.
    fold_at: int = 24
    #: Numbers stand at the left on screens of text: what follows them in a cell differs in length.
    leading: bool = False
    #: What it holds: small print below the table wherever the column is shown.
    means: str = ""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a table."""

    cells: list[Cell]
    #: Lines below the row, over all columns.
    notes: list[str] = []
    #: It is a part of a row above, so its name is indented.
    inner: bool = False


class Table(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Rows under heads; the first cell of a row names it."""

    #: Tells the table from the others on the page; pages and papers print it as the caption.
    caption: str
    #: Small print behind the caption.
    remark: str = ""
    columns: list[Column]
    rows: list[Row]
    #: Rows without numbers, behind the others: a name each, and why.
    folded: list[tuple[str, str]] = []
    #: Letters, digits and hyphens: anchor, LaTeX label, name of a file.
    slug: str = ""
    #: The caption as a line above the table also where captions are not printed (terminals, Markdown).
    titled: bool = False
    #: Cells hold sentences, which are wrapped: a question, an answer, and more in small print. Text writers list them.
    prose: bool = False
    #: On terminals, columns that have no room go on in a further table below instead of being left out.
    continued: bool = False
    #: Where the rows that are left out are shown.
    more: Hint | None = None
    #: Sentences below the table, on what it shows.
    sentences: list[str] = []
    #: Small print below the table, such as the order of its rows.
    notes: list[str] = []

    @property
    def small_print(self) -> list[str]:
        """What columns hold, on one line, and the notes."""
        means = " ".join(column.means for column in self.columns if column.means)
        return [*([means] if means else []), *self.notes]


class Sentences(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Sentences of one paragraph; what is between grave accents is what one types."""

    sentences: list[str]
    #: In bold before the first one, such as what the paragraph is about.
    about: str = ""
    emphasis: Emphasis = "plain"
    #: One line a sentence, as a list.
    listed: bool = False
    #: What is said instead on screens on which one of the sentences takes more than a line.
    brief: list[str] = []
    #: On screens, below what stands before them without a blank line.
    close: bool = False


class KeyFigure(msgspec.Struct, frozen=True, kw_only=True):
    """The one number to read, and where the runs lie; text without a `basis` has it in its sentences."""

    #: What it is of, and over how many runs where no `basis` says that.
    label: str
    text: str
    #: What the number is and of which runs, in brackets behind it; and in fewer words.
    basis: str = ""
    brief_basis: str = ""
    #: Further numbers of the same runs, each behind its name.
    beside: list[str] = []
    #: How large that is beside what the reader named, in small print.
    scale: str = ""
    #: Values at the ends of the line on which the runs are drawn.
    low: str = ""
    high: str = ""
    #: Each run by name, with its place on the line and its lane across it, both in [0, 1]; none: there is no line.
    runs: list[tuple[str, float, float]] = []


class Badge(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict in two or three words; pages show it, text has it in its sentences."""

    text: str
    emphasis: Emphasis


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first thing to read: an answer in a few sentences."""

    sentences: list[str]
    #: One sentence a line, since each follows from the one before.
    listed: bool = False
    #: What it is the answer on; empty where there is one only.
    about: str = ""
    figure: KeyFigure | None = None
    #: What pages draw beside the number.
    chart: Figure | None = None
    badge: Badge | None = None
    #: How much of what it is on is done, in [0, 1]; pages draw it as a bar.
    done: float | None = None

    @property
    def unsaid(self) -> list[str]:
        """The sentences that say more than the figure."""
        said = f"{self.figure.label}: {self.figure.text}." if self.figure else ""
        return [sentence for sentence in self.sentences if sentence.lower() != said.lower()]


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to know before trusting the numbers."""

    message: str
    severity: Severity = "warning"
    #: What it is on; empty: all that the page is on.
    about: str = ""


class Remarks(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What to know before trusting the numbers: warnings first, then notes."""

    remarks: list[Remark]


class Facts(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Names with texts, one pair a line; a pair without a name goes on with the one before."""

    pairs: list[tuple[str, str]]
    #: ``strong``: the names are what is looked for, as variants before statements on them.
    emphasis: Emphasis = "quiet"
    #: The texts are what one types: on screens they stand below their names where one would be broken beside it.
    typed: bool = False


class Code(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Lines that one types or that a program printed; shown as they are."""

    lines: list[str]
    #: A program printed them: the beginning of each line is enough.
    output: bool = False


class Hint(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What to type next, and why."""

    #: Ends in a colon where the command follows; empty where nothing needs to be said.
    text: str
    command: str


class Drawing(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A figure; a page draws it, a paper includes its file, and text leaves it out: its numbers are in the tables."""

    figure: Figure


class Strips(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Learning curves as lines of block characters, for screens of text; a page draws the figure instead."""

    #: A name, the first value, the last value, and what more there is; curves are drawn between the two values.
    table: Table
    #: One a row of the table: iterations in rising order, and heights in [0, 1].
    curves: list[tuple[list[int], list[float]]]


class Bar(msgspec.Struct, frozen=True):
    """A number with its interval on an axis from 0; a `text` stands instead where there is none."""

    low: float
    value: float
    high: float
    text: str = ""


class Bars(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A table with a bar a row behind the names, for screens of text; a page draws a figure instead."""

    table: Table
    #: Above the bars.
    head: str
    #: One a row of the table.
    bars: list[Bar]
    #: Where numbers stand below the bars, in rising order from 0.
    ticks: list[tuple[float, str]]


class Fold(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Blocks under a heading of their own; pages open and close it."""

    title: str
    #: Behind the title, less prominent.
    remark: str = ""
    blocks: list[Block]
    open: bool = True
    #: ``good`` and ``bad`` are drawn as a sign before the title; ``strong``: an entry of a list rather than a heading.
    emphasis: Emphasis = "plain"


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """What a section shows of one metric."""

    metric: str
    #: Its number in short, beside its name where the reader chooses a metric.
    text: str = ""
    blocks: list[Block]


class ByMetric(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The same content for several metrics; a page shows one at a time and lets the reader choose."""

    panels: list[Panel]
    #: The metric that is shown first.
    first: str = ""
    #: Text shows the first metric alone, as it has the numbers of all of them in a table.
    in_table: bool = False

    @property
    def leading(self) -> Panel:
        """What is shown first."""
        return next((panel for panel in self.panels if panel.metric == self.first), self.panels[0])

    @property
    def in_text(self) -> list[Panel]:
        """What text shows."""
        return [self.leading] if self.in_table else self.panels


class Latex(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The source of tables in LaTeX, folded, to be copied from a page; text leaves it out."""

    tables: list[Table]


Block = Sentences | Answer | Remarks | Table | Facts | Code | Hint | Drawing | Strips | Bars | Fold | ByMetric | Latex


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks under a title."""

    #: Anchor in the page.
    slug: str
    #: Empty: brief pages have no titles.
    title: str = ""
    blocks: list[Block]


class RunCard(msgspec.Struct, frozen=True, kw_only=True):
    """What a page shows of a run whose mark in a chart is chosen; text has it elsewhere."""

    name: str
    facts: list[tuple[str, str]]
    #: The last lines that it printed.
    lines: list[str] = []


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """All that a reader is shown."""

    #: Empty: screens of text show no title.
    title: str
    #: Beside the title in small print, such as the command.
    subtitle: str = ""
    reader: Reader
    #: What one types to get the page again.
    command: str = ""
    #: Those without a title are the first screen of a page.
    sections: list[Section]
    #: One for each run whose mark can be chosen.
    runs: list[RunCard] = []
