"""What a gate checks beside its metrics: how often runs fail, and how many answers change."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.errors import BadOption
from deviate.inference.comparison.match import Match
from deviate.inference.comparison.pairing import Pairing
from deviate.inference.comparison.predictions import ChangedPredictions, changed_predictions
from deviate.inference.comparison.side import Side
from deviate.inference.gate.options import GateOptions
from deviate.inference.metric import MetricSpread
from deviate.measure.failures import failure_rate, rate_seen


class GateFailures(msgspec.Struct, frozen=True, kw_only=True):
    """How often runs of the side that is checked fail, and how often they may."""

    #: Runs that failed, or gave no finite value or collapsed in a metric that is checked.
    failed: int
    runs: int
    #: One-sided upper limit of the rate (Clopper-Pearson), at 1 - alpha.
    upper: float
    #: The smallest rate that so many runs show with a probability of 1 - alpha.
    seen: float
    #: The largest rate that is allowed; None where the user gave none.
    allowed: float | None
    passed: bool


class GateChurn(msgspec.Struct, frozen=True, kw_only=True):
    """How many answers of the other side the runs of the side that is checked change, and how many they may."""

    predictions: ChangedPredictions
    #: One-sided upper limit of the share of examples with another label, at 1 - alpha; None where it is unknown.
    upper: float | None
    #: The largest share that is allowed, in (0, 1).
    allowed: float
    passed: bool


def gate_failures(side: Side, metrics: Sequence[MetricSpread], options: GateOptions) -> GateFailures:
    """Count the runs that failed, and limit their rate."""
    failed = len({run for metric in metrics for run in metric.unsuccessful})
    runs = max((metric.tried for metric in metrics), default=side.ended)
    upper = failure_rate(failed, runs, 1 - 2 * options.alpha).interval.high
    assert upper is not None
    return GateFailures(
        failed=failed,
        runs=runs,
        upper=upper,
        seen=rate_seen(runs, 1 - options.alpha),
        allowed=options.max_failures,
        passed=options.max_failures is None or upper <= options.max_failures,
    )


def gate_churn(
    sides: tuple[Side, Side], matches: Sequence[Match], pairing: Pairing, options: GateOptions
) -> GateChurn | None:
    """Check how many answers change; what cannot be compared does not pass."""
    if options.max_churn is None:
        return None
    names = {match[0].name: match[1].name for match in matches}
    changed = changed_predictions(*sides, names, 1 - 2 * options.alpha, pairing)
    if changed is None:
        raise BadOption(
            f"--max-churn: no predictions of {' and '.join(side.label for side in sides if not side.evaluations)}",
            hint="`deviate report NAME` says why; --predictions FILE of `deviate run` names a file that the program "
            "writes them to",
        )
    upper = changed.churn.between.interval.high if changed.churn is not None else None
    return GateChurn(
        predictions=changed,
        upper=upper,
        allowed=options.max_churn,
        passed=upper is not None and upper <= options.max_churn,
    )
