"""The facts about how many runs to make."""

from __future__ import annotations

import math
import shlex
from typing import Literal

import msgspec
import numpy as np

from deviate.collect.measured import TIME_PER_RUN
from deviate.contrast.guards import fewest_runs
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
from deviate.errors import BadOption
from deviate.experiment import SCHEMA
from deviate.inference.comparison.side import Side, read_sides
from deviate.inference.metric import MetricSpread, measured_sample
from deviate.measure.intervals import DEFAULT_LEVEL, sd_factors
from deviate.replicate.workspace.folders import Workspace
from deviate.results.options import DEFAULTS, SampleOptions, option_words
from deviate.results.order import main_metric

#: Numbers of runs a side for which it is shown what they can show.
LADDER = (5, 8, 10, 16, 30, 50, 100)

#: The SD of a pilot is too small in about half of all pilots; planned with this one-sided upper limit of it, the power
#: that was asked for is reached with this probability [1]_.
#:
#: .. [1] R. H. Browne, "On the use of a pilot sample for sample size determination", Statistics in Medicine 14, 1995.
CAUTION = 0.8

#: Two sides are compared.
SIDES = 2

#: What runs are to show: a difference of two means, a ratio of two SDs, or a mean to some precision.
Question = Literal["difference", "sd-ratio", "precision"]


class PlanOptions(msgspec.Struct, frozen=True, kw_only=True):
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
    #: Of the pilot: the metric whose SD is planned with; None: the one a reader asks for first.
    metric: str | None = None
    #: How records of the pilot become samples.
    samples: SampleOptions = DEFAULTS

    @property
    def alpha_each(self) -> float:
        """Alpha of the first step of Holm's procedure, the strictest."""
        return self.alpha / self.tests


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
    #: Ends of the interval of the SD as multiples of it, and its confidence level; None for one run.
    sd_low: float | None = None
    sd_high: float | None = None
    sd_level: float = DEFAULT_LEVEL
    #: What was measured, with what was left out of it.
    measured: MetricSpread | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs one question takes."""

    question: Question
    #: Difference, ratio or half-width that is asked for.
    size: float
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
    """All facts about how many runs to make."""

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
    #: Alpha of each test, where several are corrected together.
    alpha_each: float
    #: Runs a side below which there is no verdict.
    fewest_runs: int
    #: How much larger than the pilot's the SD of the cautious answers is, and the share of pilots in which the true one
    #: is larger still; None where the SD does not come from a pilot.
    caution_factor: float | None
    caution: float = CAUTION
    #: What to type for the same.
    command: str = ""


def read_plan(workspace: Workspace | None, name: str | None, options: PlanOptions) -> Plan:
    """Infer how many runs the questions take; the pilot, if there is one, is ``EXPERIMENT`` or ``EXPERIMENT:VARIANT``.

    Raises
    ------
    UnknownExperiment
        If there is no such experiment.
    BadOption
        If a number cannot be, or the pilot has no SD.
    """
    check_options(options)
    if name is None or workspace is None:
        if options.metric is not None:
            raise BadOption("--metric needs a pilot", hint=f"type: deviate plan EXPERIMENT --metric {options.metric!r}")
        return make_plan(options, None, plan_command(name, options))
    (side,) = read_sides(workspace, (name,), options.samples)
    return make_plan(options, _pilot(side, options), plan_command(name, options))


def check_options(options: PlanOptions) -> None:
    """Refuse numbers that cannot be.

    Raises
    ------
    BadOption
        With the option at fault.
    """
    alpha, power = options.alpha, options.power
    if not 0 < alpha < power < 1:
        raise BadOption(
            f"--alpha and --power lie between 0 and 1, alpha below power; found {alpha:g} and {power:g}",
            hint="type for example --alpha 0.05 --power 0.8",
        )
    above_zero = {
        "--sd": options.sd,
        "--difference": None if options.difference is None else abs(options.difference),
        "--sd-ratio": options.sd_ratio,
        "--precision": options.precision,
        "--seconds": options.seconds,
    }
    for option, value in above_zero.items():
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise BadOption(f"{option} must be above 0, found {value:g}", hint=f"type for example {option} 2")
    if options.sd_ratio == 1:
        raise BadOption("--sd-ratio 1 is no difference", hint="type for example --sd-ratio 2")
    if options.runs is not None and options.runs < 2:
        raise BadOption(f"--runs must be 2 or more, found {options.runs}", hint="one run tells nothing about spread")
    if options.tests < 1:
        raise BadOption(f"--tests must be 1 or more, found {options.tests}", hint="type --tests 1")


def plan_command(name: str | None, options: PlanOptions) -> str:
    """Return the command that asks the same.

    Examples
    --------
    >>> plan_command("usual", PlanOptions(difference=0.5, runs=10))
    'deviate plan usual --difference 0.5 --runs 10'
    """
    usual = PlanOptions()
    fields = (field for field in PlanOptions.__struct_fields__ if field != "samples")
    changed = {field: value for field in fields if (value := getattr(options, field)) != getattr(usual, field)}
    words = [word for field, value in changed.items() for word in (f"--{field.replace('_', '-')}", str(value))]
    return shlex.join(["deviate", "plan", *([name] if name else []), *words, *option_words(options.samples)])


def _pilot(side: Side, options: PlanOptions) -> Pilot:
    if not side.samples:
        raise BadOption(
            f"{side.label} has no metric with a finite value", hint=f"`deviate report {side.experiment}` says why"
        )
    name = options.metric or main_metric(side.samples).name
    metric = measured_sample(side.sample(name, "--metric"), DEFAULT_LEVEL)
    values, n = np.asarray(metric.values), metric.n
    if options.sd is None and (n < 2 or np.ptp(values) == 0):
        what = "has fewer than two runs" if n < 2 else "gave the same value in every run"
        raise BadOption(
            f"{metric.name!r} in {side.label} {what}, so it tells no SD to plan with",
            hint="make more runs, name another --metric, or give an --sd",
        )
    low, high = sd_factors(n) if n > 1 else (None, None)
    return Pilot(
        label=side.label,
        variant=side.variant,
        metric=metric.name,
        aggregate=metric.aggregate,
        unit=metric.unit,
        n=n,
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if n > 1 else math.nan,
        seconds=_seconds(side),
        sd_low=low,
        sd_high=high,
        measured=metric,
    )


def _seconds(side: Side) -> float | None:
    times = next((sample.values for sample in side.samples if sample.name == TIME_PER_RUN), [])
    return float(np.mean(times)) if times else None


def make_plan(options: PlanOptions, pilot: Pilot | None, command: str = "") -> Plan:
    """Answer the questions, and list what other numbers of runs can show.

    The pilot tells SD and time, where the user gives neither; `command` is what to type for the same.
    """
    sd = options.sd if options.sd is not None else pilot.sd if pilot else 1.0
    seconds = options.seconds if options.seconds is not None else pilot.seconds if pilot else None
    factor = sd_upper_factor(pilot.n) if pilot and options.sd is None else None
    rungs = sorted({*LADDER, *([options.runs] if options.runs else [])})
    return Plan(
        pilot=pilot,
        sd=sd,
        unit="SD" if options.sd is None and pilot is None else pilot.unit if pilot else "",
        alpha=options.alpha,
        power=options.power,
        tests=options.tests,
        seconds=seconds,
        answers=_answers(options, sd, None if factor is None else sd * factor, seconds),
        ladder=[_rung(runs, options, sd, seconds) for runs in rungs],
        alpha_each=options.alpha_each,
        fewest_runs=fewest_runs(options.alpha),
        caution_factor=factor,
        command=command,
    )


def sd_upper_factor(n: int, certainty: float = CAUTION) -> float:
    """Return the one-sided upper confidence limit of the SD as a multiple of the measured one.

    Examples
    --------
    >>> round(sd_upper_factor(8), 2), round(sd_upper_factor(30), 2)
    (1.35, 1.14)
    """
    return sd_factors(n, 2 * certainty - 1)[1]


def _answers(options: PlanOptions, sd: float, cautious: float | None, seconds: float | None) -> list[Answer]:
    answers = []
    alpha, power, level = options.alpha_each, options.power, 1 - options.alpha
    if options.difference is not None:
        size = abs(options.difference)
        runs, more = (
            None if each is None else _enough(runs_for_difference(size / each, alpha, power), options)
            for each in (sd, cautious)
        )
        answers.append(_answer("difference", size, runs, more, SIDES, seconds))
    if options.sd_ratio is not None:
        runs = _enough(runs_for_sd_ratio(options.sd_ratio, alpha=alpha, power=power), options)
        answers.append(_answer("sd-ratio", options.sd_ratio, runs, None, SIDES, seconds))
    if options.precision is not None:
        size = options.precision
        runs, more = (None if each is None else runs_for_precision(size / each, level) for each in (sd, cautious))
        answers.append(_answer("precision", size, runs, more, 1, seconds))
    return answers


def _enough(runs: int | None, options: PlanOptions) -> int | None:
    """Raise the number to what a verdict needs."""
    return None if runs is None else max(runs, fewest_runs(options.alpha))


def _answer(
    question: Question, size: float, runs: int | None, cautious: int | None, sides: int, seconds: float | None
) -> Answer:
    return Answer(
        question=question,
        size=size,
        runs=runs,
        runs_cautious=cautious,
        sides=sides,
        hours=_hours(runs, sides, seconds),
        hours_cautious=_hours(cautious, sides, seconds),
    )


def _rung(runs: int, options: PlanOptions, sd: float, seconds: float | None) -> Rung:
    known = precision(runs, 1 - options.alpha)
    alpha, power = options.alpha_each, options.power
    return Rung(
        runs=runs,
        mean_half_width=known.mean_half_width * sd,
        sd_low=known.sd_low,
        sd_high=known.sd_high,
        detectable_difference=detectable_difference(runs, runs, alpha, power) * sd,
        detectable_sd_ratio=detectable_sd_ratio(runs, alpha=alpha, power=power) if runs > 2 else None,
        hours=_hours(runs, SIDES, seconds),
    )


def _hours(runs: int | None, sides: int, seconds: float | None) -> float | None:
    return None if runs is None or seconds is None else sides * runs * seconds / 3600
