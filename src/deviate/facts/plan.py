"""The facts about how many runs to make, and the runs that were made already, from which more are planned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import IMPORTED, SCHEMA
from deviate.core.shell_words import typed_line, typed_word
from deviate.facts.comparable import main_of, pair_runs
from deviate.facts.metric import MetricSpread, measured_sample
from deviate.facts.samples import DEFAULTS, SampleOptions, option_words
from deviate.facts.side import Side, command_for, read_sides, remember_typed
from deviate.observe.metrics import TIME_PER_RUN
from deviate.stats.failures import FailureRate, failure_rate
from deviate.stats.intervals import DEFAULT_LEVEL, MOST_RUNS, cautious_sd_factors, sd_factors
from deviate.stats.paired_tests import correlation
from deviate.stats.power import (
    DEFAULT_ALPHA,
    DEFAULT_POWER,
    detectable_sd_ratio,
    mean_half_width,
    planned_difference,
    planned_runs,
    runs_for_precision,
    runs_for_sd_ratio,
    runs_to_make,
)
from deviate.stats.results import fewest_runs
from deviate.store.folders import Workspace

#: The SD of a pilot is too small in about half of all pilots; planned with this one-sided upper limit of it, the power
#: that was asked for is reached with this probability [1]_.
#:
#: .. [1] R. H. Browne, "On the use of a pilot sample for sample size determination", Statistics in Medicine 14, 1995.
CAUTION = 0.8

#: Two-sided level whose upper end is the one-sided limit at `CAUTION`.
_ONE_SIDED = 2 * CAUTION - 1

#: Pairs of pilots below which nothing is known of their differences.
FEWEST_PAIRS = 3


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
    #: The other side of two pilots, as it was typed, and its runs.
    against: str = ""
    n_against: int = 0
    #: Runs that share draws, their correlation and the SD of their differences; 0 and None where runs are not paired.
    pairs: int = 0
    correlation: float | None = None
    sd_differences: float | None = None
    #: Pooled over two pilots that are not paired, else that of the pilot.
    sd_planned: float = math.nan
    #: Degrees of freedom of the SD that the difference is planned with.
    freedom: int = 0
    #: Runs that gave no value.
    failures: FailureRate | None = None
    #: Runs that went on side by side.
    jobs: int = 1
    #: Digits behind the point, as the program writes the metric; None where that is not known.
    decimals: int | None = None


def make_pilot(side: Side, metric_name: str | None, *, needs_sd: bool) -> Pilot:
    """Return the runs of a side as a pilot; the metric is the main one unless another is named.

    Raises BadOption if it has no such metric, or no SD although it `needs_sd`.
    """
    if not side.samples:
        raise BadOption(
            f"{side.label} has no metric with a finite value",
            hint=f"`deviate report {typed_word(side.experiment)}` says why",
        )
    name = metric_name or main_of(side.samples, in_order=side.variant != IMPORTED)
    metric = measured_sample(side.sample(name, "--metric"), DEFAULT_LEVEL)
    n = metric.n
    if needs_sd and (n < 2 or metric.spread.identical):
        what = "has fewer than two runs" if n < 2 else "gave the same value in every run"
        raise BadOption(
            f"{metric.name!r} in {side.label} {what}, so it tells no SD to plan with",
            hint="make more runs, name another --metric, or type --set sd=NUMBER",
        )
    low, high = cautious_sd_factors(metric.values, n) if n > 1 else (None, None)
    sd = _sd(metric)
    return Pilot(
        label=side.label,
        variant=side.variant,
        metric=metric.name,
        aggregate=metric.aggregate,
        unit=metric.unit,
        decimals=metric.decimals,
        n=n,
        mean=math.nan if metric.spread.mean is None else metric.spread.mean,
        sd=sd,
        seconds=_seconds(side),
        sd_low=low,
        sd_high=high,
        measured=metric,
        sd_planned=sd,
        freedom=n - 1,
        failures=failure_rate(len(metric.lost), metric.tried, _ONE_SIDED),
        jobs=side.jobs,
    )


def with_other_side(pilot: Pilot, a: Side, b: Side) -> Pilot:
    """Return the pilot `a` with what its runs and those of the other side tell together.

    Raises BadOption if the other side has no value of the metric, or all pairs differ by the same amount.
    """
    first, second = (measured_sample(side.sample(pilot.metric, "--metric"), DEFAULT_LEVEL) for side in (a, b))
    if not second.values:
        raise BadOption(
            f"{b.label} has no finite value of {pilot.metric!r}",
            hint=f"`deviate report {typed_word(b.experiment)}` says why",
        )
    lost = failure_rate(len(first.lost) + len(second.lost), first.tried + second.tried, _ONE_SIDED)
    both = msgspec.structs.replace(pilot, against=b.label, n_against=second.n, failures=lost)
    places = pair_runs(a, b, "auto").positions(first, second)
    x, y = np.asarray(first.values), np.asarray(second.values)
    if len(places) < FEWEST_PAIRS:
        freedom = x.size + y.size - 2
        parts = [math.sqrt(each.n - 1) * _sd(each) for each in (first, second) if each.n > 1]
        pooled = math.hypot(*parts) / math.sqrt(freedom) if freedom else math.nan
        return msgspec.structs.replace(both, sd_planned=pooled, freedom=freedom)
    left, right = (values[[place[side] for place in places]] for side, values in enumerate((x, y)))
    differences = left - right
    if np.ptp(differences) == 0:
        raise BadOption(
            f"all pairs of {a.label} and {b.label} differ by the same amount, so they tell no SD to plan with",
            hint="make more runs, or leave --against out",
        )
    return msgspec.structs.replace(
        both,
        pairs=len(places),
        correlation=correlation(left, right),
        sd_differences=float(differences.std(ddof=1)),
        freedom=len(places) - 1,
    )


def _sd(metric: MetricSpread) -> float:
    return math.nan if metric.spread.sd is None else metric.spread.sd


def _seconds(side: Side) -> float | None:
    times = next((sample.values for sample in side.samples if sample.name == TIME_PER_RUN), [])
    return float(np.mean(times)) if times else None


# What a plan is asked for, and the command that asks for it.

#: Sizes beyond this, and below its inverse, have squares and ratios that a 64-bit float cannot hold.
LARGEST_SIZE = 1e60

#: Of one test.
SMALLEST_ALPHA = 1e-12

MOST_TESTS = 1_000_000


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
    #: Of the values of runs that share draws; pairs are compared then. None: as the pilot has it, else not paired.
    correlation: float | None = None
    #: A second pilot, the other side: whether runs are paired, and how they are correlated, is read off both.
    against: str | None = None
    #: Share of the runs that give no value; None: as in the pilot.
    failures: float | None = None
    #: Of the pilot: the metric whose SD is planned with; None: the one a reader asks for first.
    metric: str | None = None
    #: How records of the pilot become samples.
    samples: SampleOptions = DEFAULTS

    @property
    def alpha_each(self) -> float:
        """Alpha of the first step of Holm's procedure, the strictest."""
        return self.alpha / self.tests


def check_options(options: PlanOptions) -> None:
    """Refuse numbers that cannot be.

    Raises BadOption with the option at fault.
    """
    alpha, power = options.alpha, options.power
    if not 1 <= options.tests <= MOST_TESTS:
        raise BadOption(f"tests must be 1 to {MOST_TESTS:,}", hint="type --set tests=1")
    if not 0 < alpha < power < 1:
        raise BadOption(
            f"alpha and power lie between 0 and 1, alpha below power; found {alpha:g} and {power:g}",
            hint="type for example --set alpha=0.05 --set power=0.8",
        )
    above_zero = {
        "--set sd=": options.sd,
        "--difference ": None if options.difference is None else abs(options.difference),
        "--set sd_ratio=": options.sd_ratio,
        "--set precision=": options.precision,
        "--set seconds=": options.seconds,
    }
    for option, value in above_zero.items():
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise BadOption(
                f"{option.rstrip(' =')} must be above 0, found {value:g}", hint=f"type for example {option}2"
            )
        check_size(option.rstrip(" ="), value)
    if options.correlation is not None and not -1 < options.correlation < 1:
        raise BadOption(
            f"correlation lies between -1 and 1, found {options.correlation:g}",
            hint="type for example --set correlation=0.5",
        )
    if options.failures is not None and not 0 <= options.failures < 1:
        raise BadOption(
            f"failures is a share from 0 to below 1, found {options.failures:g}",
            hint="type --set failures=0.1 for one run of ten",
        )
    if options.runs is not None and options.runs > MOST_RUNS:
        raise BadOption(f"--runs must be at most {MOST_RUNS:,}, found {options.runs:,}", hint="type -n 1000")
    if options.alpha_each < SMALLEST_ALPHA:
        raise BadOption(
            f"alpha {alpha:g} for {options.tests} tests is less than {SMALLEST_ALPHA:g} each",
            hint="type for example --set alpha=0.05 --set tests=1",
        )
    if options.sd_ratio == 1:
        raise BadOption("sd_ratio 1 is no difference", hint="type for example --set sd_ratio=2")
    if options.runs is not None and options.runs < 2:
        raise BadOption(f"--runs must be 2 or more, found {options.runs}", hint="one run tells nothing about spread")


def check_size(what: str, value: float | None) -> None:
    """Refuse a size of which squares and ratios are no numbers.

    Raises BadOption with the size.
    """
    if value is not None and not 1 / LARGEST_SIZE <= value <= LARGEST_SIZE:
        raise BadOption(
            f"{what} {value:g} is not between {1 / LARGEST_SIZE:g} and {LARGEST_SIZE:g}",
            hint="give all numbers in another unit",
        )


#: Fields that are typed with ``--set``.
_SET = ("power", "alpha", "tests", "seconds", "correlation", "failures", "sd", "sd_ratio", "precision")


def plan_command(name: str | None, options: PlanOptions) -> str:
    """Return the command that asks the same.

    >>> plan_command("usual", PlanOptions(difference=0.5, runs=10))
    'deviate plan usual --difference 0.5 --runs 10'
    """
    usual = PlanOptions()
    fields = (field for field in PlanOptions.__struct_fields__ if field != "samples")
    changed = {field: value for field in fields if (value := getattr(options, field)) != getattr(usual, field)}
    words = [
        word
        for field, value in changed.items()
        for word in (("--set", f"{field}={value}") if field in _SET else (f"--{field.replace('_', '-')}", str(value)))
    ]
    return typed_line(["deviate", "plan", *([name] if name else []), *words, *option_words(options.samples)])


# Another experiment whose pairs with the pilot may need fewer runs.


class PairedElsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """Another experiment whose runs share draws with those of the pilot, and the runs that pairs would take."""

    against: str
    pairs: int
    runs: int


#: Experiments that are looked at for pairs: those with the most runs, and of these the newest.
LOOKED_AT = 2


def paired_elsewhere(workspace: Workspace, side: Side, pilot: Pilot, options: PlanOptions) -> PairedElsewhere | None:
    """Find an experiment of the same script with the same draws; None where there is none, or nothing was asked."""
    if options.difference is None or options.sd is not None or options.correlation is not None or side.made is None:
        return None
    made = {name: workspace.experiment(name).read_experiment() for name in workspace.names() if name != side.experiment}
    # One of several kinds of variation is no other recipe, and takes long to read.
    others = {name: x for name, x in made.items() if (x.entry, [*x.planned]) == (side.made.entry, [side.variant])}

    def rank(name: str) -> tuple[int, str]:
        return min(others[name].planned[side.variant], pilot.n), others[name].created

    for name in sorted(others, key=rank, reverse=True)[:LOOKED_AT]:
        try:
            (other,) = read_sides(workspace, (name,), options.samples)
            both = with_other_side(pilot, side, other)
        except BadOption:
            continue
        runs = _answers(options, _known(options, both))[0].runs if both.pairs else None
        if runs is not None:
            return PairedElsewhere(against=name, pairs=both.pairs, runs=runs)
    return None


# What runs show, and how many a question takes.

#: Numbers of runs per side for which it is shown what they can show.
LADDER = (5, 8, 10, 16, 30, 50, 100)

SIDES = 2

#: What runs are to show: a difference of two means, a ratio of two SDs, or a mean to some precision.
Question = Literal["difference", "sd-ratio", "precision"]


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
    #: Runs of each side to be made so that so many are left, where some fail: at the rate of the pilot, and at its
    #: upper limit.
    made: int | None = None
    made_cautious: int | None = None
    #: Runs of each side by textbooks, which make one test and take the SD for the true one; None where there is no such
    #: number.
    textbook: int | None = None


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """What one number of runs can show."""

    runs: int
    #: Half-width of the confidence interval of a mean, in the unit of the plan.
    mean_half_width: float
    #: Ends of the interval of the SD as multiples of it, with tails as those of the pilot.
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
    #: Runs per side below which there is no verdict.
    fewest_runs: int
    #: How much larger than the pilot's the SD of the cautious answers is, and the share of pilots in which the true one
    #: is larger still; None where the SD does not come from a pilot.
    caution_factor: float | None
    caution: float = CAUTION
    #: What to type for the same.
    command: str = ""
    #: Runs of one index share draws, so that the differences within pairs are tested; their SD, in the unit.
    paired: bool = False
    correlation: float | None = None
    sd_differences: float | None = None
    #: Share of the runs that are lost, and its upper limit; None where nothing tells.
    lost: float | None = None
    lost_cautious: float | None = None
    #: A number of runs that the user asked about.
    asked_runs: int | None = None
    #: Runs that go on side by side.
    jobs: int = 1
    #: What to type for the runs that the first question takes; empty where the pilot has them, or there is none.
    add_runs: str = ""
    paired_elsewhere: PairedElsewhere | None = None


def read_plan(workspace: Workspace | None, name: str | None, options: PlanOptions) -> Plan:
    """Infer how many runs the questions take; the pilot, if there is one, is ``EXPERIMENT`` or ``EXPERIMENT:VARIANT``.

    Raises UnknownExperiment if there is no such experiment. Raises BadOption if a number cannot be, or the pilot has no
    SD.
    """
    check_options(options)
    if name is None or workspace is None:
        for option, value in (("--metric", options.metric), ("--against", options.against)):
            if value is not None:
                raise BadOption(f"{option} needs a pilot", hint=f"type: deviate plan EXPERIMENT {option} {value!r}")
        return make_plan(options, None, plan_command(name, options))
    names = (name,) if options.against is None else (name, options.against)
    side, *others = read_sides(workspace, names, options.samples)
    pilot = make_pilot(side, options.metric, needs_sd=options.sd is None)
    pilot = with_other_side(pilot, side, others[0]) if others else pilot
    plan = make_plan(options, pilot, plan_command(name, options))
    remember_typed(workspace, [side, *others], options.samples)
    first = plan.answers[0] if plan.answers else None
    return msgspec.structs.replace(
        plan,
        add_runs=command_for(side, first.made or first.runs) if first and first.runs else "",
        paired_elsewhere=None if others else paired_elsewhere(workspace, side, pilot, options),
    )


def make_plan(options: PlanOptions, pilot: Pilot | None, command: str = "") -> Plan:
    """Answer the questions, and list what other numbers of runs can show.

    The pilot tells SD and time, where the user gives neither; `command` is what to type for the same.
    """
    known = _known(options, pilot)
    for what, value in (("the SD", known.sd), ("the SD of the differences", known.sd_differences)):
        check_size(what, value)
    rungs = sorted({*LADDER, *([options.runs] if options.runs else []), *([pilot.n] if pilot and pilot.n > 1 else [])})
    return Plan(
        pilot=pilot,
        sd=known.sd,
        unit="SD" if options.sd is None and pilot is None else pilot.unit if pilot else "",
        alpha=options.alpha,
        power=options.power,
        tests=options.tests,
        seconds=known.seconds,
        answers=_answers(options, known),
        ladder=[_rung(runs, options, known) for runs in rungs],
        alpha_each=options.alpha_each,
        fewest_runs=fewest_runs(options.alpha),
        caution_factor=known.factor,
        command=command,
        paired=known.paired,
        correlation=known.correlation,
        sd_differences=known.sd_differences,
        lost=known.lost,
        lost_cautious=known.lost_cautious,
        asked_runs=options.runs,
        jobs=pilot.jobs if pilot else 1,
    )


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is planned with."""

    sd: float
    #: Within pairs; None where runs are not paired.
    sd_differences: float | None
    correlation: float | None
    #: Of the SD; None where it is not measured.
    freedom: int | None
    #: Of the runs of the pilot whose SD is planned with.
    values: Sequence[float]
    seconds: float | None
    lost: float | None
    lost_cautious: float | None

    @property
    def tested_sd(self) -> float:
        """SD that a difference is divided by."""
        return self.sd if self.sd_differences is None else self.sd_differences

    @property
    def paired(self) -> bool:
        """Whether the differences within pairs are tested."""
        return self.sd_differences is not None

    @property
    def factor(self) -> float | None:
        """One-sided upper limit of the SD, at `CAUTION`, as a multiple of it: 1.35 of 8 runs."""
        return None if self.freedom is None else sd_factors(self.freedom + 1, _ONE_SIDED)[1]


def _known(options: PlanOptions, pilot: Pilot | None) -> _Known:
    measured = pilot is not None and options.sd is None
    sd = options.sd if options.sd is not None else pilot.sd_planned if pilot else 1.0
    given = options.correlation
    r = given if given is not None else pilot.correlation if pilot else None
    differences = None if r is None else sd * math.sqrt(2 * (1 - r))
    if measured and pilot and given is None and pilot.sd_differences is not None:
        differences = pilot.sd_differences
    failures = pilot.failures if pilot and options.failures is None else None
    return _Known(
        sd=sd,
        sd_differences=differences,
        correlation=r,
        freedom=pilot.freedom if measured and pilot else None,
        values=pilot.measured.values if measured and pilot and pilot.measured else (),
        seconds=options.seconds if options.seconds is not None else pilot.seconds if pilot else None,
        lost=failures.share if failures else options.failures,
        lost_cautious=failures.interval.high if failures and failures.failed else None,
    )


def _answers(options: PlanOptions, known: _Known) -> list[Answer]:
    answers = []
    alpha, power = options.alpha_each, options.power
    cautious = None if known.factor is None else known.tested_sd * known.factor
    if options.difference is not None:
        size = abs(options.difference)
        runs = planned_runs(size / known.tested_sd, alpha, power, paired=known.paired, freedom=known.freedom)
        more = None if cautious is None else planned_runs(size / cautious, alpha, power, paired=known.paired)
        textbook = planned_runs(size / known.tested_sd, options.alpha, power, paired=known.paired)
        answers.append(_answer("difference", size, _enough(runs, options), _enough(more, options), known, textbook))
    if options.sd_ratio is not None:
        runs = _enough(runs_for_sd_ratio(options.sd_ratio, alpha=alpha, power=power), options)
        answers.append(_answer("sd-ratio", options.sd_ratio, runs, None, known, None))
    if options.precision is not None:
        size, level = options.precision, 1 - options.alpha
        runs = runs_for_precision(size / known.sd, level, known.freedom)
        more = None if known.factor is None else runs_for_precision(size / (known.sd * known.factor), level)
        textbook = runs_for_precision(size / known.sd, level)
        answers.append(_answer("precision", size, runs, more, known, textbook))
    return answers


def _enough(runs: int | None, options: PlanOptions) -> int | None:
    """Raise the number to what a verdict needs."""
    return None if runs is None else max(runs, fewest_runs(options.alpha))


def _answer(
    question: Question, size: float, runs: int | None, cautious: int | None, known: _Known, textbook: int | None
) -> Answer:
    sides = 1 if question == "precision" else SIDES
    if runs is not None and cautious is not None:
        cautious = max(runs, cautious)
    pairs = known.paired and question == "difference"
    made = _made(runs, known.lost, pairs)
    made_cautious = _made(cautious, known.lost_cautious or known.lost, pairs)
    return Answer(
        question=question,
        size=size,
        runs=runs,
        runs_cautious=cautious,
        sides=sides,
        hours=_hours(made, sides, known.seconds),
        hours_cautious=_hours(made_cautious, sides, known.seconds),
        made=made,
        made_cautious=made_cautious,
        textbook=textbook,
    )


def _made(runs: int | None, lost: float | None, pairs: bool) -> int | None:
    return runs if runs is None or lost is None else runs_to_make(runs, lost, paired=pairs)


def _rung(runs: int, options: PlanOptions, known: _Known) -> Rung:
    low, high = cautious_sd_factors(known.values, runs, 1 - options.alpha)
    alpha, power = options.alpha_each, options.power
    shown = planned_difference(runs, alpha, power, paired=known.paired, freedom=known.freedom)
    return Rung(
        runs=runs,
        mean_half_width=mean_half_width(runs, 1 - options.alpha) * known.sd,
        sd_low=low,
        sd_high=high,
        detectable_difference=shown * known.tested_sd,
        detectable_sd_ratio=detectable_sd_ratio(runs, alpha=alpha, power=power) if runs > 2 else None,
        hours=_hours(runs, SIDES, known.seconds),
    )


def _hours(runs: int | None, sides: int, seconds: float | None) -> float | None:
    return None if runs is None or seconds is None else sides * runs * seconds / 3600
