"""Sentences on random numbers that come again within a run."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.collect.repetitions import RepeatedDraws, RepeatedOrder, RepeatedSeed, Repetitions
from deviate.report.text.caveat import Caveat
from deviate.report.text.words import joined, ordinal, seed_text


def repetition_caveats(again: Repetitions) -> Iterator[Caveat]:
    """Say what comes again: from one training to the next it may be meant, as where they are to be compared."""
    for seed in again.seeds:
        yield _repeat(repeated_seed_text(seed), meant=not seed.in_one_training)
    for order in again.orders:
        yield Caveat(slug="order-repeats", message=repeated_order_text(order))
    for workers in again.workers:
        yield _repeat(repeated_text(workers), meant=workers.trainings)


def _repeat(message: str, *, meant: bool) -> Caveat:
    return Caveat(slug="draws-repeat", message=message, severity="note" if meant else "warning")


def repeated_seed_text(again: RepeatedSeed) -> str:
    """Say which lines set the same seeds again, and which iterations drew the same."""
    seeds = joined([seed_text(seed) + (f", through {seed.through}" if seed.through else "") for seed in again.seeds])
    sets = "sets the same seed" if len(again.seeds) == 1 else "set the same seeds"
    if not again.in_one_training:
        first, second = map(ordinal, again.trainings)
        return f"{seeds} {sets} before each training: the {first} and the {second} draw the same numbers."
    first, second = (ordinal(iteration + 1) for iteration in again.iterations)
    return f"{seeds} {sets} again during the training: its {first} and {second} iteration draw the same numbers."


def repeated_order_text(order: RepeatedOrder) -> str:
    """Say that a loader gives its examples in the same order in each pass."""
    remedy = " Call its set_epoch before each." if order.sampler == "DistributedSampler" else ""
    return (
        f"The loader that {order.file}:{order.line} goes through gave its examples in the same order in {order.passes} "
        f"passes, one after the other ({order.sampler}).{remedy}"
    )


def repeated_text(again: RepeatedDraws) -> str:
    """Say that processes draw the same, and by what."""
    source = next((each for each in again.sources if each.file), None)
    who = f"{again.processes} {'trainings in processes of their own' if again.trainings else 'worker processes'}"
    if source is not None and (again.seeded_each or again.trainings):
        cause = f": {source.call}({source.given}) at {source.file}:{source.line} gives each of them the same seed."
    elif again.trainings:
        cause = "."
    else:
        made = f" {'seeded' if source.call else 'made'} at {source.file}:{source.line}" if source is not None else ""
        cause = f": a generator{made} is copied into each of them. Seed it in each, as in worker_init_fn."
    return f"{who} draw the same numbers{cause}"
