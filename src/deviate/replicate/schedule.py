"""Which runs are to be made, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from deviate.experiment import Run
from deviate.factors import derive_seed


def schedule(planned: Mapping[str, int], done: Collection[Run], seed: int) -> list[Run]:
    """Return the runs still to be made, variants interleaved.

    In each round every variant has one run, and the order within a round is drawn anew: whatever changes while the
    experiment goes on (a machine that grows warm, a neighbour that comes and goes) then meets all variants alike
    instead of being taken for a difference between them.

    Equal seeds give equal orders, so a continued experiment keeps to its order.
    """
    rounds = range(max(planned.values(), default=0))
    return [run for index in rounds for run in _round(planned, index, seed) if run not in done]


def _round(planned: Mapping[str, int], index: int, seed: int) -> list[Run]:
    # Sorting by a number drawn for each run, and not shuffling, keeps the order of the others when a variant is added.
    variants = [variant for variant, runs in planned.items() if index < runs]
    order = sorted(variants, key=lambda variant: derive_seed(seed, "order", index, variant))
    return [Run(variant=variant, index=index) for variant in order]
