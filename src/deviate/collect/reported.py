"""What became of each number that the runs of a variant reported: measured, observed, or no metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.collect.mined import RunSeries
from deviate.collect.observed.joining import join
from deviate.collect.observed.judge import Judged, judge
from deviate.collect.observed.slots import Slot, SlotSeries

#: Observed metrics of a variant; of more, those that differ between runs come first.
MOST_OBSERVED = 200

#: Values of a metric in one run, in the order in which they were recorded.
Values = NDArray[np.float64]

#: What a slot has in common with that of another run.
Key = tuple[str, str, int]

#: Digits of numbers that are printed as they are; what a tracker stored has more than any text.
ALL_DIGITS, EXACT = 17, 18


class ReportedNumber(msgspec.Struct, frozen=True, kw_only=True):
    """A number that a program reported: in text at one place of a template, or to a tracker under one name."""

    #: ``stdout``, ``stderr``, a file or a tracker.
    source: str
    template: str
    #: Which number of the template, from 0.
    position: int
    name: str
    #: As printed behind the number; empty where there is none.
    unit: str = ""
    #: Digits behind the point; None where they differ, and of what a tracker stored.
    decimals: int | None = None
    #: Whether runs reported other values.
    varies: bool
    #: The metric whose values these are; empty where it is none.
    metric: str = ""
    #: Whether that metric was seen in what was reported alone, not in the source.
    observed: bool = False
    #: Why it is no metric; empty where it is one.
    reason: str = ""
    #: Whether a tracker stored it, with the name the author gave and as exactly as it was computed.
    logged: bool = False

    @property
    def key(self) -> Key:
        """What it has in common with the same number of another run."""
        return self.source, self.template, self.position


def reported_numbers(
    mined: Mapping[str, Sequence[RunSeries]], recorded: Mapping[str, Mapping[str, Values]]
) -> list[ReportedNumber]:
    """Return what became of each number, in the order in which the first run reported them.

    Parameters
    ----------
    mined : mapping of str to sequence of RunSeries
        By run, what it reported.
    recorded : mapping of str to mapping
        By run and name, the values of the metrics that the source shows.
    """
    by_run = {run: [each.series for each in series] for run, series in mined.items()}
    judged = judge(by_run)
    sourced = _measured(by_run, recorded)
    candidates = [each for each in judged if each.kind == "metric" and each.slot.key not in sourced]
    observed = _observed(candidates, by_run, {name for each in recorded.values() for name in each})
    return [_number(each, sourced, observed) for each in judged]


def _number(judged: Judged, sourced: Mapping[Key, str], observed: Mapping[Key, str]) -> ReportedNumber:
    slot = judged.slot
    metric = sourced.get(slot.key) or observed.get(slot.key, "")
    left_out = f"more than {MOST_OBSERVED} numbers are metrics by what is reported" if judged.kind == "metric" else ""
    return ReportedNumber(
        source=slot.source,
        template=slot.template,
        position=slot.position,
        name=slot.name,
        unit=slot.unit,
        decimals=slot.decimals,
        varies=judged.varies,
        metric=metric,
        observed=slot.key in observed,
        reason="" if metric else left_out or judged.reason,
        logged=slot.exact,
    )


def _measured(
    by_run: Mapping[str, Sequence[SlotSeries]], recorded: Mapping[str, Mapping[str, Values]]
) -> dict[Key, str]:
    """Return the metric whose recorded values a slot shows in every run that has the slot."""
    agreed: dict[Key, str] = {}
    for run, series in by_run.items():
        explained = {slot.key: metric for slot, metric in join(series, recorded.get(run, {})).items()}
        for each in series:
            key, metric = each.slot.key, explained.get(each.slot.key, "")
            agreed[key] = metric if agreed.get(key, metric) == metric else ""
    return {key: metric for key, metric in agreed.items() if metric}


def _observed(
    candidates: Iterable[Judged], by_run: Mapping[str, Sequence[SlotSeries]], taken: set[str]
) -> dict[Key, str]:
    """Return the names of observed metrics; what is reported twice is one, that with most digits."""
    ordered = sorted(candidates, key=lambda each: (not each.varies, -digits(each.slot)))
    names: dict[Key, str] = {}
    values: dict[str, dict[str, Values]] = {run: {} for run in by_run}
    series = {run: {each.slot.key: each for each in every} for run, every in by_run.items()}
    for judged in ordered:
        key = judged.slot.key
        own = {run: each[key] for run, each in series.items() if key in each}
        same = {next(iter(join([each], values[run]).values()), "") for run, each in own.items()}
        if len(same) == 1 and "" not in same:
            names[key] = same.pop()
        elif len(set(names.values())) < MOST_OBSERVED:
            name = _free(judged.slot, taken)
            names[key] = name
            taken.add(name)
            for run, each in own.items():
                values[run][name] = each.values
    return names


def digits(slot: Slot) -> int:
    """Return how many digits behind the point a slot shows, to compare with those of others."""
    if slot.exact:
        return EXACT
    return ALL_DIGITS if slot.decimals is None else slot.decimals


def _free(slot: Slot, taken: set[str]) -> str:
    """Return the name of a slot, told apart from those of other metrics."""
    if slot.name not in taken:
        return slot.name
    reported = f"{slot.name} ({'logged' if slot.exact else 'printed'})"
    return (
        reported
        if reported not in taken
        else next(numbered for number in range(2, len(taken) + 3) if (numbered := f"{reported} {number}") not in taken)
    )
