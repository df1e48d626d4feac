"""The page of a search for the first place where two runs part."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.core.factors import DESCRIBED
from deviate.core.shell_words import typed_line
from deviate.probes.certificate import Change
from deviate.probes.diverge import Cause, Divergence
from deviate.probes.divergence.lines import Origin
from deviate.probes.divergence.steps import Recorded
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Block,
    Cell,
    Column,
    Page,
    Reader,
    Remark,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.metrics import remark_blocks
from deviate.report.topics.proof import iteration_text
from deviate.report.words import command_text, count, joined

#: Kinds of causes that a statement of the program makes, where one was found.
_OF_VALUES = frozenset({"draws", "value", "host", "flow", "shape", "line"})


def divergence_page(facts: Divergence, reader: Reader) -> Page:
    """Make the page of a search."""
    chosen = {"--one ": facts.alone, "--as-is ": facts.variant == "as-is"}
    options = "".join(option for option, is_chosen in chosen.items() if is_chosen) + "-- "
    typed = [facts.name, *facts.runs] if facts.name else [run.partition("/")[0] for run in facts.runs]
    command = typed_line(typed) if facts.runs else command_text(facts.command)
    blocks: list[Block] = [Answer(sentences=list(divergence_answer(facts)))]
    if (rungs := _rungs(facts)).rows:
        blocks.append(rungs)
    if facts.further:
        blocks.append(_further(facts))
    if facts.cause is not None and facts.cause.remedy:
        blocks.append(Sentences(sentences=[facts.cause.remedy], about="To stop it"))
    blocks.extend(remark_blocks(Remark(message=note, severity="note") for note in facts.notes))
    return Page(
        title="" if reader == "screen" else command,
        subtitle="where two runs part" if reader not in AT_TERMINAL else "",
        command=f"deviate diverge {'' if facts.runs else options}{command}",
        reader=reader,
        sections=[Section(slug="divergence", blocks=blocks)],
    )


def divergence_answer(facts: Divergence) -> Iterator[str]:
    """Say where two runs first part, or that they do not."""
    if facts.parted is None:
        yield f"The two runs were not compared: {facts.reason}."
        return
    if facts.alone and facts.cause is None:
        called = count(facts.operations, "operation")
        yield f"Each of {called} in {count(facts.steps, _unit(facts))} was called twice and left equal bits."
    elif facts.recorded is not None and not facts.replays:
        yield from _recorded_text(facts.recorded)
    elif not facts.parted or facts.cause is None:
        compared = count(facts.steps, _unit(facts)) if facts.steps else count(facts.statements, "statement")
        yield f"The two runs are equal in {compared}, bit for bit."
    else:
        yield cause_text(facts.cause, facts)
    if facts.explained:
        where = "there and at the places below" if facts.further else "there"
        yield f"With the first run's results put {where}, nothing else differs up to {_at(facts)}."
    if facts.limited:
        yield f"Trainings were ended after {facts.limit:g} seconds."


def _recorded_text(recorded: Recorded) -> Iterator[str]:
    if recorded.is_equal:
        yield "The two runs recorded equal values, draws and weights, bit for bit."
        return
    for first in recorded.draws[:1]:
        factor = DESCRIBED[first.factor]
        if first.equal:
            yield f"The runs first differ in the draws for {factor}, behind draw {first.equal}."
        else:
            yield f"The runs first differ in the draws for {factor}, from the first draw on."
    if recorded.draws[1:]:
        yield f"They also differ in those for {joined([DESCRIBED[each.factor] for each in recorded.draws[1:]])}."
    value = recorded.value
    if value is not None:
        where = f" {iteration_text(value.iteration, value.word)}" if value.placed else ""
        yield f"The first value that differs is `{value.metric}`{where}."
    if recorded.environment:
        yield f"Their surroundings differ in {joined([_change_text(each) for each in recorded.environment])}."


def _change_text(change: Change) -> str:
    return f"{change.name} ({change.here} and {change.there})"


def cause_text(cause: Cause, facts: Divergence) -> str:
    """Say what the first difference is, and where."""
    origin = cause.origin
    if cause.kind in _OF_VALUES and origin is not None and origin.kind != "before":
        return _origin_text(origin, cause.code)
    place = f"`{cause.operation}` at {_place(cause.seen_file, cause.seen_line)}"
    if facts.alone:
        return f"{place} does not repeat: called twice with equal inputs, it leaves other bits."
    if cause.kind == "operation":
        return f"The runs first part in {place}: its inputs are equal, and its output differs."
    if cause.kind == "threads":
        return f"The runs first part in {place}: it runs with another number of threads."
    if cause.kind == "unfilled":
        return f"The runs first part in memory that nothing filled, allocated by {place}."
    if cause.kind == "flow":
        return f"The runs call other operations from {place} on."
    if cause.operation:
        return f"The runs part before {place}: {_ENTERS[cause.kind]}, and no line that made it was found."
    return f"The runs part between {_before(facts)} and {_at(facts)}; neither an operation nor a line shows the cause."


#: What an operation is given that differs, by the kind of a cause.
_ENTERS = {
    "draws": "its generator is in another state",
    "value": "it is given another number",
    "host": "it is given other data",
    "memory": "it finds other data than the operations before it left",
    "shape": "it is given a tensor of another shape",
}


def _origin_text(origin: Origin, code: str) -> str:
    place = _place(origin.file, origin.line)
    # Of a method that is called, what differs is its object.
    name = origin.name.rpartition(".")[0] if f".{origin.name.rpartition('.')[2]}(" in code else origin.name
    if origin.kind == "unseeded":
        return f"The runs first part at {place}, which draws from `{origin.name}`: nothing seeded that generator."
    if origin.kind == "flow":
        return f"The runs go on with other lines behind {place}."
    if origin.first and origin.second:
        values = f"is {origin.first} in one and {origin.second} in the other"
        return f"The runs first part at {place}: `{name}` {values}."
    if name:
        return f"The runs first part at {place}: what is seen of what it reads is equal, and `{name}` differs."
    return f"The runs first part at {place}: what is seen of what it reads is equal, and what it leaves differs."


def _place(file: str, line: int) -> str:
    return f"`{_bare(file, line)}`" if file else "no line of the program"


def _bare(file: str, line: int) -> str:
    return f"{file}:{line}" if file else "–"


def _at(facts: Divergence) -> str:
    return "the end" if facts.at_end else f"{_unit(facts)} {facts.step}"


def _before(facts: Divergence) -> str:
    return "the start" if facts.equal is None else f"{_unit(facts)} {facts.equal}"


def _unit(facts: Divergence) -> str:
    return facts.word if facts.unit == "iteration" else facts.unit


def _rungs(facts: Divergence) -> Table:
    cause = facts.cause
    rows = [] if facts.alone or not facts.parts else [("step", _at(facts), joined(facts.parts))]
    if cause is not None and cause.operation:
        within = f"{cause.phase}, {cause.module}" if cause.module else cause.phase
        rows.append(("operation", _bare(cause.seen_file, cause.seen_line), f"{cause.operation} ({within})"))
        if cause.forward is not None:
            rows.append(("forward", _bare(cause.forward.file, cause.forward.line), cause.forward.op))
    if cause is not None and cause.code and cause.file:
        rows.append(("line", _bare(cause.file, cause.line), cause.code))
    return _table("What each replay showed", ("", "at" if facts.alone else "first differs", "in"), rows, "rungs")


def _further(facts: Divergence) -> Table:
    caption = "Operations that do not repeat either" if facts.alone else "What differs next"
    rows = [
        (str(number), _bare(cause.file, cause.line), cause.code or cause.operation)
        for number, cause in enumerate(facts.further, 2)
    ]
    return _table(caption, ("", "also at" if facts.alone else "then differs", "in"), rows, "further")


def _table(caption: str, heads: tuple[str, ...], rows: list[tuple[str, str, str]], slug: str) -> Table:
    return Table(
        caption=caption,
        columns=[Column(head=head, numeric=False) for head in heads],
        rows=[Row(cells=[Cell(text=text) for text in texts]) for texts in rows],
        slug=slug,
    )
