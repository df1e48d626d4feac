"""What varied and how much it makes runs differ: mean, SD, range, churn, weights and representations, a row each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from deviate.core.factors import plain_name
from deviate.core.shell_words import typed_word
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.sources import SpreadAcross, VariantSpread, is_fixed, source_of
from deviate.report.figures import slug
from deviate.report.numbers import UNKNOWN, show, show_level, show_percent, show_share, show_shares, unit_in_name
from deviate.report.page import Answer, Bar, Bars, Block, Cell, Column, Hint, Row, Sentences, Table
from deviate.report.topics.distribution import SpreadText
from deviate.report.topics.headline import alarms, taken_text
from deviate.report.topics.metrics import number
from deviate.report.topics.proof import identity_text, shows_weights
from deviate.report.topics.sources_figure import SourceRow, churn_of, rounded_ticks, source_rows
from deviate.report.words import capital, command_text, count, joined
from deviate.stats.intervals import Interval
from deviate.stats.pairs import Estimate
from deviate.stats.power import runs_for_sd_ratio

#: What is typed so that weights and representations are compared.
KEPT = "--weights final --predictions scores"

#: Below a column of churn.
CHURN = "churn: examples on which two runs differ."

#: Columns of the table that are of its metric.
_OF_METRIC = 4

#: Runs to tell two SDs apart beyond which the number is not looked for.
MOST_RUNS = 100

#: Distances of unit-length weights and similarities of representations are written to this place.
_DISTANCE, _CKA = -2, -3


def sources_table(table: SpreadAcross, facts: ExperimentFacts, *, whole: bool = True) -> Table:
    """Return the table of one metric by what varied, the columns without any value left out.

    Only the `whole` one has what is not of the metric: churn, and distances of weights and representations.
    """
    rows = source_rows(table, facts)
    shown = [row for row in rows if not row.folded]
    texts = [SpreadText(row.spread, table) for row in shown]
    distances = {each.variant: each.distance for each in facts.weights}
    cka = {each.variant: each.cka for each in facts.representations}
    churn = [churn_of(row.facts, facts) for row in shown]
    columns: list[tuple[Column, list[Cell]]] = [
        (Column(head="what varied", numeric=False, fold_at=40), [Cell(row.name) for row in shown]),
        (Column(head="mean", sacrifice=3), _numbers([text.mean for text in texts], [row.spread.mean for row in shown])),
        (
            Column(head="SD", leading=True),
            _numbers([_with_ends(text.sd, text.ci_sd) for text in texts], [row.spread.sd for row in shown]),
        ),
        (
            Column(head="range", sacrifice=2),
            _numbers([text.range for text in texts], [row.spread.range for row in shown]),
        ),
        (
            Column(head="churn", leading=True, sacrifice=1, means=CHURN),
            _numbers([_share(each) for each in churn], [each.value if each else None for each in churn]),
        ),
        (
            Column(head="L2", sacrifice=4, means="L2: distance of unit-length weights, 1.41 = unrelated."),
            [_estimate(distances.get(row.facts.variant), _DISTANCE) for row in shown],
        ),
        (
            Column(head="CKA", sacrifice=5, means="CKA: likeness of what enters the last layer, 1 = equal."),
            [_estimate(cka.get(row.facts.variant), _CKA) for row in shown],
        ),
    ]
    columns = columns if whole else columns[:_OF_METRIC]
    kept = [(column, cells) for column, cells in columns if any(cell.text != UNKNOWN for cell in cells)]
    is_bare = whole and {"L2", "CKA"}.isdisjoint(column.head for column, _ in kept) and shows_weights(facts.variants)
    return Table(
        caption=f"{table.metric}{unit_in_name(table.unit)} by what varied",
        remark=f"({show_level(facts.level)} CI in brackets)",
        titled=not whole,
        slug=slug("sources", facts.experiment, "" if whole else table.metric),
        columns=[column for column, _ in kept],
        rows=[
            Row(cells=list(cells), inner=row.inner)
            for row, cells in zip(shown, zip(*(cells for _, cells in kept), strict=True), strict=True)
        ],
        folded=[(row.name, row.folded) for row in rows if row.folded],
        notes=[f"L2, CKA: run with {KEPT}"] if is_bare else [],
    )


def _with_ends(value: str, ends: str) -> str:
    return value if ends == UNKNOWN or value == "0" else f"{value} {ends}"


def _numbers(texts: Sequence[str], values: Sequence[float | None]) -> list[Cell]:
    return [number(text, value) for text, value in zip(_aligned(texts), values, strict=True)]


def _aligned(texts: Sequence[str]) -> list[str]:
    """Return texts with blanks before those that have an interval, so that their first numbers end in one column."""
    longest = max((len(text.partition(" ")[0]) for text in texts if " " in text), default=0)
    return [" " * (longest - len(text.partition(" ")[0])) + text if " " in text else text for text in texts]


def _share(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return UNKNOWN
    return _with_ends(show_share(estimate.value), show_shares(estimate.interval) if estimate.value else UNKNOWN)


def _estimate(estimate: Estimate | None, place: int) -> Cell:
    if estimate is None or estimate.value is None:
        return number(UNKNOWN)
    equal = round(estimate.value, 10) in (0.0, 1.0)
    return number(f"{estimate.value:.0f}" if equal else show(estimate.value, place), estimate.value)


def sources_sentence(table: SpreadAcross, facts: ExperimentFacts) -> list[str]:
    """Say which source makes runs differ, as far as the runs show it, and where another one changes more answers."""
    return [*_by_sd(table, facts), *(_by_churn(table, facts) if table is facts.across[0] else [])]


def _by_churn(table: SpreadAcross, facts: ExperimentFacts) -> list[str]:
    """Name the source by which most answers change, if it is shown to change more than the one with the largest SD."""
    rows = [row for row in source_rows(table, facts) if row.inner and row.spread.sd]
    known = [(row, churn) for row in rows if (churn := churn_of(row.facts, facts)) and churn.value is not None]
    if table.broken or not known or known[0][0] is not rows[0]:
        return []
    (first, its), (most, more) = known[0], max(known, key=lambda each: each[1].value or 0.0)
    low, high = more.interval.low, its.interval.high
    if low is None or high is None or low <= high:
        return []
    name = capital(most.name)
    return [f"{name} {_verb(name, 'change')} more answers than {first.name}: churn {_share(more)} and {_share(its)}."]


def _by_sd(table: SpreadAcross, facts: ExperimentFacts) -> list[str]:
    if table.broken:
        return ["Something Deviate does not control makes runs differ.", *alarms(facts.variants)]
    every = source_rows(table, facts)
    rows = [row for row in every if not row.folded]
    parts = [row for row in rows if row.inner or (not table.whole and source_of(row.spread.variant))]
    with_effect = [row for row in parts if row.spread.sd]
    if not with_effect:
        return [_without_sources(rows, table)]
    first, name = with_effect[0], capital(plain_name(with_effect[0].spread.variant))
    folded = [row for row in every if row.folded and source_of(row.spread.variant)]
    if len(with_effect) == 1 and len(parts) + len(folded) > 1:
        return [f"{name} {_verb(name, 'explain')} it: the others have no effect in these runs."]
    if _apart(table):
        return [f"{name} {_verb(name, 'explain')} most{_of_variance(first.spread)}."]
    shares = [(row.name, row.spread.relative) for row in with_effect if row.spread.relative is not None]
    if not shares:
        which = "; these runs do not show which matters most" if len(with_effect) > 1 else ""
        return [f"{name} alone: SD {SpreadText(first.spread, table).sd}{which}."]
    is_compared = table.leading is not None and table.leading.ci_ratio is not None and table.leading.ci_ratio.known
    if len(shares) == 1 or not is_compared:
        few = "; too few runs to say which matters most" if len(shares) > 1 and table.leading else ""
        each = joined([f"{name.removesuffix(' only')} alone {show_percent(share)}" for name, share in shares])
        return [f"Of the SD of everything: {each}{few}."]
    low, high = (show_percent(bound(share for _, share in shares)) for bound in (min, max))
    names = f"each of {_NUMERALS.get(len(shares), str(len(shares)))}"
    ends = high if low == high else f"{low[:-1]} to {high}"
    return [f"No single source stands out: alone, {names} gives {ends} of the SD of everything."]


def _verb(name: str, verb: str) -> str:
    return verb if name.endswith("draws") else f"{verb}s"


_NUMERALS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def _of_variance(row: VariantSpread) -> str:
    if row.relative is None:
        return ""
    return f": alone {show_percent(row.relative**2)}{_within(row.ci_relative, 2)} of the variance of everything"


def _within(ends: Interval | None, power: int = 1) -> str:
    """Write the interval of a share, or of a power of it, in percent; empty where it is not known."""
    if ends is None or ends.low is None or ends.high is None:
        return ""
    return f" [{show_percent(ends.low**power)[:-1]}, {show_percent(ends.high**power)[:-1]}]"


def _without_sources(rows: Sequence[SourceRow], table: SpreadAcross) -> str:
    differing = [row for row in rows if row.spread.sd]
    if not differing:
        return f"{table.metric}: all runs of each kind are equal."
    first = SpreadText(differing[0].spread, table).sd
    if len(differing) == 1:
        return f"{capital(differing[0].name)} gives an SD of {first}."
    each = (f"{row.name} {SpreadText(row.spread, table).sd}" for row in differing)
    return f"SD of {table.metric}: {joined(list(each))}."


# The screen.


def sources_blocks(facts: ExperimentFacts, *, brief: bool = False) -> list[Block]:
    """Return the sentence, the table of the main metric and what more there is; `brief` pages have all metrics."""
    table = facts.across[0]
    left = len(facts.across) - 1
    report = f"deviate report {typed_word(facts.experiment)}"
    more = [f"{count(left, 'more metric')}: -v"] if left and not brief else []
    title = Sentences(sentences=[_title(table, facts)], brief=[_title(table, facts, brief=True)], emphasis="quiet")
    shown = sources_table(table, facts)
    return [
        *([] if brief else [title]),
        Answer(sentences=sources_sentence(table, facts)),
        msgspec.structs.replace(shown, notes=[*shown.notes, *_control(facts), *more]),
        Hint(text="the figure:", command=f"{report} -o {typed_word(facts.experiment)}.html"),
    ]


def _title(table: SpreadAcross, facts: ExperimentFacts, *, brief: bool = False) -> str:
    numbers = {row.n for row in table.rows}
    runs = f"{count(numbers.pop(), 'run')} of each" if len(numbers) == 1 else f"{min(numbers)} to {max(numbers)} runs"
    if brief:
        return f"{facts.experiment}   {table.metric}, {runs}"
    variant, metric = next((one, each) for one in facts.variants for each in one.metrics if each.name == table.metric)
    taken = taken_text(metric, variant, facts.definition)
    of = (
        f"{table.metric}{f' of the {taken}' if taken.startswith(('last ', 'best ')) else f', {taken}' if taken else ''}"
    )
    level = show_level(facts.level)
    return f"{facts.experiment}   {command_text(facts.command)}   {runs}, {of}; {level} CI in brackets"


def _control(facts: ExperimentFacts) -> list[str]:
    for variant in facts.variants:
        if is_fixed(variant.variant) and (same := identity_text(variant)):
            return [f"Control is bit-identical: {same}."]
    return []


# Why runs differ, drawn.


def why_blocks(facts: ExperimentFacts) -> list[Block]:
    """Return the sentence with all shares, a bar a source, and what these runs leave open."""
    table = facts.across[0]
    rows = source_rows(table, facts)
    shown = [row for row in rows if not row.folded]
    notes = [*_unable(rows), *_open(shown, table)]
    return [
        Answer(sentences=_with_shares(table, facts)),
        _bars(table, shown, facts),
        *([Sentences(sentences=notes, listed=True, emphasis="quiet")] if notes else []),
    ]


def _with_shares(table: SpreadAcross, facts: ExperimentFacts) -> list[str]:
    sentence, *more = sources_sentence(table, facts)
    rows = [row for row in source_rows(table, facts) if not row.folded and row.inner and row.spread.sd]
    if not sentence.startswith("No single source"):
        return [sentence, *more]
    (first, share), *others = [(row.name, row.spread.relative or 0.0) for row in rows]
    rest = "".join(f", {name} {show_percent(each)}" for name, each in others)
    numbers = {row.spread.n for row in rows}
    runs = f"{numbers.pop()} runs do" if len(numbers) == 1 else "these runs do"
    return [
        f"No single source stands out: {first} alone gives {show_percent(share)} of the SD of everything "
        f"({show_percent(share**2)} of the variance){rest}; {runs} not show which matters most.",
        *more,
    ]


def _bars(table: SpreadAcross, rows: Sequence[SourceRow], facts: ExperimentFacts) -> Bars:
    texts = [SpreadText(row.spread, table) for row in rows]
    most = max((row.spread.ci_sd.high or row.spread.sd or 0.0 for row in rows), default=0.0)
    churn = [known if (known := _share(churn_of(row.facts, facts))) != UNKNOWN else "" for row in rows]
    beside = {"of everything": [_part(row, table) for row in rows], "churn": churn}
    kept = {head: texts for head, texts in beside.items() if any(texts)}
    last = {
        "of everything": Column(head="of everything", leading=True, sacrifice=2),
        "churn": Column(head="churn", leading=True, sacrifice=1, means=CHURN),
    }
    return Bars(
        head=f"SD of {table.metric} [{show_level(facts.level)} CI]",
        table=Table(
            caption="",
            columns=[Column(head="", numeric=False, fold_at=40), Column(head="SD"), *map(last.__getitem__, kept)],
            rows=[
                Row(
                    cells=[Cell(row.name), Cell(text.sd if row.spread.sd else "", row.spread.sd), *map(Cell, more)],
                    inner=row.inner,
                )
                for row, text, *more in zip(rows, texts, *kept.values(), strict=True)
            ],
        ),
        bars=[_bar(row) for row in rows],
        ticks=[(place, f"{place:g}") for place in rounded_ticks(most)],
    )


def _bar(row: SourceRow) -> Bar:
    sd, ends = row.spread.sd, row.spread.ci_sd
    if not sd:
        same = is_fixed(row.spread.variant) and identity_text(row.facts)
        return Bar(0.0, 0.0, 0.0, "unknown: one run" if sd is None else f"0{', bit-identical' if same else ''}")
    return Bar(ends.low if ends.low is not None else sd, sd, ends.high if ends.high is not None else sd)


def _part(row: SourceRow, table: SpreadAcross) -> str:
    share = row.spread.relative
    if not share or row.spread.variant == table.whole:
        return ""
    return f"{show_percent(share)}{_within(row.spread.ci_relative)}"


def _unable(rows: Sequence[SourceRow]) -> Iterator[str]:
    if folded := [row for row in rows if row.folded]:
        yield " ".join(f"{capital(row.name)}: {_in_brackets(row.folded)}." for row in folded)


def _in_brackets(why: str) -> str:
    """Write ``no effect possible: 1 thread`` as a part of a sentence that has a colon."""
    what, _, reason = why.partition(": ")
    return f"{what} ({reason})" if reason else why


def _open(rows: Sequence[SourceRow], table: SpreadAcross) -> Iterator[str]:
    """Say how much of the variance the sources make alone, and how many runs tell the first from the last."""
    parts = [row.spread for row in rows if source_of(row.spread.variant) and row.spread.sd]
    shares = [row.relative for row in parts if row.relative is not None]
    said = []
    if len(shares) > 1 and len(shares) == len(parts):
        total = sum(share**2 for share in shares)
        lows = [row.ci_relative.low or 0.0 if row.ci_relative else 0.0 for row in parts]
        overlap = ": sources overlap" if sum(low**2 for low in lows) > 1 else ""
        said.append(f"Alone they add to {100 * total:.0f}% of the variance{overlap}.")
    if len(parts) > 1 and not _apart(table):
        first, last = parts[0], parts[-1]
        runs = runs_for_sd_ratio((first.sd or 0.0) / (last.sd or 1.0), most=MOST_RUNS) if first.sd != last.sd else None
        needed = f"over {MOST_RUNS} runs" if runs is None else f"{runs} runs"
        texts = (SpreadText(row, table).sd for row in (first, last))
        said.append(f"To tell {' from '.join(texts)}: {needed} each.")
    if said:
        yield " ".join(said)


def _apart(table: SpreadAcross) -> bool:
    return bool(table.leading and table.leading.ci_ratio and (table.leading.ci_ratio.low or 0.0) > 1)
