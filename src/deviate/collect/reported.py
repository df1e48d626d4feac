"""How each number was judged that the runs of a variant reported: measured, observed, or no metric."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.analyse.naming.words import UNNAMED
from deviate.collect.measured import UNFORESEEN, MeasuredMetric
from deviate.collect.mined import RunSeries
from deviate.collect.observed.joining import join, shows_several
from deviate.collect.observed.judge import Judged, judge, meaning_of_slot
from deviate.collect.observed.load import OF_LOAD
from deviate.collect.observed.slots import Slot, SlotSeries
from deviate.experiment import Direction, Kind, ObservedWish

#: Observed metrics of a variant; of more, those that differ between runs come first.
MOST_OBSERVED = 200

#: Stands for what a user says who says nothing.
_SILENT = ObservedWish(name="", aggregate=UNFORESEEN)

#: Values of a metric in one run, in the order in which they were recorded.
Values = NDArray[np.float64]

#: What a slot has in common with that of another run.
Key = tuple[str, str, int]

#: Why a number is no metric that the user refused.
REFUSED = "refused in deviate.toml"

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
    #: The metric whose values these are, or most of them where they are of several; empty where it is none.
    metric: str = ""
    #: Whether that metric was seen in what was reported alone, not in the source.
    observed: bool = False
    #: Why it is no metric; empty where it is one.
    reason: str = ""
    #: Whether a tracker stored it, with the name the author gave and as exactly as it was computed.
    logged: bool = False
    #: Of an observed metric, by the name and the unit of the number or by what the user says.
    kind: Kind | None = None
    direction: Direction | None = None
    aggregate: str = ""

    @property
    def key(self) -> Key:
        """What it has in common with the same number of another run."""
        return self.source, self.template, self.position


def reported_numbers(
    mined: Mapping[str, Sequence[RunSeries]],
    recorded: Mapping[str, Mapping[str, Values]],
    wishes: Sequence[ObservedWish] = (),
    loads: Collection[Key] = (),
    judged: Sequence[Judged] | None = None,
) -> list[ReportedNumber]:
    """Return what became of each number, in the order in which the first run reported them.

    Parameters
    ----------
    mined : mapping of str to sequence of RunSeries
        By run, what it reported.
    recorded : mapping of str to mapping
        By run and name, the values of the metrics that the source shows.
    wishes : sequence of ObservedWish
        What the user says of numbers by their names.
    loads : collection of tuple
        Keys of the numbers that depend on the clock, the process or the load.
    judged : sequence of Judged, optional
        What the numbers are, where that is known already.
    """
    by_run = {run: [each.series for each in series] for run, series in mined.items()}
    judged = [_without_load(each, loads) for each in (judge(by_run) if judged is None else judged)]
    sourced = _measured(by_run, recorded)
    said = {wish.name: wish for wish in wishes}
    wanted = {name for name, wish in said.items() if wish.metric}
    candidates = [
        each for each in judged if (each.kind == "metric" or each.slot.name in wanted) and each.slot.key not in sourced
    ]
    taken = {name for each in recorded.values() for name in each}
    names = _observed(candidates, by_run, taken)
    called = {
        name: _free(said[name].rename, taken)
        for name in dict.fromkeys(names.values())
        if said.get(name, _SILENT).rename
    }
    return [
        _number(each, sourced.get(each.slot.key, ""), names.get(each.slot.key, ""), said, called) for each in judged
    ]


def judged_together(mined: Mapping[str, Mapping[str, Sequence[RunSeries]]]) -> dict[str, list[Judged]]:
    """Say by variant what its numbers are: what is a metric since the runs of one differ in it is one in all."""
    judged = {
        variant: judge({run: [each.series for each in series] for run, series in runs.items()})
        for variant, runs in mined.items()
    }
    differing = {
        each.slot.key for several in judged.values() for each in several if each.kind == "metric" and each.varies
    }
    return {variant: [_with_metrics(each, differing) for each in several] for variant, several in judged.items()}


def _with_metrics(judged: Judged, metrics: Collection[Key]) -> Judged:
    if judged.kind == "metric" or judged.slot.key not in metrics:
        return judged
    reason, meaning = "runs of another variant differ in it", meaning_of_slot(judged.slot)
    return msgspec.structs.replace(judged, kind="metric", reason=reason, meaning=meaning)


def _without_load(judged: Judged, loads: Collection[Key]) -> Judged:
    if judged.kind != "metric" or judged.slot.key not in loads:
        return judged
    return msgspec.structs.replace(judged, kind="load", reason=OF_LOAD, meaning=None)


def observed_metric(number: ReportedNumber) -> MeasuredMetric:
    """Return what is known of the observed metric that a number shows."""
    return MeasuredMetric(
        name=number.metric,
        aggregate=number.aggregate,
        direction=number.direction,
        kind=number.kind or UNNAMED.kind,
        unit=number.unit,
        observed=True,
    )


def _number(
    judged: Judged, sourced: str, observed: str, said: Mapping[str, ObservedWish], called: Mapping[str, str]
) -> ReportedNumber:
    """Return what became of a number that shows the metric `sourced` of the source, or the one named `observed`."""
    slot = judged.slot
    wish = None if sourced else said.get(observed) or said.get(slot.name)
    refused = wish is not None and not wish.metric
    if observed and not refused:
        return _observed_number(judged, called.get(observed, observed), wish or _SILENT)
    left_out = f"more than {MOST_OBSERVED} numbers are metrics by what is reported" if judged.kind == "metric" else ""
    reason = REFUSED if refused else left_out or judged.reason
    return _as_reported(judged, metric=sourced, reason="" if sourced else reason)


def _observed_number(judged: Judged, name: str, wish: ObservedWish) -> ReportedNumber:
    meaning = judged.meaning or UNNAMED
    return _as_reported(
        judged,
        metric=name,
        observed=True,
        kind=wish.kind or meaning.kind,
        direction=wish.direction or meaning.direction,
        aggregate=wish.aggregate,
    )


def _as_reported(judged: Judged, **became: Any) -> ReportedNumber:
    slot = judged.slot
    return ReportedNumber(
        source=slot.source,
        template=slot.template,
        position=slot.position,
        name=slot.name,
        unit=slot.unit,
        decimals=slot.decimals,
        varies=judged.varies,
        logged=slot.exact,
        **became,
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
    mixed = _mixed({key for key, metric in agreed.items() if not metric}, by_run, recorded)
    return {key: metric for key, metric in agreed.items() if metric} | mixed


def _mixed(
    keys: set[Key], by_run: Mapping[str, Sequence[SlotSeries]], recorded: Mapping[str, Mapping[str, Values]]
) -> dict[Key, str]:
    """Return, of slots without a name that show several metrics in every run, the metric that most values are of."""
    slots: dict[Key, dict[str, SlotSeries]] = {}
    for run, series in by_run.items():
        for each in series:
            if each.slot.key in keys and not each.slot.words:
                slots.setdefault(each.slot.key, {})[run] = each
    found = {key: _most_shown(own, recorded) for key, own in slots.items()}
    return {key: metric for key, metric in found.items() if metric}


def _most_shown(own: Mapping[str, SlotSeries], recorded: Mapping[str, Mapping[str, Values]]) -> str:
    """Return the metric that most values of a slot are of in the first run; empty where one is of none in any run.

    Whole numbers that are equal in all runs may be of none: they count.
    """
    shortest = min(len(each.values) for each in own.values())
    shared = np.stack([each.values[:shortest] for each in own.values()])
    differ = np.any(shared != shared[0], axis=0)
    metrics = []
    for run, each in own.items():
        checked = np.floor(each.values) != each.values
        checked[:shortest] |= differ
        checked[shortest:] = True
        metrics.append(shows_several(each, checked, recorded.get(run, {})))
    return metrics[0] if all(metrics) else ""


def _observed(
    candidates: Sequence[Judged], by_run: Mapping[str, Sequence[SlotSeries]], taken: set[str]
) -> dict[Key, str]:
    """Return the names of observed metrics; what is reported twice is one, that with most digits.

    Of metrics with one name, that with most digits has it, whether or not it differs between the runs that are left.
    """
    crowded = len(candidates) > MOST_OBSERVED
    ordered = sorted(candidates, key=lambda each: (crowded and not each.varies, -digits(each.slot)))
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
            name = _free(judged.slot.name, taken, "logged" if judged.slot.exact else "printed")
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


def _free(name: str, taken: Collection[str], how: str = "printed") -> str:
    """Return the name, told apart from those of other metrics."""
    numbered = (f"{name} ({how}) {number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name, f"{name} ({how})"], numbered) if each not in taken)
