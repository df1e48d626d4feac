"""The pages of an audit.

The pages of a verification: which metrics of a command yielded values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deviate.core.factors import OTHER, SEEDED, plain_name
from deviate.probes.trial import PrintedNumber, Verification
from deviate.probes.verdicts import Audit, AuditedFactor, Probe, Verdict
from deviate.report.numbers import show_seconds
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Badge,
    Block,
    Cell,
    Code,
    Column,
    Emphasis,
    Fold,
    Hint,
    Page,
    Reader,
    Remark,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.audit_sentences import (
    KERNELS,
    PARTS_COMPARED,
    PROBE_ENDS,
    VERDICTS,
    audit_answer,
    audit_method,
    audit_verdict,
    cause_text,
    control_sentences,
    control_text,
    difference_text,
    digests_text,
    factor_notes,
    kind_text,
    origin_text,
    probes_text,
    recording_verdict,
    sample_text,
    seed_lines,
    silence,
    turned_text,
    verification_answer,
)
from deviate.report.topics.explanation import (
    IMPLEMENTATION_CELLS,
    compared_text,
    explanation_section,
    implementation_noise,
    implementation_text,
    repeated_order_text,
    repeated_seed_text,
    repeated_text,
)
from deviate.report.topics.metrics import columns, number, remark_blocks
from deviate.report.topics.reported import left_number
from deviate.report.words import command_text, count
from deviate.source.lint import RULES, Finding

# What trial runs reported in text and the source does not show, for the pages of audit and verification.

#: Titles of the section, and of the table of metrics in it.
PRINTED = "Read from output or files"

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
        rows=[Row(cells=_verify_cells(each, compared)) for each in metrics],
    )


def _verify_cells(each: PrintedNumber, compared: bool) -> list[Cell]:
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
    make = {"screen": _verify_brief, "brief": _verify_brief, "full": _verify_full, "paper": _verify_paper}[reader]
    command = command_text(verification.command)
    return Page(
        title="" if reader in AT_TERMINAL else command,
        subtitle="" if reader in AT_TERMINAL else "check that its metrics are recorded",
        command=f"deviate extract --verify -- {command}",
        reader=reader,
        sections=[section for section in make(verification) if section.blocks],
    )


def _verify_brief(verification: Verification) -> Iterator[Section]:
    yield Section(slug="answer", blocks=[_verify_answer(verification)])
    yield Section(slug="metrics", blocks=_metrics(verification))
    yield Section(slug="names", blocks=_names(verification))
    yield Section(slug="printed", blocks=printed_blocks(verification.printed, brief=True))
    yield Section(slug="loop", blocks=_loop(verification))
    yield Section(slug="problems", blocks=_problems(verification))


def _verify_full(verification: Verification) -> Iterator[Section]:
    yield Section(slug="answer", blocks=[_verify_answer(verification), *_metrics(verification)])
    yield Section(slug="problems", title="What to mend", blocks=_problems(verification))
    yield Section(slug="names", title="Names known at run time only", blocks=_names(verification))
    yield Section(slug="printed", title="What it printed", blocks=printed_blocks(verification.printed))
    yield Section(slug="loop", title="Main loop", blocks=_loop(verification))


def _verify_paper(verification: Verification) -> Iterator[Section]:
    # Fonts of papers have no signs.
    yield Section(slug="answer", blocks=[_verify_answer(verification), *_metrics(verification, signs=("", ""))])
    yield Section(slug="names", blocks=_names(verification))


def _verify_answer(verification: Verification) -> Answer:
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


#: Last lines of a failed probe on a brief page.
LINES_SHOWN = 4

#: Last lines of a failed probe on a screen, and lines that drew for a source.
SCREEN_LINES, EXPLAINED_ON_SCREEN = 1, 3

#: Lines on a screen that may make runs differ.
LINES_ON_SCREEN = 3

#: Letters of the longest list of sources that draw nothing, which is not folded.
LONG_SOURCE = 40

#: Verdicts on a source that is there.
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
    """Yield the answer, what fixes each source, what to type next, and what was wrong with a probe."""
    answer = Answer(sentences=list(audit_answer(audit)))
    if audit.explanation:
        yield Section(slug="sources", blocks=[answer])
        yield explanation_section(audit.explanation, EXPLAINED_ON_SCREEN)
    else:
        table = _fixed_by(audit)
        yield Section(slug="sources", blocks=[answer, *([table] if table.rows else [])])
    warned = [cause_text(cause) for cause in audit.causes if cause.lines[1:]]
    yield Section(slug="causes", blocks=remark_blocks(Remark(message=message) for message in warned))
    yield Section(slug="repeated", blocks=_again(audit))
    yield Section(slug="lines", blocks=_lines(audit, LINES_ON_SCREEN))
    yield Section(slug="failures", blocks=_failures(audit, SCREEN_LINES))
    said = list(control_sentences(audit)) if _told(audit) else []
    yield Section(slug="control", blocks=[Sentences(sentences=said)] if said else [])
    yield Section(slug="next", blocks=_next(audit))


def _told(audit: Audit) -> list[str]:
    """Return the factors that are known to vary, or to be fixed."""
    return [factor.factor for factor in audit.factors if factor.verdict in _SEEN]


def _next(audit: Audit) -> list[Block]:
    """Say how to measure what the sources do; nothing where Deviate may vary none, or no number would show it."""
    is_numberless = audit.compared.ended and not audit.compared.metrics
    if audit.failed or is_numberless or not (told := _told(audit)):
        return []
    vary = "data" if told == ["data"] else "sources"
    command = f"deviate run -n 8 --vary {vary} -- {command_text(audit.command)}"
    return [Hint(text="see how much it matters:", command=command)]


def _fixed_by(audit: Audit) -> Table:
    """List the sources with what fixes each, those that are there first; what draws nothing shares a row."""
    present = [factor for factor in audit.factors if factor.verdict != "absent"]
    absent = [plain_name(factor.factor) for factor in audit.factors if factor.verdict == "absent"]
    cut = any(probe.ended in ("all seen", "limit") for probe in audit.probes)
    # Draws of no known purpose may have any.
    unsure = cut or any(factor.factor == OTHER for factor in present)
    noise = Cell(_NOISE[implementation_noise(audit)])
    rows = [
        *(Row(cells=[Cell(plain_name(factor.factor)), *_fixed_cells(factor)]) for factor in present),
        *([Row(cells=[Cell(", ".join(absent)), Cell("none seen" if unsure else "none"), Cell("")])] if absent else []),
        Row(cells=[Cell(KERNELS), noise, Cell("")]),
    ]
    return Table(
        caption="What fixes each source of the program as it is",
        slug="sources",
        columns=[
            Column(head="source", numeric=False, fold_at=LONG_SOURCE),
            Column(head="fixed by", numeric=False),
            Column(head="", numeric=False, sacrifice=1),
        ],
        rows=rows if _told(audit) else [],
    )


#: What the table says of kernels, by whether probes that drew the same were seen to differ.
_NOISE = {True: "no noise seen, no GPU", False: "they vary", None: "not known"}


def _fixed_cells(factor: AuditedFactor) -> list[Cell]:
    if factor.verdict != "pinned":
        emphasis = _EMPHASES[factor.verdict]
        return [
            Cell("nothing" if factor.verdict == "varies" else VERDICTS[factor.verdict], emphasis=emphasis),
            Cell(""),
        ]
    pin = next((each for each in factor.pins if not each.library), next(iter(factor.pins), None))
    if pin is None:
        return [Cell("not seen"), Cell("")]
    argument, _, of = pin.call.partition(" of ")
    call = f"{argument}={pin.given}" if of else f"{pin.call}({pin.given})"
    rest = f" {'and' if pin.seen else 'or'} {len(factor.pins) - 1} more" if factor.pins[1:] else ""
    more = rest or ("" if pin.seen else ", it seems")
    return [Cell(call), Cell(f"{pin.file}:{pin.line}{more}" if pin.line else f"{pin.file}{more}")]


def _brief(audit: Audit) -> Iterator[Section]:
    yield Section(slug="sources", blocks=[_sources(audit), Sentences(sentences=[compared_text(audit)])])
    yield Section(slug="causes", blocks=_causes(audit))
    yield explanation_section(audit.explanation)
    yield Section(slug="repeated", blocks=_again(audit))
    yield Section(slug="draws", blocks=_draws(audit))
    yield Section(slug="lines", blocks=_lines(audit))
    yield Section(slug="printed", blocks=printed_blocks(audit.printed, brief=True))
    yield Section(slug="failures", blocks=_failures(audit, LINES_SHOWN))
    yield Section(slug="notes", blocks=_notes(audit, "Not recorded"))


def _full(audit: Audit) -> Iterator[Section]:
    yield Section(slug="answer", blocks=[_answer(audit), _sources(audit)])
    yield Section(slug="causes", title="Causes other than random draws", blocks=_causes(audit))
    yield Section(slug="repeated", title="Random numbers that come again within a run", blocks=_again(audit))
    yield explanation_section(audit.explanation)
    yield Section(slug="seeds", title="Seeds and draws", blocks=[*_seeds(audit), *_draws(audit)])
    yield Section(slug="lines", title="Lines that may make runs differ", blocks=_lines(audit))
    yield Section(slug="printed", title="What it printed", blocks=printed_blocks(audit.printed))
    yield Section(slug="probes", title="Probes", blocks=[*_failures(audit), *_folded_probes(audit)])
    yield Section(slug="notes", title="Not recorded", blocks=_notes(audit))


def _in_full(audit: Audit) -> list[str]:
    said = [*audit_answer(audit), *control_sentences(audit)]
    return said if compared_text(audit) in said else [*said, compared_text(audit)]


def _answer(audit: Audit) -> Answer:
    badge = Badge(text=audit_verdict(audit), emphasis="bad" if audit.failed else "accent")
    return Answer(sentences=_in_full(audit), badge=badge)


def _paper(audit: Audit) -> Iterator[Section]:
    yield Section(slug="sources", blocks=[_sources(audit)])
    sentences = [audit_method(audit), *_in_full(audit)]
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
            Row(cells=[Cell(KERNELS), implementation, *blanks], notes=[implementation_text(audit)]),
        ],
    )


def _cells(factor: AuditedFactor) -> list[Cell]:
    return [
        Cell(plain_name(factor.factor)),
        Cell(VERDICTS[factor.verdict], emphasis=_EMPHASES[factor.verdict]),
        Cell(digests_text(factor)),
        Cell(control_text(factor), emphasis="bad" if factor.uncontrolled else "plain"),
    ]


def _causes(audit: Audit) -> list[Block]:
    doubt = " Kernels of the GPU may do it as well." if audit.gpu else ""
    return remark_blocks(Remark(message=cause_text(cause) + doubt * cause.here) for cause in audit.causes)


def _lines(audit: Audit, most: int | None = None) -> list[Block]:
    """List lines with what is wrong with each and what to write; with `most`, only what matters on this machine."""
    lines = [line for line in audit.lines if most is None or audit.gpu or not line.on_gpu]
    shown = [f"{line.file}:{line.line} {line.text}: {line_text(line)}." for line in lines[:most]]
    left = [f"{count(len(lines) - len(shown), 'more line')}: -v"] if len(lines) > len(shown) else []
    return (
        [Sentences(about="These lines may make runs differ", sentences=[*shown, *left], listed=True)] if lines else []
    )


def line_text(line: Finding) -> str:
    """Say what is wrong with a line, and what to write instead."""
    rule = RULES[line.rule]
    return f"{rule.says}{f' ({line.when})' if line.when else ''}; instead {rule.remedy}"


def _again(audit: Audit) -> list[Block]:
    return remark_blocks(Remark(message=message) for message in _repeated(audit))


def _repeated(audit: Audit) -> list[str]:
    seeds = (repeated_seed_text(each, audit.word) for each in audit.seeds_again)
    orders = map(repeated_order_text, audit.orders_again)
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
        columns=[*columns("probe", "ended", "time", f"{audit.word}s", words=2), *columns(*names, words=len(names))],
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
