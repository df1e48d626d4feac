"""How much of what a program reports is measured."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from deviate.collect.reported import ReportedNumber
from deviate.experiment import ObservedWish
from deviate.trackers.recognition import SENDERS


class Completeness(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the numbers that the runs of a variant reported, and that differed between them, are measured."""

    variant: str
    #: Numbers that runs reported, each place of a template and each name of a tracker once. What a tracker stored of a
    #: metric that another number shows does not count again.
    reported: int
    #: Those whose values differed between runs.
    differing: int
    #: Those of them that are values of a metric.
    measured: int
    #: Names of metrics that were seen in what was reported alone, not in the source.
    observed: list[str]
    #: Numbers that differed between runs and are not measured.
    left: list[ReportedNumber]
    #: Printed lines with numbers that were not searched: too many of other forms came before them.
    lines_left_out: int = 0
    #: Trackers that the program loaded and that left no file to read: what it reported to them alone is not known.
    unread_trackers: list[str] = []
    #: Names that the user says something of, and that no run reported a number under.
    missing: list[str] = []


def completeness(
    reported: Mapping[str, Sequence[ReportedNumber]],
    compared: Mapping[str, int],
    lines_left_out: Mapping[str, int],
    libraries: Mapping[str, Collection[str]],
    wishes: Sequence[ObservedWish] = (),
) -> list[Completeness]:
    """Return how much of what was reported is measured, by variant.

    Parameters
    ----------
    reported : mapping of str to sequence of ReportedNumber
        By variant.
    compared : mapping of str to int
        Completed runs by variant; with fewer than two nothing can differ, and the variant is passed over.
    lines_left_out : mapping of str to int
        By variant, printed lines that were not searched.
    libraries : mapping of str to collection of str
        By variant, packages that the program loaded, trackers among them.
    wishes : sequence of ObservedWish
        What the user says of numbers by their names.
    """
    return [
        _completeness(variant, numbers, lines_left_out.get(variant, 0), libraries.get(variant, ()), wishes)
        for variant, numbers in reported.items()
        if compared.get(variant, 0) > 1 and numbers
    ]


def missing_wishes(numbers: Iterable[ReportedNumber], wishes: Iterable[ObservedWish]) -> list[str]:
    """Return the names in `wishes` under which no number was reported."""
    reported = {name for each in numbers for name in (each.name, each.metric)}
    return [wish.name for wish in wishes if reported.isdisjoint({wish.name, wish.rename} - {""})]


def _completeness(
    variant: str,
    numbers: Sequence[ReportedNumber],
    lines_left_out: int,
    libraries: Collection[str],
    wishes: Sequence[ObservedWish],
) -> Completeness:
    counted = _once(numbers)
    differing = [each for each in counted if each.varies]
    left = [each for each in differing if not each.metric]
    sources = {each.source for each in numbers if each.logged}
    return Completeness(
        variant=variant,
        reported=len(counted),
        differing=len(differing),
        measured=len(differing) - len(left),
        observed=list(dict.fromkeys(each.metric for each in numbers if each.observed)),
        left=left,
        lines_left_out=lines_left_out,
        unread_trackers=[name for name, source in SENDERS.items() if name in libraries and source not in sources],
        missing=missing_wishes(numbers, wishes),
    )


def _once(numbers: Sequence[ReportedNumber]) -> list[ReportedNumber]:
    """Return the numbers, what trackers stored of a metric only where no text shows it, or shows that it differed."""
    by_metric: dict[str, list[ReportedNumber]] = {}
    for each in numbers:
        if each.metric:
            by_metric.setdefault(each.metric, []).append(each)
    counted = {metric: _counted(shown) for metric, shown in by_metric.items()}
    return [each for each in numbers if not each.metric or each in counted[each.metric]]


def _counted(shown: Sequence[ReportedNumber]) -> list[ReportedNumber]:
    """Return those that count of the numbers that show one metric."""
    printed = [each for each in shown if not each.logged]
    logged = [each for each in shown if each.logged]
    if not logged or (printed and any(each.varies for each in printed) >= any(each.varies for each in logged)):
        return printed
    return [max(logged, key=lambda each: each.varies)]
