"""How much of what a program reports in text is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from deviate.collect.reported import ReportedNumber
from deviate.experiment import ObservedWish


class Completeness(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the numbers that the runs of a variant reported, and that differed between them, are measured."""

    variant: str
    #: Numbers that runs reported in text, each place of a template once.
    reported: int
    #: Those whose values differed between runs.
    differing: int
    #: Those of them that are values of a metric.
    measured: int
    #: Names of metrics that were seen in the text alone, not in the source.
    observed: list[str]
    #: Numbers that differed between runs and are not measured.
    left: list[ReportedNumber]
    #: Printed lines with numbers that were not searched: too many of other forms came before them.
    lines_left_out: int = 0
    #: Names that the user says something of, and that no run reported a number under.
    missing: list[str] = []


def completeness(
    reported: Mapping[str, Sequence[ReportedNumber]],
    compared: Mapping[str, int],
    lines_left_out: Mapping[str, int],
    wishes: Sequence[ObservedWish] = (),
) -> list[Completeness]:
    """Return how much of the output is measured, by variant.

    Parameters
    ----------
    reported : mapping of str to sequence of ReportedNumber
        By variant.
    compared : mapping of str to int
        Completed runs by variant; with fewer than two nothing can differ, and the variant is passed over.
    lines_left_out : mapping of str to int
        By variant, printed lines that were not searched.
    wishes : sequence of ObservedWish
        What the user says of numbers by their names.
    """
    return [
        _completeness(variant, numbers, lines_left_out.get(variant, 0), wishes)
        for variant, numbers in reported.items()
        if compared.get(variant, 0) > 1 and numbers
    ]


def missing_wishes(numbers: Iterable[ReportedNumber], wishes: Iterable[ObservedWish]) -> list[str]:
    """Return the names in `wishes` under which no number was reported."""
    reported = {name for each in numbers for name in (each.name, each.metric)}
    return [wish.name for wish in wishes if reported.isdisjoint({wish.name, wish.rename} - {""})]


def _completeness(
    variant: str, numbers: Sequence[ReportedNumber], lines_left_out: int, wishes: Sequence[ObservedWish]
) -> Completeness:
    differing = [each for each in numbers if each.varies]
    left = [each for each in differing if not each.metric]
    return Completeness(
        variant=variant,
        reported=len(numbers),
        differing=len(differing),
        measured=len(differing) - len(left),
        observed=list(dict.fromkeys(each.metric for each in numbers if each.observed)),
        left=left,
        lines_left_out=lines_left_out,
        missing=missing_wishes(numbers, wishes),
    )
