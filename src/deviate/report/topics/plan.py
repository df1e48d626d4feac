"""The pages of a plan: how many runs the questions take, and what other numbers of runs can show."""

from __future__ import annotations

from typing import Any

from deviate.core.factors import plain_name
from deviate.facts.compared_metric import round_below
from deviate.facts.plan import Answer as PlanAnswer
from deviate.facts.plan import Pilot, Plan, Rung
from deviate.report.figures import Figure, axis_title, chart, domain, quantitative, quantity, tips, view
from deviate.report.numbers import (
    UNKNOWN,
    difference_text,
    difference_unit,
    last_place,
    metric_place,
    show,
    show_hours,
    show_level,
    show_percent,
    show_seconds,
    unit_in_name,
    unit_text,
)
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Block,
    Cell,
    Column,
    Drawing,
    Hint,
    KeyFigure,
    Page,
    Reader,
    Remark,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.metrics import again_sections, number, remark_blocks, resolution_footnotes, weak_footnotes
from deviate.report.words import capital, count
from deviate.stats.intervals import MOST_RUNS

# How many runs questions take, in sentences.

#: Points of power that a plan may lack where values are not about normal, by the runs of the pilot;
#: ``benchmarks/statistics/plans.py`` has the numbers.
POINTS_LOST, POINTS_LOST_BY_FEW, FEWEST_FOR_IT = 9, 15, 8

#: Where no number of runs is enough.
TOO_MANY = f"More than {MOST_RUNS:,}"

#: What differences of percent are written with.
POINTS = difference_unit("%")

#: Powers in words.
CASES = {0.8: "in 4 of 5 cases", 0.9: "in 9 of 10 cases"}


def pilot_sentence(pilot: Pilot) -> str:
    """Say what the pilot gave."""
    place, unit = metric_place(pilot.decimals, pilot.sd), unit_text(pilot.unit)
    time = f" of {show_seconds(pilot.seconds)}" if pilot.seconds is not None else ""
    return (
        f"Pilot {pilot.label} ({plain_name(pilot.variant)}): {pilot.metric} ({pilot.aggregate}) "
        f"{show(pilot.mean, place)} ± {show(pilot.sd, place)}{unit}, {pilot.n} runs{time}{_against(pilot, place)}."
    )


def pilot_doubt(plan: Plan) -> list[str]:
    """Say how well the pilot tells the SD, where it is planned with: it makes differences larger than a known SD."""
    pilot = plan.pilot
    if pilot is None or plan.caution_factor is None or pilot.sd_low is None or pilot.sd_high is None:
        return []
    ends, level = f"{pilot.sd_low:.2f} to {pilot.sd_high:.2f}", show_level(pilot.sd_level)
    return [f"Its true SD may be {ends} times as large ({level} CI), which is allowed for below."]


def _against(pilot: Pilot, place: int | None) -> str:
    if not pilot.against:
        return ""
    if not pilot.pairs:
        return f"; {pilot.against} has {pilot.n_against} runs, not paired (SD of both {show(pilot.sd_planned, place)})"
    r = "" if pilot.correlation is None else f", correlation {show(pilot.correlation, -2)}"
    return f"; {pilot.pairs} pairs with {pilot.against}: SD of their differences {show(pilot.sd_differences, place)}{r}"


def question_text(answer: PlanAnswer, plan: Plan) -> str:
    """Write a question as what runs are for.

    ``to show a difference of 0.5 SD``
    """
    size = difference_text(f"{answer.size:g}", plan.unit)
    if answer.question == "difference":
        return f"to show a difference of {size}"
    if answer.question == "sd-ratio":
        return f"to show an SD ratio of {answer.size:g}"
    return f"to know a mean to ± {size}"


def answer_sentences(answer: PlanAnswer, plan: Plan) -> list[str]:
    """Say how many runs a question takes, how long they take, and how many there are to be safe."""
    time = "" if answer.hours is None else f": {_time_text(answer.hours, answer, plan)}"
    said = [f"{_runs(answer)} {_question(answer, plan)}{time}.", *_there(answer, plan)]
    return [" ".join(said), *_to_be_safe(answer, plan)]


def page_sentences(answer: PlanAnswer, plan: Plan) -> list[str]:
    """Say the same beside a figure that has the question and the number."""
    question = question_text(answer, plan)
    time = [] if answer.hours is None else [f"They take {_time_text(answer.hours, answer, plan)}."]
    first = f"{capital(question)}: {_runs(answer)}."
    return [first, *time, *_there(answer, plan), *_to_be_safe(answer, plan)]


def _there(answer: PlanAnswer, plan: Plan) -> list[str]:
    return [f"You have {plan.pilot.n}."] if plan.pilot is not None and answer.runs is not None else []


def _runs(answer: PlanAnswer) -> str:
    """Write how many runs a question takes, and how many are to be made for it where some fail."""
    text = runs_text(answer)
    return f"{text} ({answer.made} made, as some fail)" if answer.made not in (None, answer.runs) else text


def _question(answer: PlanAnswer, plan: Plan) -> str:
    unit = difference_unit(plan.unit)
    size = difference_text(f"{answer.size:g}", plan.unit)
    metric = f" {'of' if unit == POINTS else 'in'} {plan.pilot.metric}" if plan.pilot is not None else ""
    cases = CASES.get(plan.power, f"in {show_percent(plan.power)} of cases")
    if answer.question == "precision":
        return f"give the mean{metric.replace(' in ', ' of ')} to ± {size}"
    if answer.question == "sd-ratio":
        return f"show an SD ratio of {answer.size:g}{metric.replace(' of ', ' in ')} {cases}"
    return f"show a difference of {size}{metric} {cases}"


def _to_be_safe(answer: PlanAnswer, plan: Plan) -> list[str]:
    more, pilot = answer.made_cautious or answer.runs_cautious, plan.pilot
    if more is None or pilot is None or more == (answer.made or answer.runs):
        return []
    sd = show(pilot.sd, metric_place(pilot.decimals, pilot.sd))
    return [f"{more} to be safe: the SD of {pilot.n} runs ({sd}) may be too small."]


def _time_text(hours: float, answer: PlanAnswer, plan: Plan) -> str:
    """Write how long the runs of all recipes take, as many side by side as those of the pilot."""
    return f"{show_hours(hours / plan.jobs)}{' for both recipes' if answer.sides > 1 else ''}, {_at_a_time(plan)}"


def _at_a_time(plan: Plan) -> str:
    return f"{plan.jobs} at a time" if plan.jobs > 1 else "one at a time"


def textbook_note(answer: PlanAnswer, plan: Plan) -> list[str]:
    """Say why the number is not that of textbooks; nothing where it is, or where no verdict takes so few."""
    textbook = answer.textbook
    if textbook is None or answer.runs in (None, textbook, plan.fewest_runs):
        return []
    reasons = [
        *(["take the SD of the pilot for the true one"] if plan.caution_factor is not None else []),
        *([f"make one test, not {plan.tests}"] if plan.tests > 1 else []),
    ]
    return [f"Textbooks say {textbook} runs: they {' and '.join(reasons)}."] if reasons else []


def runs_text(answer: PlanAnswer) -> str:
    """Write a number of runs."""
    side = " of each recipe" if answer.sides > 1 else ""
    runs = TOO_MANY if answer.runs is None else f"{answer.runs}"
    return f"{runs} runs{side}"


def plan_notes(plan: Plan) -> list[str]:
    """Return what to know to read the numbers."""
    return [
        f"A verdict needs {plan.fewest_runs} runs of each recipe, however large the difference.",
        f"Numbers are for values that are about normal and SDs that are equal{_shape(plan)}.",
        _test_note(plan),
        *([f"Corrected for {plan.tests} tests, each is made at {plan.alpha_each:.2g}."] if plan.tests > 1 else []),
        *(_pilot_notes(plan, plan.pilot) if plan.pilot else []),
        *_failure_notes(plan),
        *(note for answer in plan.answers for note in textbook_note(answer, plan)),
    ]


def _shape(plan: Plan) -> str:
    if plan.caution_factor is None:
        return ""
    points = POINTS_LOST if plan.pilot is None or plan.pilot.n >= FEWEST_FOR_IT else POINTS_LOST_BY_FEW
    return f"; with skewed or heavy-tailed values, or where few runs collapse, the power is up to {points} points lower"


def _test_note(plan: Plan) -> str:
    if not plan.paired:
        return "The power is that of Welch's t test."
    r = "" if plan.correlation is None else f" (correlation {show(plan.correlation, -2)})"
    return f"Runs with the same index use the same random numbers{r}: the power is that of the paired t test."


def _failure_notes(plan: Plan) -> list[str]:
    failures = plan.pilot.failures if plan.pilot else None
    if plan.lost and (failures is None or not failures.failed):
        return [f"{show_percent(plan.lost)} of the runs are taken to fail."]
    if failures is None or failures.interval.high is None:
        return []
    limit = f"up to {show_percent(failures.interval.high)} may (80% limit)"
    if not failures.failed:
        return [f"None of {count(failures.runs, 'run')} of the pilot failed; {limit}."]
    lost = f"{failures.failed} of {count(failures.runs, 'run')} of the pilot gave no value"
    return [f"{lost}; {limit}, which the numbers to be safe allow for."]


def _pilot_notes(plan: Plan, pilot: Pilot) -> list[str]:
    notes = []
    if any(answer.runs_cautious is not None for answer in plan.answers):
        notes.append(
            f"To be safe: {plan.caution_factor:.2f} times the SD of the pilot, which the true one exceeds in "
            "1 of 5 pilots. The other numbers reach the power on average over the SDs that it leaves open."
        )
    if pilot.measured is not None:
        weak = sum(left.weak for left in pilot.measured.excluded)
        if weak:
            notes.append(f"{count(weak, 'weak run')} of the pilot left out, as requested.")
        notes += [*weak_footnotes([pilot.measured]), *resolution_footnotes([pilot.measured])]
    return notes


#: Numbers of runs that a screen shows beside those that are there and were asked for.
ON_SCREEN = {5, 30, 100}


def plan_page(plan: Plan, reader: Reader) -> Page:
    """Make the page of a plan for a reader."""
    if reader in AT_TERMINAL:
        sentences = [" ".join(answer_sentences(answer, plan)) for answer in plan.answers]
    else:
        sentences = [sentence for answer in plan.answers for sentence in page_sentences(answer, plan)]
    answers: list[Block] = [Answer(sentences=sentences, listed=True, figure=_key_figure(plan))] if sentences else []
    pilot: list[Block] = (
        [Sentences(sentences=[pilot_sentence(plan.pilot), *pilot_doubt(plan)])]
        if plan.pilot and (reader != "screen" or not answers)
        else []
    )
    notes = remark_blocks(Remark(message=note, severity="note") for note in plan_notes(plan))
    table = _ladder(plan, reader)
    if reader in AT_TERMINAL:
        below = [] if reader == "screen" else notes
        sections = [Section(slug="answer", blocks=[*answers, *pilot, table, *_next(plan), *below])]
    else:
        figure = [Drawing(figure=plan_figure(plan))] if reader == "full" else []
        sections = [
            Section(slug="answer", blocks=[*answers, *pilot, *figure]),
            Section(slug="ladder", title="What numbers of runs can show", blocks=[table]),
            Section(slug="notes", title="Notes", blocks=notes),
            *(again_sections(plan.command) if reader == "full" else []),
        ]
    title = "" if reader in AT_TERMINAL else "How many runs to make"
    return Page(title=title, reader=reader, sections=sections, command=plan.command)


def _next(plan: Plan) -> list[Block]:
    paired, answer = plan.paired_elsewhere, plan.answers[0] if plan.answers else None
    blocks: list[Block] = []
    if paired is not None and answer is not None and answer.runs is not None and paired.runs < answer.runs:
        blocks.append(
            Sentences(
                sentences=[
                    f"Same seeds on both sides may need fewer: {paired.runs}, as far as the {paired.pairs} pairs with "
                    f"{paired.against} tell."
                ]
            )
        )
    if plan.add_runs:
        blocks.append(
            Hint(text=f"make those of {plan.pilot.label}:" if plan.pilot else "make them:", command=plan.add_runs)
        )
    shown = next((each.detectable_difference for each in plan.ladder if plan.pilot and each.runs == plan.pilot.n), None)
    if not plan.answers and plan.command and (smaller := round_below((shown or 0.0) / 2)):
        blocks.append(Hint(text="runs for another difference:", command=f"{plan.command} --difference {smaller:g}"))
    return blocks


def _key_figure(plan: Plan) -> KeyFigure | None:
    first = plan.answers[0]
    return KeyFigure(label=question_text(first, plan), text=runs_text(first)) if first.runs else None


def _ladder(plan: Plan, reader: Reader) -> Table:
    """Return what numbers of runs show; a screen has no columns on SDs unless a ratio was asked for."""
    screen, now = reader == "screen", plan.pilot.n if plan.pilot else None
    shown = {*ON_SCREEN, plan.asked_runs, now}
    of_sds = not screen or any(answer.question == "sd-ratio" for answer in plan.answers)
    level, unit = show_level(1 - plan.alpha), unit_in_name(plan.unit)
    heads = [
        ("runs of\neach", 0),
        ("shows a\ndifference", 0),
        (f"mean known to{unit}\n[{level} CI]", 1),
        *([("SD known\nto, times", 3), ("shows an\nSD ratio", 2)] if of_sds else []),
        *([(f"time of both,\n{_at_a_time(plan)}", 4)] if plan.seconds is not None else []),
        *([("", 5)] if now else []),
    ]
    lines = reader in AT_TERMINAL
    return Table(
        caption="What numbers of runs can show",
        columns=[
            Column(head=head if lines else head.replace("\n", " "), sacrifice=sacrifice) for head, sacrifice in heads
        ],
        rows=[_rung(rung, plan, now, of_sds=of_sds) for rung in plan.ladder if not screen or rung.runs in shown],
    )


def _rung(rung: Rung, plan: Plan, now: int | None, *, of_sds: bool) -> Row:
    ratio, width, difference = rung.detectable_sd_ratio, rung.mean_half_width, rung.detectable_difference
    sds = [
        number(f"[{rung.sd_low:.2f}, {rung.sd_high:.2f}]", rung.sd_low),
        number(UNKNOWN if ratio is None else f"{ratio:.2g}", ratio),
    ]
    hours = None if rung.hours is None else rung.hours / plan.jobs
    return Row(
        cells=[
            number(str(rung.runs), rung.runs),
            number(show(difference, last_place(difference)), difference),
            number(f"± {show(width, last_place(width))}", width),
            *(sds if of_sds else []),
            *([number(show_hours(hours), rung.hours)] if plan.seconds is not None else []),
            *([Cell("now" if rung.runs == now else "")] if now else []),
        ]
    )


# A plan: the smallest difference that numbers of runs show, and what was asked for.

HEIGHT = 200

#: Beside numbers of runs that were asked for, those of this ratio and more have room for a label on a phone.
APART = 1.25


def plan_figure(plan: Plan) -> Figure:
    """Draw the smallest difference of two means that is shown, by the runs of each recipe."""
    asked = " Diamonds: what was asked for." if _asked(plan) else ""
    return Figure(
        slug="plan-differences",
        section="plan",
        title="Smallest difference that is shown, by runs of each recipe",
        description=f"With power {show_percent(plan.power)} at {show_level(1 - plan.alpha)} confidence.{asked}",
        spec=_chart(plan),
    )


def _asked(plan: Plan) -> list[dict[str, Any]]:
    return [
        {"runs": answer.runs, "difference": answer.size}
        for answer in plan.answers
        if answer.question == "difference" and answer.runs is not None
    ]


def _chart(plan: Plan) -> dict[str, Any]:
    ladder = [{"runs": rung.runs, "difference": rung.detectable_difference} for rung in plan.ladder]
    asked = _asked(plan)
    every = [*ladder, *asked]
    ends = [0.0, domain(point["difference"] for point in every)[1]]
    runs = [point["runs"] for point in every]
    scale = {"type": "log", "domain": [min(runs) * 0.9, max(runs) * 1.1], "nice": False}
    asked_for = {point["runs"] for point in asked}
    near = {rung.runs for rung in plan.ladder for each in asked_for if 1 / APART < rung.runs / each < APART}
    values = sorted({rung.runs for rung in plan.ladder} - near | asked_for)
    # A logarithmic axis leaves labels out beyond the count of its ticks, also where there is room.
    ticks = {
        "values": values,
        "format": ",d",
        "tickCount": 10 * len(values),
        "labelOverlap": "greedy",
        "labelSeparation": 4,
    }
    at = {
        "x": quantity("runs", title="runs of each recipe", scale=scale, axis=ticks),
        "y": quantity("difference", **quantitative(ends, axis_title("difference", difference_unit(plan.unit).strip()))),
    }
    shown = {**at, "tooltip": tips(runs="runs of each", difference="difference")}
    layers = [view("ladder", "line", at), view("ladder", "point", shown, size=36, filled=True, opacity=1)]
    if asked:
        layers.append(view("asked", "point", shown, style="ink", shape="diamond", size=90, filled=True, opacity=1))
    return chart({"ladder": ladder, **({"asked": asked} if asked else {})}, layers, HEIGHT)
