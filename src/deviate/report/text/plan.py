"""How many runs questions take, in sentences."""

from __future__ import annotations

from deviate.inference.pilot import Pilot
from deviate.inference.plan import Answer, Plan
from deviate.inference.variant import FEW_RUNS
from deviate.measure.robust_sd import MOST_RUNS
from deviate.report.numbers import last_place, show, show_hours, show_level, show_percent, show_seconds
from deviate.report.text.footnotes import resolution_footnotes, weak_footnotes
from deviate.report.text.words import count

#: Points of power that a plan may lack where values are not about normal, by the runs of the pilot;
#: ``benchmarks/statistics/plans.py`` has the numbers.
POINTS_LOST, POINTS_LOST_BY_FEW, FEWEST_FOR_IT = 9, 15, 8

#: Where no number of runs is enough.
TOO_MANY = f"more than {MOST_RUNS:,}"


def pilot_sentence(pilot: Pilot) -> str:
    """Say what the pilot gave."""
    place = last_place(pilot.sd)
    unit = f" {pilot.unit}" if pilot.unit else ""
    time = f" of {show_seconds(pilot.seconds)}" if pilot.seconds is not None else ""
    return (
        f"Pilot {pilot.label} ({pilot.variant}): {pilot.metric} ({pilot.aggregate}) {show(pilot.mean, place)} ± "
        f"{show(pilot.sd, place)}{unit}, {pilot.n} runs{time}{_against(pilot, place)}."
    )


def pilot_doubt(plan: Plan) -> list[str]:
    """Say how well the pilot tells the SD, where it is planned with: it makes differences larger than a known SD."""
    pilot = plan.pilot
    if pilot is None or plan.caution_factor is None or pilot.sd_low is None or pilot.sd_high is None:
        return []
    ends, level = f"{pilot.sd_low:.2f} to {pilot.sd_high:.2f}", show_level(pilot.sd_level)
    return [f"Its true SD may be {ends} times as large ({level} CI), which is allowed for below."]


def _against(pilot: Pilot, place: int | None) -> str:
    """Say how the runs of a second pilot go with those of the first."""
    if not pilot.against:
        return ""
    if not pilot.pairs:
        return f"; {pilot.against} has {pilot.n_against} runs, not paired (SD of both {show(pilot.sd_planned, place)})"
    r = "" if pilot.correlation is None else f", correlation {show(pilot.correlation, -2)}"
    return f"; {pilot.pairs} pairs with {pilot.against}: SD of their differences {show(pilot.sd_differences, place)}{r}"


def question_text(answer: Answer, plan: Plan) -> str:
    """Write a question as what runs are for.

    Examples
    --------
    ``to show a difference of 0.5 SD``
    """
    unit = f" {plan.unit}" if plan.unit else ""
    if answer.question == "difference":
        return f"to show a difference of {answer.size:g}{unit}"
    if answer.question == "sd-ratio":
        return f"to show an SD ratio of {answer.size:g}"
    return f"to know a mean to ± {answer.size:g}{unit}"


def answer_sentence(answer: Answer, plan: Plan) -> str:
    """Say how many runs a question takes, and why that is not the number of textbooks."""
    return f"{_runs_sentence(answer, plan)}{_unlike(answer, plan)}"


def _runs_sentence(answer: Answer, plan: Plan) -> str:
    """Say how many runs a question takes; in brackets if the SD is as large as the pilot leaves open."""
    question = f"{question_text(answer, plan)}{_if_normal(answer, plan)}"
    more = answer.runs_cautious
    larger = f" ({more} if the SD is as large as the pilot leaves open)" if more is not None else ""
    hours = ""
    if answer.hours is not None:
        most = f" ({show_hours(answer.hours_cautious)})" if answer.hours_cautious is not None else ""
        hours = f", {show_hours(answer.hours)} in all{most}"
    return f"{question[:1].upper()}{question[1:]}: {runs_text(answer)}{larger}{_made(answer)}{hours}."


def _if_normal(answer: Answer, plan: Plan) -> str:
    """Say what the number assumes where few runs tell the SD, which a ratio of two SDs does not need."""
    few = plan.pilot is not None and plan.caution_factor is not None and plan.pilot.n < FEW_RUNS
    return " if values are about normal" if few and answer.question != "sd-ratio" else ""


def _unlike(answer: Answer, plan: Plan) -> str:
    """Say why the number is not that of textbooks; nothing where it is, or where no verdict takes so few."""
    textbook = answer.textbook
    if textbook is None or answer.runs in (None, textbook, plan.fewest_runs):
        return ""
    reasons = [
        *(["take the SD of the pilot for the true one"] if plan.caution_factor is not None else []),
        *([f"make one test, not {plan.tests}"] if plan.tests > 1 else []),
    ]
    return f" Textbooks say {textbook}: they {' and '.join(reasons)}." if reasons else ""


def runs_text(answer: Answer) -> str:
    """Write a number of runs."""
    side = " of each recipe" if answer.sides > 1 else ""
    runs = TOO_MANY if answer.runs is None else f"{answer.runs}"
    return f"{runs} runs{side}"


def _made(answer: Answer) -> str:
    """Say how many runs to make where some of them fail."""
    if answer.made in (None, answer.runs):
        return ""
    more = f" ({answer.made_cautious})" if answer.made_cautious is not None else ""
    return f", so make {answer.made}{more}"


def plan_notes(plan: Plan) -> list[str]:
    """Return what to know to read the numbers."""
    return [
        f"A verdict needs {plan.fewest_runs} runs of each recipe, however large the difference.",
        f"Numbers are for values that are about normal and SDs that are equal{_shape(plan)}.",
        _test_note(plan),
        *([f"Corrected for {plan.tests} tests, each is made at {plan.alpha_each:.2g}."] if plan.tests > 1 else []),
        *(_pilot_notes(plan, plan.pilot) if plan.pilot else []),
        *_failure_notes(plan),
        *(["Times are for one run at a time; runs side by side divide them."] if plan.seconds is not None else []),
    ]


def _shape(plan: Plan) -> str:
    """Say what skew does to a plan whose SD comes from a pilot."""
    if plan.caution_factor is None:
        return ""
    points = POINTS_LOST if plan.pilot is None or plan.pilot.n >= FEWEST_FOR_IT else POINTS_LOST_BY_FEW
    return f"; with skewed or heavy-tailed values, or where few runs collapse, the power is up to {points} points lower"


def _test_note(plan: Plan) -> str:
    """Say which test is planned for."""
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
    return [f"{lost}; {limit}, which the numbers in brackets allow for."]


def _pilot_notes(plan: Plan, pilot: Pilot) -> list[str]:
    notes = []
    if any(answer.runs_cautious is not None for answer in plan.answers):
        notes.append(
            f"As large as the pilot leaves open: {plan.caution_factor:.2f} times its SD, which the true one exceeds in "
            "1 of 5 pilots. The other numbers reach the power on average over the SDs that it leaves open."
        )
    if pilot.measured is not None:
        weak = sum(left.weak for left in pilot.measured.excluded)
        if weak:
            notes.append(f"{count(weak, 'weak run')} of the pilot left out, as requested.")
        notes += [*weak_footnotes([pilot.measured]), *resolution_footnotes([pilot.measured])]
    return notes
