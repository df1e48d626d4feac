"""The pages of a verification: which metrics of a command yielded values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deviate.probes.trial import PrintedNumber, Verification
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Badge,
    Block,
    Cell,
    Code,
    Column,
    Fold,
    Page,
    Reader,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.audit_sentences import (
    difference_text,
    kind_text,
    origin_text,
    recording_verdict,
    sample_text,
    silence,
    turned_text,
    verification_answer,
)
from deviate.report.topics.command import command_text
from deviate.report.topics.metrics import columns, number
from deviate.report.topics.reported import left_number

# What trial runs reported in text and the source does not show, for the pages of audit and verification.

#: Titles of the section, and of the table of metrics in it.
PRINTED = "Read from the output"

#: Metrics on a brief page, and other numbers.
METRICS_SHOWN = 20
OTHERS_SHOWN = 6


def printed_blocks(printed: Sequence[PrintedNumber], *, brief: bool = False) -> list[Block]:
    """Return the observed metrics as a table, and the numbers that are none with the reason."""
    metrics = [each for each in printed if each.kind]
    others = [each for each in printed if not each.kind]
    most = METRICS_SHOWN if brief else len(metrics)
    blocks: list[Block] = [_printed_metrics(metrics[:most])] if metrics else []
    if metrics[most:]:
        blocks.append(Sentences(sentences=[f"{len(metrics) - most} more are in the full report."]))
    lines = [left_number(each) for each in others]
    if brief and lines[OTHERS_SHOWN:]:
        lines = [*lines[:OTHERS_SHOWN], f"{len(lines) - OTHERS_SHOWN} more"]
    return [
        *blocks,
        *([Sentences(about="Numbers that are not metrics", sentences=lines, listed=True)] if lines else []),
    ]


def _printed_metrics(metrics: Sequence[PrintedNumber]) -> Table:
    compared = any(each.varies is not None for each in metrics)
    names = columns("name", "values")
    more = ["first … last", "kind", *(["two runs"] if compared else []), "where"]
    return Table(
        caption=PRINTED,
        slug="printed",
        titled=True,
        columns=[*names, *columns(*more, words=len(more))],
        rows=[Row(cells=_cells(each, compared)) for each in metrics],
    )


def _cells(each: PrintedNumber, compared: bool) -> list[Cell]:
    return [
        Cell(f"{each.name} ({each.unit})" if each.unit else each.name),
        number(str(each.count), each.count),
        Cell(sample_text(each)),
        Cell(kind_text(each)),
        *([Cell(difference_text(each))] if compared else []),
        Cell(f"{each.source}: {each.line}"),
    ]


def verification_page(verification: Verification, reader: Reader) -> Page:
    """Make the page of a verification."""
    make = {"screen": _brief, "brief": _brief, "full": _full, "paper": _paper}[reader]
    command = command_text(verification.command)
    return Page(
        title="" if reader in AT_TERMINAL else command,
        subtitle="" if reader in AT_TERMINAL else "check that its metrics are recorded",
        command=f"deviate extract --verify -- {command}",
        reader=reader,
        sections=[section for section in make(verification) if section.blocks],
    )


def _brief(verification: Verification) -> Iterator[Section]:
    yield Section(slug="answer", blocks=[_answer(verification)])
    yield Section(slug="metrics", blocks=_metrics(verification))
    yield Section(slug="names", blocks=_names(verification))
    yield Section(slug="printed", blocks=printed_blocks(verification.printed, brief=True))
    yield Section(slug="loop", blocks=_loop(verification))
    yield Section(slug="problems", blocks=_problems(verification))


def _full(verification: Verification) -> Iterator[Section]:
    yield Section(slug="answer", blocks=[_answer(verification), *_metrics(verification)])
    yield Section(slug="problems", title="What to mend", blocks=_problems(verification))
    yield Section(slug="names", title="Names known at run time only", blocks=_names(verification))
    yield Section(slug="printed", title="What it printed", blocks=printed_blocks(verification.printed))
    yield Section(slug="loop", title="Main loop", blocks=_loop(verification))


def _paper(verification: Verification) -> Iterator[Section]:
    # Fonts of papers have no signs.
    yield Section(slug="answer", blocks=[_answer(verification), *_metrics(verification, signs=("", ""))])
    yield Section(slug="names", blocks=_names(verification))


def _answer(verification: Verification) -> Answer:
    recorded, silent = len(verification.verified), len(verification.silent)
    badge = Badge(text=recording_verdict(verification), emphasis="bad" if silent or not recorded else "good")
    return Answer(sentences=[verification_answer(verification)], badge=badge if recorded or silent else None)


def _metrics(verification: Verification, signs: tuple[str, str] = ("✓ ", "✗ ")) -> list[Block]:
    if not (verification.verified or verification.silent):
        return []
    good, bad = signs
    names = [each.metric for each in verification.unforeseen]
    table = Table(
        caption="Values of each metric",
        slug="metrics",
        columns=_columns("metric"),
        rows=[
            *(
                Row(
                    cells=[
                        Cell(f"{good}{metric.name}", emphasis="good"),
                        number(str(metric.count), metric.count),
                        Cell(sample_text(metric, names.count(metric.name))),
                    ]
                )
                for metric in verification.verified
            ),
            *(
                Row(cells=[Cell(f"{bad}{name}", emphasis="bad"), number("0", 0), Cell(silence(verification))])
                for name in verification.silent
            ),
        ],
    )
    return [table]


def _columns(first: str, *more: str) -> list[Column]:
    return [*columns(first, "values"), *columns("first … last", *more, words=2)]


def _names(verification: Verification) -> list[Block]:
    if not verification.unforeseen:
        return []
    rows = [
        Row(
            cells=[
                Cell(each.name),
                number(str(each.count), each.count),
                Cell(sample_text(each)),
                Cell(origin_text(each)),
            ]
        )
        for each in verification.unforeseen
    ]
    caption = "Names known at run time only"
    return [Table(caption=caption, slug="names", titled=True, columns=_columns("name", "metric"), rows=rows)]


def _loop(verification: Verification) -> list[Block]:
    if verification.turned is None:
        return []
    return [Sentences(about="Main loop", sentences=[turned_text(verification.turned)])]


def _problems(verification: Verification) -> list[Block]:
    blocks: list[Block] = []
    if verification.reason or verification.stderr:
        tail = [Code(lines=verification.stderr, output=True)] if verification.stderr else []
        how = "failed" if verification.ended == "failed" else "was not measured"
        remark = f"{how}: {verification.reason}" if verification.reason else how
        blocks.append(Fold(title="The program", remark=remark, emphasis="bad", blocks=list(tail)))
    if verification.silent and verification.hint and verification.ended != "limit":
        blocks.append(Sentences(about="Hint", sentences=[verification.hint]))
    if verification.notes:
        blocks.append(Sentences(about="Not recorded", sentences=verification.notes, listed=True))
    return blocks
