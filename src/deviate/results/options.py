"""Options on samples: aggregates, weak runs, times to reach a value, sizes of test sets, differences that matter."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

import msgspec

from deviate.collect.aggregates import check_aggregate
from deviate.collect.measured import TIMES, with_times
from deviate.errors import BadOption
from deviate.experiment import Direction
from deviate.measure.weak import Sign
from deviate.results.names import find_name, same_name
from deviate.shell_words import typed_word

_BAR = re.compile(r"(?P<metric>.+?)\s*(?P<sign><=|>=|<|>)\s*(?P<bar>[-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*")


class Bar(msgspec.Struct, frozen=True):
    """A metric with a bar, as users type it: ``test acc<50``; only the metric where they name no bar."""

    metric: str
    sign: Sign | None = None
    bar: float | None = None

    @property
    def text(self) -> str:
        """The bar as it is typed."""
        return self.metric if self.bar is None else f"{self.metric}{self.sign}{self.bar:g}"


class SampleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the records of an experiment become samples, where that is not as the experiment says."""

    #: By metric.
    aggregates: dict[str, str] = {}
    #: Which values are better, by metric, where that is typed; see `deviate.collect.directions`.
    directions: dict[str, Direction] = {}
    #: Runs beyond any of these are weak; without a bar, those far from the others by the MAD.
    weak: tuple[Bar, ...] = ()
    #: When runs get there; without a bar, to their best.
    reach: tuple[Bar, ...] = ()
    #: Number of test examples, by metric.
    test_sizes: dict[str, int] = {}
    #: A difference between recipes that their spread is set beside, above 0, by metric.
    differences: dict[str, float] = {}


DEFAULTS = SampleOptions()


def read_options(
    *,
    aggregates: Mapping[str, str] | None = None,
    directions: Mapping[str, Direction] | None = None,
    weak: Iterable[str] = (),
    reach: Iterable[str] = (),
    test_sizes: Mapping[str, int] | None = None,
    differences: Mapping[str, float] | None = None,
) -> SampleOptions:
    """Read the options as users type them: bars as text, see `parse_bar`.

    Raises
    ------
    BadOption
        If a bar cannot be read, a direction is none, or a difference is not above 0.
    """
    _check_directions(directions or {})
    for metric, difference in (differences or {}).items():
        if not 0 < difference < math.inf:
            raise BadOption(
                f"the difference of {metric!r} must be above 0, found {difference:g}",
                hint="type --difference 'test acc=0.5'",
            )
    return SampleOptions(
        aggregates=dict(aggregates or {}),
        directions=dict(directions or {}),
        weak=tuple(parse_bar(text, "--weak") for text in weak),
        reach=tuple(parse_bar(text, "--reach") for text in reach),
        test_sizes=dict(test_sizes or {}),
        differences=dict(differences or {}),
    )


def _check_directions(directions: Mapping[str, Direction]) -> None:
    for metric, direction in directions.items():
        if direction not in ("higher", "lower"):
            raise BadOption(
                f"--direction {metric}={direction}: expected higher or lower",
                hint=f"type --direction {typed_word(f'{metric}=higher')}",
            )


def parse_bar(text: str, option: str) -> Bar:
    """Read ``METRIC<NUMBER`` or ``METRIC``.

    Raises
    ------
    BadOption
        If a sign is followed by no number.

    Examples
    --------
    >>> parse_bar("test acc < 50", "--weak")
    Bar(metric='test acc', sign='<', bar=50.0)
    >>> parse_bar("test acc", "--weak").bar is None
    True
    """
    match = _BAR.fullmatch(text)
    if match is None:
        if re.search(r"[<>]", text):
            raise BadOption(f"{option} {text!r} has no number after its sign", hint=f"type {option} 'test acc<50'")
        return Bar(text.strip())
    sign: Sign = match["sign"]  # type: ignore[assignment]
    return Bar(match["metric"].strip(), sign, float(match["bar"]))


def parse_sizes(texts: Iterable[str]) -> dict[str, int]:
    """Read ``METRIC=EXAMPLES``.

    Raises
    ------
    BadOption
        If it is no whole number above 0.

    Examples
    --------
    >>> parse_sizes(["test acc=10000"])
    {'test acc': 10000}
    """
    sizes = {}
    for text in texts:
        metric, _, size = text.rpartition("=")
        if not metric or not size.strip().isdecimal() or int(size) < 1:
            raise BadOption(f"--test-size {text!r} is no METRIC=EXAMPLES", hint="type --test-size 'test acc=10000'")
        sizes[metric.strip()] = int(size)
    return sizes


def settle_options(options: SampleOptions, names: Iterable[str], *, partial: bool = False) -> SampleOptions:
    """Write every metric that the options name as it was recorded; with `partial`, leave out those that were not.

    `names` are those of the records; the times that every experiment has are known as well.

    Raises
    ------
    BadOption
        If a metric was not recorded, there is no such aggregate, or a time has another one.
    """
    known = sorted(set(with_times(names)))
    for aggregate in options.aggregates.values():
        check_aggregate(aggregate)
    if partial:
        options = _recorded(options, known)
    aggregates = {find_name(name, known): aggregate for name, aggregate in options.aggregates.items()}
    for time in TIMES:
        if aggregates.get(time.name, time.aggregate) != time.aggregate:
            raise BadOption(
                f"the aggregate of {time.name!r} must be {time.aggregate}, found {aggregates[time.name]!r}",
                hint="give no aggregate for it",
            )
    return msgspec.structs.replace(
        options,
        aggregates=aggregates,
        directions={find_name(name, known): direction for name, direction in options.directions.items()},
        weak=_settled(options.weak, known),
        reach=_settled(options.reach, known),
        test_sizes={find_name(name, known): size for name, size in options.test_sizes.items()},
        differences={find_name(name, known): size for name, size in options.differences.items()},
    )


def option_words(options: SampleOptions) -> list[str]:
    """Return the words of a command that give the same options; reports alone have differences.

    Examples
    --------
    >>> option_words(SampleOptions(aggregates={"test acc": "best"}, reach=(Bar("val acc", ">=", 90.0),)))
    ['--aggregate', 'test acc=best', '--reach', 'val acc>=90']
    """
    named = {
        "direction": [f"{metric}={direction}" for metric, direction in options.directions.items()],
        "aggregate": [f"{metric}={aggregate}" for metric, aggregate in options.aggregates.items()],
        "test-size": [f"{metric}={size}" for metric, size in options.test_sizes.items()],
        "weak": [bar.text for bar in options.weak],
        "reach": [bar.text for bar in options.reach],
    }
    return [word for option, values in named.items() for value in values for word in (f"--{option}", value)]


def _recorded(options: SampleOptions, names: list[str]) -> SampleOptions:
    def known(metric: str) -> bool:
        return same_name(metric, names) is not None

    return SampleOptions(
        aggregates={name: aggregate for name, aggregate in options.aggregates.items() if known(name)},
        directions={name: direction for name, direction in options.directions.items() if known(name)},
        weak=tuple(bar for bar in options.weak if known(bar.metric)),
        reach=tuple(bar for bar in options.reach if known(bar.metric)),
        test_sizes={name: size for name, size in options.test_sizes.items() if known(name)},
        differences={name: size for name, size in options.differences.items() if known(name)},
    )


def _settled(bars: Iterable[Bar], names: list[str]) -> tuple[Bar, ...]:
    return tuple(msgspec.structs.replace(bar, metric=find_name(bar.metric, names)) for bar in bars)
