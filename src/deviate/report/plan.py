"""How many runs to make: the answers to a plan's questions, as data."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.contrast.guards import MOST_RUNS, fewest_runs
from deviate.contrast.power import (
    DEFAULT_ALPHA,
    DEFAULT_POWER,
    detectable_difference,
    detectable_sd_ratio,
    precision,
    runs_for_difference,
    runs_for_precision,
    runs_for_sd_ratio,
)
from deviate.experiment import SCHEMA
from deviate.measure.intervals import sd_factors

#: Numbers of runs a side for which it is told what they can show.
LADDER = (5, 8, 10, 16, 30, 50, 100)

#: The SD of a pilot is too small in about half of all pilots; planned with this one-sided upper limit of it, the power
#: that was asked for is reached with this probability [1]_.
#:
#: .. [1] R. H. Browne, "On the use of a pilot sample for sample size determination", Statistics in Medicine 14, 1995.
CAUTION = 0.8

#: Two sides are compared.
SIDES = 2


class Pilot(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that were made already."""

    label: str
    variant: str
    metric: str
    aggregate: str
    unit: str
    n: int
    mean: float
    sd: float
    #: Mean wall time of a run; None where it is not known.
    seconds: float | None


class PlanAsked(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants to show, with what certainty."""

    #: SD of the runs, in the unit of the metric; None: everything is in SDs.
    sd: float | None = None
    #: A difference of two means, in the unit of the metric or in SDs.
    difference: float | None = None
    #: A ratio of two SDs.
    sd_ratio: float | None = None
    #: Half-width of the confidence interval of a mean.
    precision: float | None = None
    runs: int | None = None
    power: float = DEFAULT_POWER
    alpha: float = DEFAULT_ALPHA
    #: Tests that will be corrected together.
    tests: int = 1
    #: Wall time of a run.
    seconds: float | None = None

    @property
    def alpha_each(self) -> float:
        """Alpha of the first step of Holm's procedure, the strictest."""
        return self.alpha / self.tests


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs one question takes."""

    question: str
    #: Runs of each side; None where `MOST_RUNS` are not enough.
    runs: int | None
    #: The same if the SD is as large as the pilot leaves open; None without a pilot, or where the SD does not matter.
    runs_cautious: int | None
    #: Sides that are made: 2 for a comparison, 1 for the precision of one mean.
    sides: int
    #: Hours of all runs, one after the other; None where the time of a run is not known.
    hours: float | None
    hours_cautious: float | None


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """What one number of runs can show."""

    runs: int
    #: Half-width of the confidence interval of a mean, in the unit of the plan.
    mean_half_width: float
    #: Ends of the interval of the SD as multiples of it.
    sd_low: float
    sd_high: float
    #: Smallest difference of two means shown with the power asked for, in the unit of the plan.
    detectable_difference: float
    #: Smallest ratio of two SDs shown with that power; None where even 100 would be missed.
    detectable_sd_ratio: float | None
    #: Hours of both sides, one run after the other.
    hours: float | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said about how many runs to make."""

    schema: int = SCHEMA
    pilot: Pilot | None
    #: SD that was planned with, and what differences are in: the unit of the metric, or ``SD``.
    sd: float
    unit: str
    alpha: float
    power: float
    tests: int
    seconds: float | None
    answers: list[Answer]
    ladder: list[Rung]
    notes: list[str]

    def __repr__(self) -> str:
        from deviate.report.writers.plan_terminal import render_plan

        return render_plan(self).rstrip("\n")


def build_plan(asked: PlanAsked, pilot: Pilot | None) -> Plan:
    """Answer what was asked, and say what other numbers of runs can show.

    Parameters
    ----------
    asked : PlanAsked
        The questions.
    pilot : Pilot or None
        Runs that tell SD and time, where the user gives neither.
    """
    sd = asked.sd if asked.sd is not None else pilot.sd if pilot else 1.0
    seconds = asked.seconds if asked.seconds is not None else pilot.seconds if pilot else None
    trusted = asked.sd is not None or pilot is None
    cautious = None if trusted or pilot is None else sd * sd_upper_factor(pilot.n)
    unit = "SD" if asked.sd is None and pilot is None else pilot.unit if pilot else ""
    rungs = sorted({*LADDER, *([asked.runs] if asked.runs else [])})
    answers = _answers(asked, sd, cautious, seconds, unit)
    return Plan(
        pilot=pilot,
        sd=sd,
        unit=unit,
        alpha=asked.alpha,
        power=asked.power,
        tests=asked.tests,
        seconds=seconds,
        answers=answers,
        ladder=[_rung(runs, asked, sd, seconds) for runs in rungs],
        notes=_notes(asked, pilot, answers, cautious, seconds),
    )


def sd_upper_factor(n: int, certainty: float = CAUTION) -> float:
    """Give the one-sided upper confidence limit of the SD as a multiple of the measured one.

    Examples
    --------
    >>> round(sd_upper_factor(8), 2), round(sd_upper_factor(30), 2)
    (1.35, 1.14)
    """
    return sd_factors(n, 2 * certainty - 1)[1]


def _answers(asked: PlanAsked, sd: float, cautious: float | None, seconds: float | None, unit: str) -> list[Answer]:
    found = []
    suffix = f" {unit}" if unit else ""
    alpha, power = asked.alpha_each, asked.power
    if asked.difference is not None:
        size = abs(asked.difference)
        more = None if cautious is None else _enough(runs_for_difference(size / cautious, alpha, power), asked)
        runs = _enough(runs_for_difference(size / sd, alpha, power), asked)
        found.append(_answer(f"to show a difference of {size:g}{suffix}", runs, more, SIDES, seconds))
    if asked.sd_ratio is not None:
        runs = _enough(runs_for_sd_ratio(asked.sd_ratio, alpha=alpha, power=power), asked)
        found.append(_answer(f"to show an SD ratio of {asked.sd_ratio:g}", runs, None, SIDES, seconds))
    if asked.precision is not None:
        level = 1 - asked.alpha
        more = None if cautious is None else runs_for_precision(asked.precision / cautious, level)
        runs = runs_for_precision(asked.precision / sd, level)
        found.append(_answer(f"to know a mean to ± {asked.precision:g}{suffix}", runs, more, 1, seconds))
    return found


def _enough(runs: int | None, asked: PlanAsked) -> int | None:
    """Raise the number to what a verdict needs."""
    return None if runs is None else max(runs, fewest_runs(asked.alpha))


def _answer(question: str, runs: int | None, cautious: int | None, sides: int, seconds: float | None) -> Answer:
    return Answer(
        question=question,
        runs=runs,
        runs_cautious=cautious,
        sides=sides,
        hours=_hours(runs, sides, seconds),
        hours_cautious=_hours(cautious, sides, seconds),
    )


def _rung(runs: int, asked: PlanAsked, sd: float, seconds: float | None) -> Rung:
    found = precision(runs, 1 - asked.alpha)
    return Rung(
        runs=runs,
        mean_half_width=found.mean_half_width * sd,
        sd_low=found.sd_low,
        sd_high=found.sd_high,
        detectable_difference=detectable_difference(runs, runs, asked.alpha_each, asked.power) * sd,
        detectable_sd_ratio=detectable_sd_ratio(runs, alpha=asked.alpha_each, power=asked.power) if runs > 2 else None,
        hours=_hours(runs, SIDES, seconds),
    )


def _hours(runs: int | None, sides: int, seconds: float | None) -> float | None:
    return None if runs is None or seconds is None else sides * runs * seconds / 3600


def _notes(
    asked: PlanAsked, pilot: Pilot | None, answers: Sequence[Answer], cautious: float | None, seconds: float | None
) -> list[str]:
    notes: Sequence[str] = [
        f"A verdict needs {fewest_runs(asked.alpha)} runs a side, however large the difference.",
        "Numbers are for values that are about normal and SDs that are equal.",
        *([f"Corrected for {asked.tests} tests, each is made at {asked.alpha_each:.2g}."] if asked.tests > 1 else []),
    ]
    if pilot is not None and cautious is not None:
        low, high = sd_factors(pilot.n)
        factor = cautious / pilot.sd
        known = f"The SD of {pilot.n} runs is known within a factor of {low:.2f} to {high:.2f} (95% CI)."
        bracketed = any(answer.runs_cautious is not None for answer in answers)
        how = f" In brackets: with an SD {factor:.2f} times as large, which the true one exceeds in 1 of 5 pilots."
        notes = [*notes, f"{known}{how if bracketed else ''}"]
    if seconds is not None:
        notes = [*notes, "Hours are for one run at a time; runs side by side divide them."]
    return list(notes)


#: For writers: what is written where no number of runs is enough.
TOO_MANY = f"more than {MOST_RUNS:,}"
