"""Options that say how records become samples: the same for every command that reads results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deviate.cli.pairs import named_values
from deviate.errors import BadOption

if TYPE_CHECKING:
    from deviate.results.options import SampleOptions

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--aggregate",
        "aggregates",
        multiple=True,
        metavar="METRIC=AGGREGATE",
        help="How a run's values become one number: last, best, mean, max, min, area or 'at ITERATION'; repeatable.",
    ),
    click.option(
        "--direction",
        "directions",
        multiple=True,
        metavar="METRIC=higher|lower",
        help="Which values are better; remembered for all experiments here. [direction] in deviate.toml says it, too. "
        "Repeatable.",
    ),
    click.option(
        "--weak",
        multiple=True,
        metavar="METRIC<NUMBER",
        help="Leave out runs that did not converge ('test acc<50', or NaN), and give every number with them too. "
        "METRIC alone leaves out runs far from the others, by the median absolute deviation. Repeatable.",
    ),
    click.option(
        "--reach",
        multiple=True,
        metavar="METRIC>=NUMBER",
        help="Measure the iterations and seconds until a run gets there; METRIC alone: to its best value; repeatable.",
    ),
    click.option(
        "--test-size",
        "test_sizes",
        multiple=True,
        metavar="METRIC=EXAMPLES",
        help="Number of test examples: tells how much of an accuracy's spread a finite test set explains; repeatable.",
    ),
)


def sample_options(command: Command) -> Command:
    """Give a command the options of `read_sample_options`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_sample_options(options: dict[str, Any], differences: tuple[str, ...]) -> SampleOptions:
    """Read the options as they were typed, with the differences that a report sets the spread beside.

    Raises
    ------
    BadOption
        With the option that cannot be read.
    """
    from deviate.results.options import read_options

    read = named_values("--difference", differences, _number, "'test acc=0.5'")
    return read_options(**sample_arguments(options), differences=read)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadOption(
            f"--difference needs a number, found {text!r}", hint="type --difference 'test acc=0.5'"
        ) from None


def sample_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed for the options of `sample_options` as functions of the API take it.

    Raises
    ------
    BadOption
        With the option that cannot be read.
    """
    from deviate.results.options import parse_sizes

    return {
        "aggregates": named_values("--aggregate", options["aggregates"], str, "'test acc=best'"),
        "directions": named_values("--direction", options["directions"], str.lower, "'reward=higher'"),
        "test_sizes": parse_sizes(options["test_sizes"]),
        "weak": options["weak"],
        "reach": options["reach"],
    }
