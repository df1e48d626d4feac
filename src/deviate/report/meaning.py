"""What it means that runs are of a variant: what varied between them and what was held."""

from __future__ import annotations

from collections.abc import Collection

from deviate.factors import ALGORITHMIC, IMPLEMENTATION, VARIANTS, Variant
from deviate.report.parts import Factors

_DESCRIBED = {
    "init": "initial parameters",
    "shuffle": "data order",
    "augment": "data augmentation",
    "layers": "stochastic layers (dropout)",
    "other": "other draws of the training",
    IMPLEMENTATION: "implementation (kernels, order of parallel sums)",
}

_ALWAYS_HELD = ("command", "source and data files")

_DATA_CAVEAT = (
    "Data draws are not yet told apart from the other draws: data that is made or split with the program's own seed "
    "varies too."
)
_UNSEEDED_CAVEAT = "Draws from generators that take no seed of the program or its libraries are beyond this control."
_AS_IS_CAVEAT = (
    "The program's own seeds were left alone: where it seeds itself, runs repeat the same draws and differ less "
    "than trainings with other seeds would."
)


def factors_of(name: str, threads: Collection[int | None] = ()) -> Factors:
    """Say what varied and what was held between the runs of a variant.

    Parameters
    ----------
    name : str
        The variant.
    threads : collection of int or None, optional
        The thread counts of the runs; None where a run's was not pinned.
    """
    variant = VARIANTS.get(name)
    if variant is None:
        return Factors(gloss=name, varied=[], held=[], caveats=[f"The variant {name} is not known to this version."])
    order = (*ALGORITHMIC, IMPLEMENTATION) if variant.controlled else ()
    varied = [_DESCRIBED[factor] for factor in order if factor in variant.varying]
    held = [_DESCRIBED[factor] for factor in order if factor not in variant.varying]
    return Factors(
        gloss=_gloss(variant),
        varied=varied if variant.controlled else ["whatever the program leaves to chance"],
        held=[*held, *_ALWAYS_HELD, *_pinned(threads)],
        caveats=[_caveat(variant)],
    )


def _pinned(threads: Collection[int | None]) -> list[str]:
    """Claim equal thread counts only where they were pinned and recorded."""
    known = set(threads)
    return [f"threads ({known.pop()})"] if len(known) == 1 and None not in known else []


def _caveat(variant: Variant) -> str:
    if not variant.controlled:
        return _AS_IS_CAVEAT
    return _DATA_CAVEAT if variant.varying & set(ALGORITHMIC) else _UNSEEDED_CAVEAT


def _gloss(variant: Variant) -> str:
    if not variant.controlled:
        return "the program as it is"
    if not variant.varying:
        return "every seed fixed"
    if set(ALGORITHMIC) <= variant.varying:
        return "every seed varies"
    return "only " + " and ".join(sorted(variant.varying)) + " varies"
