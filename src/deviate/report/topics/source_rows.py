"""The variants of an experiment as rows: which come first, what they are called, and which are folded and why."""

from __future__ import annotations

import msgspec

from deviate.core.factors import IMPLEMENTATION, find_variant, plain_name
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.sources import SpreadAcross, VariantSpread, is_fixed
from deviate.facts.variant import VariantFacts
from deviate.report.words import count
from deviate.stats.pairs import Estimate


class SourceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One variant with all that is known of it, and its place in the table."""

    spread: VariantSpread
    facts: VariantFacts
    name: str
    #: It varies a part of what varies in the whole.
    inner: bool
    #: Empty where it has a row of numbers; else why it has none.
    folded: str


def source_rows(table: SpreadAcross, facts: ExperimentFacts) -> list[SourceRow]:
    """Return the variants of a table: all together first, then by SD, nothing last; those without an effect folded."""
    by_name = {variant.variant: variant for variant in facts.variants}
    spreads = {row.variant: row for row in table.rows}
    rows = [_row(spread, by_name[name], table, by_name) for name, spread in spreads.items()]
    return sorted(rows, key=lambda row: (_FOLDS.get(row.folded[:4], 0), *_rank(row.spread, table)))


#: Below the rows of numbers: what can have no effect, then what has the runs of another row, then what draws nothing.
_FOLDS = {"": -1, "no e": 0, "same": 1, "no d": 2}


def _rank(row: VariantSpread, table: SpreadAcross) -> tuple[bool, bool, float]:
    return row.variant != table.whole, is_fixed(row.variant), -(row.sd or 0.0)


def _row(
    spread: VariantSpread, variant: VariantFacts, table: SpreadAcross, by_name: dict[str, VariantFacts]
) -> SourceRow:
    whole = by_name.get(table.whole)
    inner = whole is not None and _is_part(variant, whole)
    folded = _folded(spread, variant, by_name)
    name = plain_name(variant.variant)
    return SourceRow(spread=spread, facts=variant, name=name, inner=inner and not folded, folded=folded)


def _is_part(variant: VariantFacts, whole: VariantFacts) -> bool:
    """Tell whether a variant varies something, and not all, of what varies in the whole."""
    own, every = find_variant(variant.variant), find_variant(whole.variant)
    return bool(own and every and own.controlled and own.varying and own.varying < every.varying)


def _folded(spread: VariantSpread, variant: VariantFacts, by_name: dict[str, VariantFacts]) -> str:
    """Say why a variant can have no effect; empty where it can, or its runs differ."""
    known = find_variant(variant.variant)
    if spread.sd or known is None or not known.controlled or known.is_fixed or known.disturbed:
        return _twin(spread, variant, by_name)
    if known.varying == {IMPLEMENTATION} and variant.without_noise:
        return f"no effect possible: {_threads(variant)}, no GPU"
    if not spread.is_drawn:
        return "none seen in these runs"
    return ""


def _threads(variant: VariantFacts) -> str:
    threads = {each for each in variant.threads if each is not None}
    return count(threads.pop(), "thread") if len(threads) == 1 else "pinned threads"


def _twin(spread: VariantSpread, variant: VariantFacts, by_name: dict[str, VariantFacts]) -> str:
    """Say that a variant has the same runs as another one that varies kernels as well, which have no effect."""
    known = find_variant(variant.variant)
    if known is None or not variant.without_noise or IMPLEMENTATION in known.varying or not known.varying:
        return ""
    for other in by_name.values():
        freed = find_variant(other.variant)
        if freed and freed.varying == known.varying | {IMPLEMENTATION} and _values(other) == _values(variant):
            return f"same runs as {freed.plain}, as kernels have no effect here"
    return ""


def _values(variant: VariantFacts) -> list[tuple[str, list[float]]]:
    return [(metric.name, list(metric.values)) for metric in variant.metrics if metric.kind != "speed"]


def has_effect(table: SpreadAcross) -> bool:
    """Tell whether the runs of some variant differ."""
    return any(row.sd for row in table.rows)


def churn_of(variant: VariantFacts, facts: ExperimentFacts) -> Estimate | None:
    """Return the share of examples on which two runs of a variant differ; None where it is not known."""
    main = facts.main_stability(variant.variant)
    return main.labels.churn if main is not None and main.labels is not None else None


def rounded_ticks(most: float) -> list[float]:
    """Return three to six round numbers from 0 up to the largest."""
    steps = (digit * 10.0**power for power in range(-12, 13) for digit in (1, 2, 5))
    step = next((each for each in steps if most / each < 5), most or 1.0)
    return [step * place for place in range(int(most / step) + 1)]
