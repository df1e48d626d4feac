"""What holding the implementation costs, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.inference.price import HeldPrice
from deviate.report.numbers import show, show_level
from deviate.report.text.words import count

#: Decimals of a ratio of times.
_DIGITS = -2


def price_sentences(prices: Sequence[HeldPrice]) -> list[str]:
    """Say of every two variants how the time where the implementation is held compares with that where it is free.

    Neither is called better or worse: the time is the price, and repeatable runs are what it pays for.
    """
    reasons = dict.fromkeys(price.reason for price in prices if price.reason)
    return [
        *known_prices(prices),
        *(_unknown([price for price in prices if price.reason == reason]) for reason in reasons),
    ]


def known_prices(prices: Sequence[HeldPrice]) -> list[str]:
    """Say the same of those whose ratio is known, which a screen has room for."""
    return [_ratio(price) for price in prices if not price.reason]


def _ratio(price: HeldPrice) -> str:
    known = price.interval is not None and price.interval.known
    ends = (
        f" ({show_level(price.interval.level)} CI {show(price.interval.low, _DIGITS)} to "
        f"{show(price.interval.high, _DIGITS)})"
        if known and price.interval is not None
        else ""
    )
    return (
        f"Holding the implementation takes {show(price.ratio, _DIGITS)} times as long{ends}: {price.metric} of "
        f"{price.held} beside {price.free}, {count(price.pairs, 'pair')} of runs made in turn."
    )


def _unknown(prices: Sequence[HeldPrice]) -> str:
    named = " and ".join(f"{price.held} beside {price.free}" for price in prices)
    return f"What holding the implementation costs is not known from {named}: {prices[0].reason}."
