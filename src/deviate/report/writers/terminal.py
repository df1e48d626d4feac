"""The document in a terminal: the sentences, a table of what varies most, what to know, how to do it again."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deviate.report.curves import Curves
from deviate.report.escape import clean
from deviate.report.parts import Document, RunReport, VariantReport, together
from deviate.report.shown import show_seconds
from deviate.report.words import count, ended_as, listed, seed_text
from deviate.report.writers.blocks import ASCII_BLOCKS, BLOCKS
from deviate.report.writers.curve_lines import curve_lines
from deviate.report.writers.metric_table import metric_table
from deviate.report.writers.variant_tables import evidence_table, spread_table, statements

#: Ways of not completing that are shown with the last lines of a run; the rest is counted.
FAILURES_SHOWN = 3

#: Last lines of a failed run that are shown.
LINES_SHOWN = 4

#: Variants that are each shown with a table of their own; of more, one table shows all.
IN_FULL = 2

#: Width of the text where no terminal gives one.
PLAIN_WIDTH = 100

#: Sentences wider than this are hard to read.
WIDEST_TEXT = 100

#: For terminals that cannot show more than ASCII: a sign each, so that what is laid out keeps its width.
_ASCII = str.maketrans(
    {"–": "-", "·": ".", "•": "o", "●": "O", "✗": "x", "…": ">", "─": "-", "≠": "x", "≈": "~"}
    | dict(zip(BLOCKS, ASCII_BLOCKS, strict=True))
)

#: Likewise for sentences, before they are laid out.
_ASCII_TEXT = str.maketrans({"±": "+-", "–": "-", "…": "...", "≥": ">=", "≤": "<=", "×": "x", "→": "->"})

_TRAILING_BLANKS = re.compile(r" +$", re.MULTILINE)


def render_terminal(document: Document, width: int = PLAIN_WIDTH) -> str:
    """Return the document as plain text of at most `width` columns, without colour."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, color_system=None, force_terminal=False, legacy_windows=False, _environ={}
    )
    print_document(document, console)
    return stream.getvalue()


def print_document(document: Document, console: Console, curves: Curves | None = None) -> None:
    """Print the document on a rich console, which decides about width, colour and encoding.

    Parameters
    ----------
    document : Document
        What is said.
    console : Console
        Where.
    curves : Curves, optional
        Learning curves to show; none by default, since to read them takes longer than all the rest.
    """
    ascii_only = console.options.ascii_only
    if ascii_only:
        document = msgspec.convert(_in_ascii(msgspec.to_builtins(document)), Document)
        curves = msgspec.convert(_in_ascii(msgspec.to_builtins(curves)), Curves | None)
    with console.capture() as captured:
        for place, part in enumerate(_parts(document, console.width, curves)):
            if place:
                console.print()
            console.print(part, markup=False, highlight=False, emoji=False)
    # Cells are filled up with blanks, which would be copied along with the text.
    text = _TRAILING_BLANKS.sub("", captured.get())
    if ascii_only:
        text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
    console.file.write(text)


def _in_ascii(part: Any) -> Any:
    """Return plain data with every text in ASCII: names that are not are escaped, and take the room they then need."""
    if isinstance(part, str):
        return part.translate(_ASCII_TEXT).encode("ascii", "backslashreplace").decode("ascii")
    if isinstance(part, list):
        return [_in_ascii(each) for each in part]
    return {key: _in_ascii(each) for key, each in part.items()} if isinstance(part, dict) else part


def _parts(document: Document, width: int, curves: Curves | None) -> Iterable[RenderableType]:
    yield Text.assemble((clean(document.experiment), "bold"), "  ", (clean(" ".join(document.command)), "dim"))
    if len(document.variants) > IN_FULL and document.across:
        yield spread_table(document, width)
        for variant in document.variants:
            yield from _failures(variant.runs, document.experiment)
    else:
        for variant in document.variants:
            yield from _variant(variant, document, width)
    for table in (curve_lines(curves, width) if curves else None, statements(document), evidence_table(document)):
        if table is not None:
            yield _narrow(table, width)
    if document.warnings:
        yield _warnings(document, width)
    yield _facts(document, width)


def _variant(variant: VariantReport, document: Document, width: int) -> Iterable[RenderableType]:
    yield _narrow(Text(clean(" ".join(variant.headline))), width)
    if variant.completed and variant.metrics:
        yield Group(_title(variant, document), *metric_table(variant.metrics, document, width))
    if variant.footnotes:
        yield _narrow(Text("\n".join(map(clean, variant.footnotes)), style="dim"), width)
    yield from _failures(variant.runs, document.experiment)


def _title(variant: VariantReport, document: Document) -> Text:
    done = f"{variant.completed} of {count(variant.planned, 'run')} completed"
    name = variant.variant if len(document.variants) > 1 else ""
    return Text.assemble((clean(name), "bold"), "  " if name else "", (done, "dim"))


def _failures(runs: list[RunReport], experiment: str) -> Iterable[RenderableType]:
    """Show each way in which runs ended once, with the last lines of the first of them."""
    ended = [run for run in runs if run.status != "completed"]
    ways = list(dict.fromkeys((run.status, run.reason) for run in ended))
    for way in ways[:FAILURES_SHOWN]:
        yield _failure([run for run in ended if (run.status, run.reason) == way], experiment)
    if len(ways) > FAILURES_SHOWN:
        more = sum((run.status, run.reason) in ways[FAILURES_SHOWN:] for run in ended)
        yield Text(f"and {count(more, 'more run')} that did not complete", style="dim")


def _failure(runs: list[RunReport], experiment: str) -> RenderableType:
    first, names = runs[0], listed([run.name for run in runs])
    after = f" after {show_seconds(first.seconds)}" if len(runs) == 1 else ""
    reason = f": {clean(first.reason)}" if first.reason else ""
    title = Text.assemble(("✗ ", "red"), (clean(names), "bold"), f" {ended_as(first.status, len(runs))}{after}{reason}")
    tail = [line for line in map(clean, first.stderr_tail) if line.strip()][-LINES_SHOWN:]
    lines = [Text(line, style="dim", overflow="ellipsis", no_wrap=True) for line in tail]
    lines.append(Text(f"deviate logs {clean(experiment)} {clean(first.name)}", style="cyan"))
    return Group(title, *(Padding(line, (0, 0, 0, 4)) for line in lines))


def _warnings(document: Document, width: int) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column()
    several = len(document.variants) > 1
    for warned, variants in together(document.warnings):
        serious = warned.severity == "warning"
        about = f"{listed(variants)}: " if several and variants else ""
        mark = Text("!", style="bold yellow") if serious else Text("·", style="dim")
        grid.add_row(mark, Text(clean(about + warned.message), style="" if serious else "dim"))
    return _narrow(grid, width)


def _facts(document: Document, width: int) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    # A long path is folded, not cut: the command is there to be copied.
    grid.add_column(overflow="fold")
    for name, text in _fact_rows(document):
        grid.add_row(name, Text(clean(text)))
    return _narrow(grid, width)


def _fact_rows(document: Document) -> Iterable[tuple[str, str]]:
    several = len(document.variants) > 1
    completed = [variant for variant in document.variants if variant.completed]
    if len(completed) > IN_FULL:
        shared = [held for held in completed[0].factors.held if all(held in other.factors.held for other in completed)]
        yield "Held in all", ", ".join(shared)
        yield from (("", text) for text in dict.fromkeys(c for variant in completed for c in variant.factors.caveats))
    else:
        for variant in completed:
            about = f" in {variant.variant}" if several else ""
            yield f"Varied{about}", ", ".join(variant.factors.varied) or "nothing on purpose"
            yield f"Held{about}", ", ".join(variant.factors.held)
            yield from (("", caveat) for caveat in variant.factors.caveats)
    yield from _disturbed_rows(document)
    if document.seeds_replaced:
        yield "Seeds replaced", listed([seed_text(seed) for seed in document.seeds_replaced])
    if document.seeds_kept:
        kept = listed([seed_text(seed) for seed in document.seeds_kept])
        yield "Seeds kept", f"{kept} (for the data, which is held fixed)"
    yield "Reproduce", document.reproduce.command


def _disturbed_rows(document: Document) -> Iterable[tuple[str, str]]:
    """Say which runs seemed to be on which machine, or began with which weight changed."""
    runs = [run for variant in document.variants for run in variant.runs if run.disturbed]
    for place, how in enumerate(dict.fromkeys(run.disturbed for run in runs)):
        yield "" if place else "Ran", f"{how}: {listed([run.name for run in runs if run.disturbed == how])}"


def _narrow(content: RenderableType, width: int) -> RenderableType:
    """Keep lines of text short on wide terminals."""
    return Padding(content, (0, max(0, width - WIDEST_TEXT), 0, 0), expand=False)
