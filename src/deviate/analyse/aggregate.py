"""Which number of a run stands for all its records, where the user does not choose."""

from __future__ import annotations

from deviate.experiment import Kind


def aggregate_of(kind: Kind) -> str:
    """Guess the aggregate of a kind of metric.

    Losses and qualities: the last. The best of many evaluations on the data that selects it is biased upwards, so that
    is left to the user to choose.
    """
    return {"speed": "mean", "resource": "max"}.get(kind, "last")
