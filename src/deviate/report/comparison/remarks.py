"""What a reader must know before trusting a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deviate.experiment import IMPORTED
from deviate.report.comparison.inputs import Side
from deviate.report.comparison.match import Matched, unmatched
from deviate.report.comparison.pairing import pairing_sentences
from deviate.report.comparison.parts import PairComparison
from deviate.report.comparison.scale import in_other_units
from deviate.report.parts import Warned
from deviate.report.words import count, listed


def remarks(
    sides: Sequence[Side], matched: Sequence[Matched], pairs: Sequence[PairComparison], *, chosen: bool = False
) -> list[Warned]:
    """List all remarks, warnings before notes; `chosen` tells that the user named the metrics."""
    found = [
        *_assumed(sides),
        *_unfinished(sides),
        *_excluded(sides, matched),
        *_environments(sides),
        *_pairing(pairs),
        *_units(sides, matched),
        *_best(matched),
        *_times(matched),
        *(() if chosen else _unmatched(sides, matched)),
    ]
    return sorted(dict.fromkeys(found), key=lambda remark: remark.severity == "note")


def _assumed(sides: Sequence[Side]) -> Iterable[Warned]:
    for side in sides:
        if side.assumed:
            message = (
                f"{side.label} has several variants; {side.variant} is compared. Type {side.label}:VARIANT for another."
            )
            yield Warned(slug="variant-assumed", message=message, severity="note")
    imported = [side.label for side in sides if side.variant == IMPORTED]
    if imported and len(imported) < len(sides):
        was = "was" if len(imported) == 1 else "were"
        message = f"{listed(imported)} {was} imported: what varied there is not known."
        yield Warned(slug="variants-differ", message=message, severity="note")
    if len({side.variant for side in sides} - {IMPORTED}) > 1:
        named = listed([f"{side.variant} in {side.label}" for side in sides if side.variant != IMPORTED])
        message = f"Different variants are compared ({named}): what differs is also which factors varied between runs."
        yield Warned(slug="variants-differ", message=message, severity="note")


def _unfinished(sides: Sequence[Side]) -> Iterable[Warned]:
    for side in sides:
        lost = side.ended - side.completed
        if lost:
            message = (
                f"{lost} of {count(side.ended, 'run')} of {side.label} did not complete and enter no statistic: "
                "if what made them fail makes results worse too, the rest looks too good."
            )
            yield Warned(slug="runs-lost", message=message)


def _excluded(sides: Sequence[Side], matched: Sequence[Matched]) -> Iterable[Warned]:
    for metrics in matched:
        for side, metric in zip(sides, metrics, strict=True):
            if metric.excluded:
                runs = count(metric.excluded, "completed run")
                message = f"{metric.name}: {runs} of {side.label} left out, without a finite value."
                yield Warned(slug="value-excluded", message=message)


def _environments(sides: Sequence[Side]) -> Iterable[Warned]:
    known = [side for side in sides if side.environment]
    names = [name for name in (known[0].environment if known else {}) if len(known) == len(sides)]
    for name in names:
        values = {side.label: side.environment.get(name) for side in sides}
        if len(set(values.values())) > 1 and None not in values.values():
            seen = listed([f"{value} in {label}" for label, value in values.items()])
            message = f"The sides ran in different environments: {name} is {seen}. That may be what makes them differ."
            yield Warned(slug="environment-differs", message=message)


def _pairing(pairs: Sequence[PairComparison]) -> Iterable[Warned]:
    for sentence in pairing_sentences(pairs):
        yield Warned(slug="pairing", message=sentence, severity="note")


def _units(sides: Sequence[Side], matched: Sequence[Matched]) -> Iterable[Warned]:
    for metrics in matched:
        found = in_other_units(metrics)
        if found is not None:
            fraction, percent = (sides[place].label for place in found)
            message = (
                f"{metrics[0].name} looks like a fraction in {fraction} and like percent in {percent}: if it is, its "
                "difference is one of units, not of recipes."
            )
            yield Warned(slug="units-differ", message=message)


def _best(matched: Sequence[Matched]) -> Iterable[Warned]:
    chosen = [metrics[0].name for metrics in matched if metrics[0].aggregate == "best"]
    if chosen:
        message = (
            f"Best value of each run taken for {listed(chosen)}: biased upward, and more so for the noisier side. "
            "Compare the last values too: --aggregate METRIC=last."
        )
        yield Warned(slug="best-biased", message=message, severity="note")


def _times(matched: Sequence[Matched]) -> Iterable[Warned]:
    if any(metrics[0].kind == "speed" for metrics in matched):
        message = (
            "Times compare recipes only if all runs had the same machine to themselves, and were not made one side "
            "after the other."
        )
        yield Warned(slug="times-confounded", message=message, severity="note")


def _unmatched(sides: Sequence[Side], matched: Sequence[Matched]) -> Iterable[Warned]:
    for label, names in unmatched(sides, matched).items():
        message = (
            f"Not compared, because not every side has them: {listed(names)} of {label}. --match A=B joins two names."
        )
        yield Warned(slug="metric-unmatched", message=message, severity="note")
