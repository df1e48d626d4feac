"""The pages of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from deviate.core.factors import SEEDED
from deviate.probes.verdicts import Audit, AuditedFactor, Probe, Verdict
from deviate.report.numbers import show_seconds
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Badge,
    Block,
    Cell,
    Code,
    Emphasis,
    Fold,
    Page,
    Reader,
    Remark,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.audit_sentences import (
    PARTS_COMPARED,
    PROBE_ENDS,
    VERDICTS,
    audit_answer,
    audit_method,
    audit_verdict,
    cause_text,
    control_text,
    digests_text,
    factor_notes,
    probes_text,
    seed_lines,
)
from deviate.report.topics.command import command_text
from deviate.report.topics.explanation import (
    IMPLEMENTATION_CELLS,
    explanation_section,
    implementation_noise,
    implementation_text,
    repeated_order_text,
    repeated_seed_text,
    repeated_text,
)
from deviate.report.topics.metrics import columns, more_blocks, number, remark_blocks
from deviate.report.topics.verify import printed_blocks
from deviate.report.words import count

#: Last lines of a failed probe on a brief page.
LINES_SHOWN = 4

#: Last lines of a failed probe on a screen, warnings, and lines that each of the two takes.
SCREEN_LINES, WARNED_ON_SCREEN, REMARK_LINES = 1, 1, 2

#: Rows for which a screen has room where nothing else is to be said, and lines that drew for a source.
ROWS_ON_SCREEN, EXPLAINED_ON_SCREEN = 6, 3

#: What is known of a source that a screen lists; the answer names the others.
_SEEN = frozenset({"varies", "pinned"})

_EMPHASES: dict[Verdict, Emphasis] = {"varies": "accent", "pinned": "plain", "absent": "quiet", "unknown": "warning"}


def audit_page(audit: Audit, reader: Reader) -> Page:
    """Make the page of an audit."""
    make = {"screen": _screen, "brief": _brief, "full": _full, "paper": _paper}[reader]
    command = command_text(audit.command)
    return Page(
        # Whoever looks at a screen has just typed the command.
        title="" if reader == "screen" else command,
        subtitle="sources of nondeterminism" if reader not in AT_TERMINAL else "",
        command=f"deviate audit{_options(audit)} -- {command}",
        reader=reader,
        sections=[section for section in make(audit) if section.blocks],
    )


def _options(audit: Audit) -> str:
    explain = f" --explain {audit.explanation.factor}" if audit.explanation else ""
    return f"{' --quick' if audit.quick else ''}{explain}"


def _screen(audit: Audit) -> Iterator[Section]:
    """Yield the answer and, in the lines that are left, a probe that failed, a warning and the sources."""
    failures = _failures(audit, SCREEN_LINES)[:1]
    if audit.explanation:
        yield Section(slug="sources", blocks=[Answer(sentences=list(audit_answer(audit, brief=True)))])
        yield explanation_section(audit.explanation, EXPLAINED_ON_SCREEN - REMARK_LINES * len(failures))
        yield Section(slug="failures", blocks=failures)
        yield _more([])
        return
    warned = [*map(cause_text, audit.causes), *_repeated(audit)]
    room = ROWS_ON_SCREEN - REMARK_LINES * (len(failures) + len(warned[:WARNED_ON_SCREEN]))
    rows = [row for row, factor in zip(_sources(audit).rows, audit.factors, strict=False) if factor.verdict in _SEEN]
    shown = [_on_screen(audit, rows, room)] if rows else []
    yield Section(slug="sources", blocks=[Answer(sentences=list(audit_answer(audit, brief=True))), *shown])
    first = (Remark(message=message) for message in warned[:WARNED_ON_SCREEN])
    yield Section(slug="causes", blocks=remark_blocks(first))
    yield Section(slug="failures", blocks=failures)
    yield _more(warned[WARNED_ON_SCREEN:])


def _on_screen(audit: Audit, rows: Sequence[Row], room: int) -> Table:
    """Return the table with as many sources as there is room for, and what pins them where that has room too."""
    shown = rows[:room]
    notes = sum(len(row.notes) for row in shown)
    if len(shown) + notes > room:
        shown = [msgspec.structs.replace(row, notes=[]) for row in shown]
    return msgspec.structs.replace(_sources(audit), rows=shown)


def _more(warned: Sequence[str]) -> Section:
    counts = [count(len(warned), "more warning")] if warned else []
    return Section(slug="more", blocks=more_blocks(*counts, "all sources", "seeds", "what it printed"))


def _brief(audit: Audit) -> Iterator[Section]:
    yield Section(slug="sources", blocks=[_sources(audit)])
    yield Section(slug="causes", blocks=_causes(audit))
    yield explanation_section(audit.explanation)
    yield Section(slug="repeated", blocks=_again(audit))
    yield Section(slug="draws", blocks=_draws(audit))
    yield Section(slug="printed", blocks=printed_blocks(audit.printed, brief=True))
    yield Section(slug="failures", blocks=_failures(audit, LINES_SHOWN))
    yield Section(slug="notes", blocks=_notes(audit, "Not recorded"))


def _full(audit: Audit) -> Iterator[Section]:
    yield Section(slug="answer", title="In short", blocks=[_answer(audit), _sources(audit)])
    yield Section(slug="causes", title="Causes other than random draws", blocks=_causes(audit))
    yield Section(slug="repeated", title="Random numbers that come again within a run", blocks=_again(audit))
    yield explanation_section(audit.explanation)
    yield Section(slug="seeds", title="Seeds and draws", blocks=[*_seeds(audit), *_draws(audit)])
    yield Section(slug="printed", title="What it printed", blocks=printed_blocks(audit.printed))
    yield Section(slug="probes", title="Probes", blocks=[*_failures(audit), *_folded_probes(audit)])
    yield Section(slug="notes", title="Not recorded", blocks=_notes(audit))


def _answer(audit: Audit) -> Answer:
    badge = Badge(text=audit_verdict(audit), emphasis="bad" if audit.failed else "accent")
    return Answer(sentences=list(audit_answer(audit)), badge=badge)


def _paper(audit: Audit) -> Iterator[Section]:
    yield Section(slug="sources", blocks=[_sources(audit)])
    sentences = [audit_method(audit), *audit_answer(audit)]
    yield Section(slug="methods", blocks=[Sentences(about="Methods.", sentences=sentences)])


def _sources(audit: Audit) -> Table:
    heads = ["source", "as it is", "in two probes", *([] if audit.quick else ["under Deviate"])]
    noise = implementation_noise(audit)
    implementation = Cell(IMPLEMENTATION_CELLS[noise], emphasis="quiet" if noise else "warning")
    blanks = [Cell("")] * (len(heads) - 2)
    return Table(
        caption="What each source did in two runs of the program as it is",
        slug="sources",
        columns=columns(*heads, words=len(heads)),
        rows=[
            *(Row(cells=_cells(factor)[: len(heads)], notes=factor_notes(factor)) for factor in audit.factors),
            Row(cells=[Cell("impl"), implementation, *blanks], notes=[implementation_text(audit)]),
        ],
    )


def _cells(factor: AuditedFactor) -> list[Cell]:
    return [
        Cell(factor.factor),
        Cell(VERDICTS[factor.verdict], emphasis=_EMPHASES[factor.verdict]),
        Cell(digests_text(factor)),
        Cell(control_text(factor), emphasis="bad" if factor.uncontrolled else "plain"),
    ]


def _causes(audit: Audit) -> list[Block]:
    return remark_blocks(Remark(message=cause_text(cause)) for cause in audit.causes)


def _again(audit: Audit) -> list[Block]:
    return remark_blocks(Remark(message=message) for message in _repeated(audit))


def _repeated(audit: Audit) -> list[str]:
    seeds, orders = map(repeated_seed_text, audit.seeds_again), map(repeated_order_text, audit.orders_again)
    return [*seeds, *orders, *map(repeated_text, audit.workers)]


def _seeds(audit: Audit) -> list[Block]:
    lines = seed_lines(audit)
    return [Sentences(about="Seeds that the program or a library sets", sentences=lines, listed=True)] if lines else []


def _draws(audit: Audit) -> list[Block]:
    lines = [f"{draw.call} at {draw.file}:{draw.line}" for draw in audit.draws_left]
    about = "Among the draws that count as `other`"
    return [Sentences(about=about, sentences=lines, listed=True)] if lines else []


def _failures(audit: Audit, most: int | None = None) -> list[Block]:
    """Show each way in which probes failed once, with at most so many last lines of what they printed."""
    alike: dict[tuple[str, str], list[Probe]] = {}
    for probe in audit.probes:
        if probe.reason:
            alike.setdefault((probe.reason, probe.hint), []).append(probe)
    return [_failure(probes, most) for probes in alike.values()]


def _failure(probes: list[Probe], most: int | None) -> Fold:
    first = probes[0]
    lines = first.stderr[-most:] if most else first.stderr
    return Fold(
        title=probes_text(probes),
        remark=f"failed: {first.reason}",
        emphasis="bad",
        blocks=[
            *([Code(lines=lines, output=True)] if lines else []),
            *([Sentences(about="Hint", sentences=[first.hint])] if first.hint else []),
        ],
    )


def _probes(audit: Audit) -> list[Block]:
    if not audit.probes:
        return []
    names = [name for name in SEEDED if any(name in probe.fingerprints for probe in audit.probes)]
    names += list(dict.fromkeys(name for probe in audit.probes for name in probe.fingerprints if name not in names))
    table = Table(
        caption="Every probe with its fingerprints",
        slug="probes",
        columns=[*columns("probe", "ended", "time", "iterations", words=2), *columns(*names, words=len(names))],
        rows=[Row(cells=_probe_cells(probe, names)) for probe in audit.probes],
        notes=[PARTS_COMPARED] if names and any(probe.ended != "completed" for probe in audit.probes) else [],
    )
    return [table]


def _folded_probes(audit: Audit) -> list[Block]:
    probes = _probes(audit)
    return [Fold(title=count(len(audit.probes), "probe"), blocks=probes, open=False)] if probes else []


def _probe_cells(probe: Probe, names: Sequence[str]) -> list[Cell]:
    return [
        Cell(probe.name),
        Cell(PROBE_ENDS[probe.ended]),
        number(show_seconds(probe.seconds), probe.seconds),
        number(str(probe.iterations), probe.iterations),
        *(Cell(probe.fingerprints.get(name, "")) for name in names),
    ]


def _notes(audit: Audit, about: str = "") -> list[Block]:
    return [Sentences(about=about, sentences=audit.notes, listed=True)] if audit.notes else []
