"""The pages of what determinism costs, and of the switches under which a program repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deviate.facts.price import NO_NOISE
from deviate.observe.metrics import TIME_PER_RUN
from deviate.probes.fix import Fixed, Mended
from deviate.probes.price import Priced
from deviate.report.numbers import show
from deviate.report.page import AT_TERMINAL, Answer, Badge, Block, Cell, Code, Hint, Page, Reader, Row, Section, Table
from deviate.report.topics.certificate import parting_text
from deviate.report.topics.command import command_text
from deviate.report.topics.headline import known_prices
from deviate.report.topics.metrics import columns, number
from deviate.report.words import count, joined, listed
from deviate.stats.price import HeldPrice

#: Decimals of a ratio.
_DIGITS = -2


def priced_page(facts: Priced, reader: Reader) -> Page:
    """Make the page of the price of held kernels."""
    text = "not measured" if facts.failure else "price of determinism"
    answer = Answer(sentences=list(priced_sentences(facts)), badge=Badge(text=text, emphasis="accent"))
    blocks = [answer, *_prices(facts.prices), *_stderr(facts)]
    return _page(facts.command, "--price", "what determinism costs", blocks, reader)


def _page(words: Sequence[str], option: str, subtitle: str, blocks: list[Block], reader: Reader) -> Page:
    command = command_text(words)
    return Page(
        title="" if reader in AT_TERMINAL else command,
        subtitle="" if reader in AT_TERMINAL else subtitle,
        command=f"deviate certify {option} -- {command}",
        reader=reader,
        sections=[Section(slug="answer", blocks=blocks)],
    )


def _stderr(facts: Priced | Fixed) -> list[Block]:
    return [Code(lines=facts.failure.stderr, output=True)] if facts.failure and facts.failure.stderr else []


def priced_sentences(facts: Priced) -> Iterator[str]:
    """Say what held kernels cost, and what they buy here."""
    if facts.failure:
        yield f"Not measured: {facts.failure.run} did not complete ({facts.failure.reason})."
        return
    yield from known_prices(facts.prices[:1])
    if not facts.may_vary:
        yield f"Kernels gain nothing here: {NO_NOISE}."
    elif facts.free_repeats:
        yield "The runs with free kernels are bit-identical, too."
    else:
        yield "The runs with free kernels differ."
    if not facts.held_repeats:
        yield "Those with held kernels differ as well: `deviate audit` looks for the cause."


def _prices(prices: Sequence[HeldPrice]) -> list[Block]:
    if not prices:
        return []
    rows = [
        Row(cells=[Cell(each.metric), _ratio(each), *_ends(each), number(str(each.pairs), each.pairs)])
        for each in prices
    ]
    first = prices[0]
    return [
        Table(
            caption=f"{first.held} as a multiple of {first.free}",
            slug="prices",
            titled=True,
            columns=columns("what", "ratio", "CI low", "CI high", "pairs"),
            rows=rows,
        )
    ]


def _ratio(price: HeldPrice) -> Cell:
    return number(show(price.ratio, _DIGITS), price.ratio)


def _ends(price: HeldPrice) -> list[Cell]:
    ends = (price.interval.low, price.interval.high) if price.interval else (None, None)
    return [number(show(end, _DIGITS) if end is not None else "", end) for end in ends]


# Switches that were tried.


def fixed_page(facts: Fixed, reader: Reader) -> Page:
    """Make the page of the switches under which a program repeats."""
    good = facts.repeats or bool(facts.mended)
    text = "repeats" if facts.repeats else "mended" if facts.mended else "not mended"
    answer = Answer(sentences=list(fixed_sentences(facts)), badge=Badge(text=text, emphasis="good" if good else "bad"))
    blocks: list[Block] = [answer, *_mended(facts.mended), *_stderr(facts)]
    if not good and not facts.failure:
        blocks.append(Hint(text="what makes it vary:", command=f"deviate audit -- {command_text(facts.command)}"))
    return _page(facts.command, "--fix", "switches under which it repeats", blocks, reader)


def fixed_sentences(facts: Fixed) -> Iterator[str]:
    """Say whether a program repeats as it is, and if not, under which switches it does."""
    runs = f"{count(facts.runs, 'run')} bit-identical"
    if facts.failure:
        yield f"Not tried: a run did not complete ({facts.failure.reason})."
    elif facts.repeats:
        yield f"It repeats as it is: {runs}."
    elif facts.mended:
        yield f"It repeats with {joined(facts.mended[0].switches)}: {runs}."
        yield _cost(facts.mended[0])
    else:
        yield f"No switch makes it repeat; tried, alone and together: {listed(facts.tried)}."
        if facts.parting:
            yield parting_text(facts.parting, "in the last run", "in the first")
        if facts.held is not None:
            yield _HELD[facts.held]


_HELD = {
    True: "It repeats once Deviate holds its draws: a seed is missing, or is another in each run.",
    False: "It differs even with everything held.",
}


def _cost(mended: Mended) -> str:
    price = next(each for each in mended.prices if each.metric == TIME_PER_RUN)
    pairs = f"{count(price.pairs, 'pair')} of runs made in turn"
    return f"A run takes {show(price.ratio, _DIGITS)} times as long as one of the program as it is, over {pairs}."


def _mended(mended: Sequence[Mended]) -> list[Block]:
    if not mended:
        return []
    names = [each.metric for each in mended[0].prices if all(each.metric in _metrics(other) for other in mended)]
    rows = [
        Row(
            cells=[
                Cell(" and ".join(each.switches)),
                *(_ratio(next(price for price in each.prices if price.metric == name)) for name in names),
            ]
        )
        for each in mended
    ]
    return [
        Table(
            caption="As a multiple of the program as it is",
            slug="switches",
            titled=True,
            columns=columns("switches", *names),
            rows=rows,
        )
    ]


def _metrics(mended: Mended) -> list[str]:
    return [each.metric for each in mended.prices]
