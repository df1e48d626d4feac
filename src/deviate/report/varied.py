"""What varied between the runs and what did not, in sentences for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deviate.experiment import IMPORTED
from deviate.factors import ALGORITHMIC, DESCRIBED, Variant, find_variant
from deviate.report.parts import VariantReport
from deviate.report.words import joined

#: Beginnings of names that need no article.
_WITH_ARTICLE = ("the ", "one ")


def varied_sentences(variants: Sequence[VariantReport]) -> Iterator[str]:
    """Say of each variant what varied, and what all of them held.

    Parameters
    ----------
    variants : sequence of VariantReport
        Where there is more than one, sentences name them.
    """
    told = [(variant, find_variant(variant.variant)) for variant in variants if variant.variant != IMPORTED]
    if len(told) < len(variants):
        yield "What varied between the imported runs is not known."
    for variant, known in told:
        runs = f"the runs of {variant.variant}" if len(variants) > 1 else "the runs"
        if known is None:
            yield f"What varied between {runs} is not known."
        elif not known.controlled:
            yield f"Nothing was controlled in {runs}: the program's own seeds were left as they are."
    yield from _controlled([(variant, known) for variant, known in told if known and known.controlled], len(variants))
    yield from _broken(variants)


def _controlled(told: Sequence[tuple[VariantReport, Variant]], variants: int) -> Iterator[str]:
    if not told:
        return
    common = [held for held in told[0][0].factors.held if all(held in variant.factors.held for variant, _ in told)]
    held = _the([_counted(name) for name in common])
    if variants == 1:
        if told[0][0].planned < 2:
            return
        yield f"Between the runs, {_varied(*told[0])} varied on purpose; {held} stayed the same."
        return
    first, *others = told
    more = "".join(f"; between those of {variant.variant}, {_varied(variant, known)}" for variant, known in others)
    yield f"Between the runs of {first[0].variant}, {_varied(*first)} varied on purpose{more}."
    where = "in all of these runs" if others else "in these runs"
    yield f"{held[:1].upper()}{held[1:]} stayed the same {where}."


def _varied(variant: VariantReport, known: Variant) -> str:
    """Name what varied; ``only`` where there is more that training draws."""
    if not variant.factors.varied:
        return "nothing"
    return f"{'' if set(ALGORITHMIC) <= known.varying else 'only '}{_the(variant.factors.varied)}"


def _the(names: Sequence[str]) -> str:
    """Put the article before a list of names.

    Examples
    --------
    >>> _the(["data order", "command"]), _the(["one weight"])
    ('the data order and command', 'one weight')
    """
    text = joined(names)
    return text if text.startswith(_WITH_ARTICLE) else f"the {text}"


def _counted(held: str) -> str:
    return held.replace("threads (", "number of threads (", 1) if held.startswith("threads (") else held


def _broken(variants: Sequence[VariantReport]) -> Iterator[str]:
    """Say where fingerprints show otherwise than the variant promises."""
    for variant in variants:
        broken = [DESCRIBED.get(each.name, each.name) for each in variant.evidence if each.broken]
        where = f" in {variant.variant}" if len(variants) > 1 else ""
        if broken:
            yield (
                "Fingerprints (checksums of what each run drew, read and ended with) show otherwise"
                f"{where} for {_the(broken)}."
            )
