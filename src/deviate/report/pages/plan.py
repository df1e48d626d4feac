"""The pages of a plan: how many runs the questions take, and what other numbers of runs can show."""

from __future__ import annotations

from deviate.inference.plan import Plan, Rung
from deviate.report.numbers import UNKNOWN, last_place, show, show_hours, show_level, show_percent
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Block,
    Column,
    Drawing,
    KeyFigure,
    Page,
    Reader,
    Remark,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.pages.cells import again_sections, more_blocks, number, remark_blocks
from deviate.report.text.plan import answer_sentence, pilot_doubt, pilot_sentence, plan_notes, question_text, runs_text
from deviate.report.text.words import count

#: Numbers of runs that a screen shows, by how many questions are answered above; of more questions only what is asked.
SHOWN_ON_SCREEN = {0: {5, 10, 30, 100}, 1: {5, 10, 30, 100}, 2: {5, 30}}


def plan_page(plan: Plan, reader: Reader) -> Page:
    """Make the page of a plan for a reader."""
    # On a screen, the answers say how many runs the doubt adds.
    doubt = [] if plan.answers and reader == "screen" else pilot_doubt(plan)
    pilot: list[Block] = [Sentences(sentences=[pilot_sentence(plan.pilot), *doubt])] if plan.pilot else []
    sentences = [answer_sentence(answer, plan) for answer in plan.answers]
    answers: list[Block] = [Answer(sentences=sentences, listed=True, figure=_key_figure(plan))] if sentences else []
    notes = remark_blocks(Remark(message=note, severity="note") for note in plan_notes(plan))
    table = _ladder(plan, reader)
    if reader in AT_TERMINAL:
        below = (
            more_blocks(count(len(plan_notes(plan)), "note"), "all numbers of runs") if reader == "screen" else notes
        )
        sections = [Section(slug="answer", blocks=[*answers, *pilot, *([table] if table.rows else []), *below])]
    else:
        figure = _figure(plan) if reader == "full" else []
        sections = [
            Section(slug="answer", title="In short", blocks=[*answers, *pilot, *figure]),
            Section(slug="ladder", title="What numbers of runs can show", blocks=[table]),
            Section(slug="notes", title="Notes", blocks=notes),
            *(again_sections(plan.command) if reader == "full" else []),
        ]
    title = "" if reader in AT_TERMINAL else "How many runs to make"
    return Page(title=title, reader=reader, sections=sections, command=plan.command)


def _key_figure(plan: Plan) -> KeyFigure | None:
    """Return the runs that the first question takes; None where no number of runs is enough."""
    first = plan.answers[0]
    return KeyFigure(label=question_text(first, plan), text=runs_text(first)) if first.runs else None


def _figure(plan: Plan) -> list[Block]:
    from deviate.report.figures.plan import plan_figure

    return [Drawing(figure=plan_figure(plan))]


def _ladder(plan: Plan, reader: Reader) -> Table:
    lines = reader in AT_TERMINAL
    shown = {*SHOWN_ON_SCREEN.get(len(plan.answers), set()), plan.asked_runs}
    rungs = [rung for rung in plan.ladder if reader != "screen" or rung.runs in shown]
    unit = f" ({plan.unit})" if plan.unit else ""
    level, power = show_level(1 - plan.alpha), show_percent(plan.power)
    heads = [
        ("runs of\neach", 0),
        (f"{level} CI of\na mean{unit}", 1),
        ("an SD is known\nwithin factors", 3),
        (f"difference shown\nwith power {power}", 0),
        (f"SD ratio\nshown at {power}", 2),
        *([("time of\nall runs", 4)] if plan.seconds is not None else []),
    ]
    return Table(
        caption="What numbers of runs can show",
        columns=[
            Column(head=head if lines else head.replace("\n", " "), sacrifice=sacrifice) for head, sacrifice in heads
        ],
        rows=[_rung(rung, timed=plan.seconds is not None) for rung in rungs],
    )


def _rung(rung: Rung, *, timed: bool) -> Row:
    ratio, width, difference = rung.detectable_sd_ratio, rung.mean_half_width, rung.detectable_difference
    return Row(
        cells=[
            number(str(rung.runs), rung.runs),
            number(f"± {show(width, last_place(width))}", width),
            number(f"{rung.sd_low:.2f}–{rung.sd_high:.2f}", rung.sd_low),
            number(show(difference, last_place(difference)), difference),
            number(UNKNOWN if ratio is None else f"{ratio:.2g}", ratio),
            *([number(show_hours(rung.hours), rung.hours)] if timed else []),
        ]
    )
