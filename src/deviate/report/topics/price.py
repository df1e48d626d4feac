"""The pages of what determinism costs, and of the switches under which a program repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deviate.probes.fix import Fixed
from deviate.probes.price import Priced
from deviate.report.numbers import show
from deviate.report.page import AT_TERMINAL, Answer, Badge, Block, Cell, Code, Hint, Page, Reader, Row, Section, Table
from deviate.report.topics.certificate import parting_text
from deviate.report.topics.command import command_text
from deviate.report.topics.headline import known_prices
from deviate.report.topics.metrics import columns, number
from deviate.report.words import count, joined, listed

#: Decimals of a ratio.
_DIGITS = -2


def priced_page(facts: Priced, reader: Reader) -> Page:
    """Make the page of the price of held kernels."""
    badge = Badge(text="not measured" if facts.failure else "price of determinism", emphasis="accent")
    blocks: list[Block] = [Answer(sentences=list(priced_sentences(facts)), badge=badge)]
    rows = []
    for price in facts.prices:
        ends = (price.interval.low, price.interval.high) if price.interval else (None, None)
        rows.append([Cell(price.metric), *map(_ratio, (price.ratio, *ends))])
    blocks.append(_table("Kernels held, as a multiple of kernels free", ["what", "ratio", "CI low", "CI high"], rows))
    return _page(facts, "--price", blocks, reader)


def _page(facts: Priced | Fixed, option: str, blocks: Sequence[Block], reader: Reader) -> Page:
    command = command_text(facts.command)
    shown = [block for block in blocks if not isinstance(block, Table) or block.rows]
    lines = facts.failure.stderr if facts.failure else []
    return Page(
        title="" if reader in AT_TERMINAL else command,
        command=f"deviate certify {option} -- {command}",
        reader=reader,
        sections=[Section(slug="answer", blocks=[*shown, *([Code(lines=lines, output=True)] if lines else [])])],
    )


def _table(caption: str, heads: Sequence[str], rows: Sequence[list[Cell]]) -> Table:
    made = [Row(cells=cells) for cells in rows]
    return Table(caption=caption, slug="prices", titled=True, columns=columns(*heads), rows=made)


def _ratio(value: float | None) -> Cell:
    return number("" if value is None else show(value, _DIGITS), value)


def priced_sentences(facts: Priced) -> Iterator[str]:
    """Say what held kernels cost, and what they buy here."""
    if facts.failure:
        yield f"Not measured: {facts.failure.run} did not complete ({facts.failure.reason})."
        return
    yield from known_prices(facts.prices[:1])
    if not facts.may_vary:
        yield "Held kernels gain nothing here: with pinned threads and no GPU kernels have no effect."
    else:
        yield f"The runs with free kernels {'are bit-identical, too' if facts.free_repeats else 'differ'}."
    if not facts.held_repeats:
        yield "The runs with held kernels differ: `deviate audit` looks for the cause."


# Switches that were tried.


def fixed_page(facts: Fixed, reader: Reader) -> Page:
    """Make the page of the switches under which a program repeats."""
    good = facts.repeats or bool(facts.mended)
    badge = Badge(text="repeats" if good else "does not repeat", emphasis="good" if good else "bad")
    names = [price.metric for price in facts.mended[0].prices] if facts.mended else []
    ratios = [{price.metric: price.ratio for price in each.prices} for each in facts.mended]
    rows = [
        [Cell(" and ".join(each.switches)), *(_ratio(known.get(name)) for name in names)]
        for each, known in zip(facts.mended, ratios, strict=True)
    ]
    blocks: list[Block] = [
        Answer(sentences=list(fixed_sentences(facts)), badge=badge),
        _table("As a multiple of the program as it is", ["switches", *names], rows),
    ]
    if not good and not facts.failure:
        blocks.append(Hint(text="what makes it vary:", command=f"deviate audit -- {command_text(facts.command)}"))
    return _page(facts, "--fix", blocks, reader)


def fixed_sentences(facts: Fixed) -> Iterator[str]:
    """Say whether a program repeats as it is, and if not, under which switches it does."""
    runs = f"{count(facts.runs, 'run')} bit-identical"
    if facts.failure:
        yield f"Not tried: a run did not complete ({facts.failure.reason})."
    elif facts.repeats:
        yield f"It repeats as it is: {runs}."
    elif facts.mended:
        yield f"It repeats with {joined(facts.mended[0].switches)}: {runs}."
        cost, pairs = show(facts.mended[0].time, _DIGITS), count(facts.runs, "pair")
        yield f"A run takes {cost} times as long as one of the program as it is, over {pairs} of runs made in turn."
    else:
        yield f"No switch makes it repeat; tried, alone and together: {listed(facts.tried)}."
        if facts.parting:
            yield parting_text(facts.parting, "in the last run", "in the first")
        if facts.held is True:
            yield "It repeats once Deviate holds its draws: a seed is missing, or is another in each run."
        elif facts.held is False:
            yield "It differs even with everything held."
