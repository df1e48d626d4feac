"""Did runs vary and agree as their variant promises? Remarks where they did not, and where nothing proves it."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.collect.fingerprints import BATCHES, WEIGHTS
from deviate.factors import DESCRIBED, IMPLEMENTATION, SEEDED, Variant, find_variant
from deviate.report.parts import Evidence, MetricReport, VariantReport, Warned
from deviate.report.words import count, listed

_NAMED = {BATCHES: "content of the first batches", WEIGHTS: "final weights"}


def promise_remarks(report: VariantReport) -> Iterable[Warned]:
    """Yield the remarks on what was to vary and what was to stay the same between the runs of one variant."""
    variant = find_variant(report.variant)
    if variant is None or report.completed < 2:
        return
    yield from _broken(report)
    yield from _absent(report, variant)
    yield from _sameness(report, variant)
    if variant.disturbed == "bit" and not any(run.bit for run in report.runs):
        message = "No weight was changed: no framework showed the model's weights, and runs repeat those of control."
        yield Warned(slug="bit-not-turned", message=message, variant=report.variant)
    if variant.controlled and not report.evidence:
        message = "No fingerprint was taken, so nothing proves what was held fixed and what varied."
        yield Warned(slug="no-fingerprint", message=message, severity="note", variant=report.variant)


def _broken(report: VariantReport) -> Iterable[Warned]:
    for each in report.evidence:
        if not each.broken or each.name == WEIGHTS:
            continue
        named = _NAMED.get(each.name) or f"{each.name} ({DESCRIBED[each.name]})"
        if each.meant == "held":
            yield Warned(slug="factor-leaked", message=_leaked(named, each), variant=report.variant)
        elif each.found == "identical":
            message = (
                f"{named} was to vary, yet all runs drew the same: a generator that Deviate does not reach decides it, "
                "or a seed that is pinned. `deviate audit` looks for the line."
            )
            yield Warned(slug="factor-pinned", message=message, variant=report.variant)
        else:
            equal = "; ".join(listed(group) for group in each.groups if len(group) > 1)
            message = f"{named} was to vary, yet some runs drew the same: {equal}."
            yield Warned(slug="factor-repeats", message=message, variant=report.variant)


def _leaked(named: str, each: Evidence) -> str:
    groups = " | ".join(listed(group, most=3) for group in each.groups[:3])
    more = f" | and {len(each.groups) - 3} more" if len(each.groups) > 3 else ""
    why = " Some runs drew more often than others." if each.unequal else ""
    return f"{named} was held fixed, yet differs between runs: {groups}{more}.{why}"


def _absent(report: VariantReport, variant: Variant) -> Iterable[Warned]:
    if not report.evidence or variant.disturbed or not variant.controlled:
        return
    absent = [each.name for each in report.evidence if each.name in variant.drawn and each.found == "absent"]
    if absent and set(absent) == set(variant.varying):
        # In the same words for each variant, so that they can be said together.
        message = (
            "Nothing was drawn for what was to vary, where Deviate can see it: these runs repeat those of control."
        )
        yield Warned(slug="factor-absent", message=message, severity="note", variant=report.variant)


def _sameness(report: VariantReport, variant: Variant) -> Iterable[Warned]:
    measured = [metric for metric in report.metrics if metric.kind != "speed" and metric.n > 1]
    same = [metric.name for metric in measured if metric.spread.identical]
    fixed = not variant.varying and not variant.disturbed
    if fixed:
        yield from _control(report, measured, same)
    elif measured and len(same) == len(measured):
        yield from _all_identical(report, variant)
    elif same and not variant.controlled:
        message = (
            f"Bit-identical in all runs: {listed(same)}; the other metrics are not. The program seeds what these "
            "depend on, and not all else: `deviate audit` shows which draws."
        )
        yield Warned(slug="metric-identical", message=message, severity="note", variant=report.variant)
    elif same and variant.drawn:
        message = (
            f"Bit-identical in all runs although seeds vary: {listed(same)}. Either the metric is too coarse to show a "
            "difference, or it draws from a seed that is pinned where Deviate does not reach."
        )
        yield Warned(slug="metric-identical", message=message, severity="note", variant=report.variant)


def _control(report: VariantReport, measured: list[MetricReport], same: list[str]) -> Iterable[Warned]:
    differing = [metric.name for metric in measured if metric.name not in same]
    weights = any(each.name == WEIGHTS and each.broken for each in report.evidence)
    if not differing and not weights:
        return
    verb = "differs" if len(differing) == 1 else "differ"
    what = f"{len(differing)} of {count(len(measured), 'metric')} {verb} between runs: {listed(differing)}"
    message = (
        f"Everything was held fixed, yet {what if differing else 'the final weights differ between runs'}. The "
        "implementation is not deterministic, or something draws without a seed."
    )
    yield Warned(slug="control-differs", message=message, variant=report.variant)


def _all_identical(report: VariantReport, variant: Variant) -> Iterable[Warned]:
    fact = f"All {report.completed} runs are bit-identical in every metric, time aside."
    if not variant.controlled:
        message = f"{fact} The program seeds itself; --vary algo+impl shows what other seeds would change."
        yield Warned(slug="runs-identical", message=message, severity="note", variant=report.variant)
    elif variant.disturbed == "bit":
        if any(run.bit for run in report.runs):
            message = f"{fact} One unit in the last place of one weight changed nothing that is reported."
            yield Warned(slug="runs-identical", message=message, severity="note", variant=report.variant)
    elif variant.disturbed:
        message = f"{fact} What this program computes does not depend on the emulated processor."
        yield Warned(slug="runs-identical", message=message, severity="note", variant=report.variant)
    elif variant.varying == {IMPLEMENTATION} or _anything_absent(report):
        return  # there was nothing to vary, or no noise: said elsewhere
    elif variant.varying == {"other"}:
        message = f"{fact} Nothing that is trained depends on the other draws: they are a library's own, for instance."
        yield Warned(slug="runs-identical", message=message, severity="note", variant=report.variant)
    else:
        message = f"{fact} Runs that were to vary did not: a seed seems to be pinned where Deviate does not reach."
        yield Warned(slug="runs-identical", message=message, variant=report.variant)


def _anything_absent(report: VariantReport) -> bool:
    return any(each.name in SEEDED and each.found == "absent" and each.meant == "varies" for each in report.evidence)
