"""What a plan is asked for, and the command that asks for it."""

from __future__ import annotations

import math

import msgspec

from deviate.contrast.power import DEFAULT_ALPHA, DEFAULT_POWER
from deviate.errors import BadOption
from deviate.measure.robust_sd import MOST_RUNS
from deviate.results.options import DEFAULTS, SampleOptions, option_words
from deviate.shell_words import typed_line

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

    Raises
    ------
    BadOption
        With the option at fault.
    """
    alpha, power = options.alpha, options.power
    if not 1 <= options.tests <= MOST_TESTS:
        raise BadOption(f"--tests must be 1 to {MOST_TESTS:,}", hint="type --tests 1")
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
        check_size(option, value)
    if options.correlation is not None and not -1 < options.correlation < 1:
        raise BadOption(
            f"--correlation lies between -1 and 1, found {options.correlation:g}", hint="type for example 0.5"
        )
    if options.failures is not None and not 0 <= options.failures < 1:
        raise BadOption(
            f"--failures is a share from 0 to below 1, found {options.failures:g}", hint="type 0.1 for one run of ten"
        )
    if options.runs is not None and options.runs > MOST_RUNS:
        raise BadOption(f"--runs must be at most {MOST_RUNS:,}, found {options.runs:,}", hint="type -n 1000")
    if options.alpha_each < SMALLEST_ALPHA:
        raise BadOption(
            f"--alpha {alpha:g} for {options.tests} tests is less than {SMALLEST_ALPHA:g} each",
            hint="type for example --alpha 0.05 --tests 1",
        )
    if options.sd_ratio == 1:
        raise BadOption("--sd-ratio 1 is no difference", hint="type for example --sd-ratio 2")
    if options.runs is not None and options.runs < 2:
        raise BadOption(f"--runs must be 2 or more, found {options.runs}", hint="one run tells nothing about spread")


def check_size(what: str, value: float | None) -> None:
    """Refuse a size of which squares and ratios are no numbers.

    Raises
    ------
    BadOption
        With the size.
    """
    if value is not None and not 1 / LARGEST_SIZE <= value <= LARGEST_SIZE:
        raise BadOption(
            f"{what} {value:g} is not between {1 / LARGEST_SIZE:g} and {LARGEST_SIZE:g}",
            hint="give all numbers in another unit",
        )


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
    return typed_line(["deviate", "plan", *([name] if name else []), *words, *option_words(options.samples)])
