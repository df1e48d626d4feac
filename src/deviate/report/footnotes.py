"""What a reader must know to read the table of one variant."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.report.parts import MetricReport
from deviate.report.weak import weak_footnotes
from deviate.report.words import listed


def footnotes(metrics: list[MetricReport]) -> list[str]:
    """Return a sentence for each gap in the table, and for each metric whose test size is known."""
    return [*_without_cv(metrics), *_resolved(metrics), *weak_footnotes(metrics)]


def _without_cv(metrics: list[MetricReport]) -> Iterable[str]:
    withheld = [(metric.name, metric.spread.withheld["cv"]) for metric in metrics if _lacks_cv(metric)]
    for reason in dict.fromkeys(reason for _, reason in withheld):
        yield f"No CV for {listed([name for name, why in withheld if why == reason])}: {reason}."


def _lacks_cv(metric: MetricReport) -> bool:
    return metric.n > 1 and "cv" in metric.spread.withheld


def _resolved(metrics: list[MetricReport]) -> Iterable[str]:
    for metric in metrics:
        found = metric.resolution
        if found:
            yield (
                f"{metric.name}: one of {found.examples} test examples is worth {found.step:.2g}, and the finite test "
                f"set alone gives each run a standard error of {found.standard_error:.2g}.{_beside(metric)}"
            )


def _beside(metric: MetricReport) -> str:
    found = metric.finite_test
    if found is None or found.sd_in_errors is None or found.share_at_most is None:
        return ""
    share = f"at most {100 * found.share_at_most:.0f} % of the variance" if found.share_at_most < 1 else "all of it"
    may = "is" if found.share_at_most < 1 else "may be"
    return f" The SD between runs is {found.sd_in_errors:.2g} times that: {share} {may} only the finite test set."
