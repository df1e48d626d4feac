"""What it means that runs are of a variant: what varied between them and what was held."""

from __future__ import annotations

from collections.abc import Collection

from deviate.experiment import IMPORTED
from deviate.factors import ALGORITHMIC, DATA, DESCRIBED, FACTORS, IMPLEMENTATION, Variant, find_variant
from deviate.report.parts import Factors
from deviate.report.words import listed

_DISTURBANCES = {
    "platform": "the processor it seems to run on",
    "bit": "one unit in the last place of one initial weight",
}

#: What a variant in which every algorithmic factor varies may still hold.
_SPARED = (("the data", DATA), ("the implementation", IMPLEMENTATION))

_ALWAYS_HELD = ("command", "source and data files")

_AS_IS_CAVEAT = (
    "The program's own seeds were left alone: where it seeds itself, runs repeat the same draws and differ less "
    "than trainings with other seeds would."
)


_IMPORTED = Factors(
    gloss="not run by Deviate",
    varied=["not known"],
    held=["not known"],
    caveats=[
        "These results were imported: whether the runs had the same command, source, data and environment, and which "
        "seeds varied, only who ran them can tell."
    ],
)


def factors_of(name: str, threads: Collection[int | None] = (), absent: Collection[str] = ()) -> Factors:
    """Say what varied and what was held between the runs of a variant.

    Parameters
    ----------
    name : str
        The variant.
    threads : collection of int or None, optional
        The thread counts of the runs; None where a run's was not pinned.
    absent : collection of str, optional
        Factors that nothing was drawn for.
    """
    if name == IMPORTED:
        return _IMPORTED
    variant = find_variant(name)
    if variant is None:
        return Factors(gloss=name, varied=[], held=[], caveats=[f"The variant {name} is not known to this version."])
    order = [factor for factor in FACTORS if factor not in absent] if variant.controlled else []
    varied = [DESCRIBED[factor] for factor in order if factor in variant.varying]
    spared = (IMPLEMENTATION,) if variant.disturbed == "platform" else ()
    held = [DESCRIBED[factor] for factor in order if factor not in (*variant.varying, *spared)]
    if not variant.controlled:
        varied = ["whatever the program leaves to chance"]
    elif variant.disturbed:
        varied = [_DISTURBANCES[variant.disturbed]]
    return Factors(
        gloss=_gloss(variant),
        varied=varied,
        held=[*held, *_ALWAYS_HELD, *_pinned(threads)],
        caveats=[*_absences(absent)] if variant.controlled else [_AS_IS_CAVEAT],
    )


def _absences(absent: Collection[str]) -> list[str]:
    named = [DESCRIBED[factor] for factor in FACTORS if factor in absent]
    return [f"Nothing was drawn for: {', '.join(named)}."] if named else []


def _pinned(threads: Collection[int | None]) -> list[str]:
    """Claim equal thread counts only where they were pinned and recorded."""
    known = set(threads)
    return [f"threads ({known.pop()})"] if len(known) == 1 and None not in known else []


def _gloss(variant: Variant) -> str:
    if not variant.controlled:
        return "the program as it is"
    if variant.disturbed:
        return f"everything held but {_DISTURBANCES[variant.disturbed]}"
    if set(ALGORITHMIC) <= variant.varying:
        held = [name for name, factor in _SPARED if factor not in variant.varying]
        return f"everything varies{' but ' if held else ''}{' and '.join(held)}"
    if not variant.varying:
        return "everything held fixed"
    named = [factor for factor in FACTORS if factor in variant.varying]
    return f"only {listed(named, most=len(FACTORS))} {'varies' if len(named) == 1 else 'vary'}"
