"""What a reader asks of a report beyond the defaults: which metrics, weak runs, test sets, times to get somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from deviate.errors import BadOption
from deviate.measure.weak import Sign
from deviate.report.names import find_name

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


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """All that a reader asks for."""

    #: Names of the metrics to tell of; none: all.
    metrics: tuple[str, ...] = ()
    #: Runs beyond any of these are weak; without a bar, those far from the others by the MAD.
    weak: tuple[Bar, ...] = ()
    #: When runs get there; without a bar, to their best.
    reach: tuple[Bar, ...] = ()
    #: Number of test examples, by metric.
    test_sizes: dict[str, int] = {}


NOTHING = Asked()


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
    found = _BAR.fullmatch(text)
    if found is None:
        if re.search(r"[<>]", text):
            raise BadOption(f"{option} {text!r} has no number after its sign", hint=f"type {option} 'test acc<50'")
        return Bar(text.strip())
    sign: Sign = found["sign"]  # type: ignore[assignment]
    return Bar(found["metric"].strip(), sign, float(found["bar"]))


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


def settle_asked(asked: Asked, known: Iterable[str]) -> Asked:
    """Write every metric that is named as it was recorded.

    Raises
    ------
    BadOption
        If one was not.
    """
    names = sorted(set(known))
    return msgspec.structs.replace(
        asked,
        metrics=tuple(dict.fromkeys(find_name(metric, names) for metric in asked.metrics)),
        weak=_settled(asked.weak, names),
        reach=_settled(asked.reach, names),
        test_sizes={find_name(metric, names): size for metric, size in asked.test_sizes.items()},
    )


def _settled(bars: Iterable[Bar], names: list[str]) -> tuple[Bar, ...]:
    return tuple(msgspec.structs.replace(bar, metric=find_name(bar.metric, names)) for bar in bars)
