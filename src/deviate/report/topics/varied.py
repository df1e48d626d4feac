"""What varied between the runs of a variant and what was held: as lists, and in sentences for a paper."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from deviate.core.experiment import IMPORTED
from deviate.core.factors import (
    ALGORITHMIC,
    DATA,
    DESCRIBED,
    FACTORS,
    IMPLEMENTATION,
    OTHER,
    PLAIN,
    Variant,
    find_variant,
)
from deviate.facts.proof import VariantProof
from deviate.report.words import capital, joined, listed

_DISTURBANCES = {
    "platform": "the processor it seems to run on",
    "bit": "one unit in the last place of one initial weight",
}

#: What a variant of few factors varies, in a sentence.
_SHORT = {
    "init": "the initialisation",
    "shuffle": "the data order",
    "augment": "the augmentation",
    "layers": "the stochastic layers",
    "other": "other random draws",
    DATA: "the data",
}

#: What a variant in which every algorithmic factor varies may still hold.
_SPARED = (("the data", DATA), ("the implementation", IMPLEMENTATION))

_PINNED = "Kernels can have no effect: pinned threads, no GPU."

_UNDRAWN = "No random draws were seen in these runs."

_UNPROVEN = "No fingerprint was taken, so what varied between these runs is not known."

_AS_IS_CAVEAT = (
    "The program's own seeds were left alone: where it seeds itself, runs repeat the same draws and differ less "
    "than trainings with other seeds would."
)


class Factors(msgspec.Struct, frozen=True, kw_only=True):
    """What differed between the runs of a variant on purpose, what did not, and what is not known to be either."""

    gloss: str
    varied: list[str]
    held: list[str]
    caveats: list[str]


_IMPORTED = Factors(
    gloss="not run by Deviate",
    varied=["not known"],
    held=["not known"],
    caveats=[
        "These results were imported: whether the runs had the same command, source, data and environment, and which "
        "seeds varied, only their author knows."
    ],
)


def factors_of(facts: VariantProof) -> Factors:
    """List what varied and what was held between the runs of a variant."""
    name = facts.variant
    variant = find_variant(name)
    if name == IMPORTED:
        return _IMPORTED
    if variant is None:
        return Factors(gloss=name, varied=[], held=[], caveats=[f"The variant {name} is not known to this version."])
    if facts.unseen:
        return Factors(gloss=_gloss(variant), varied=["not known"], held=_files(facts), caveats=[_unseen(facts)])
    if _is_unproven(facts, variant):
        held = [*_files(facts), *_pinned(facts.threads)]
        return Factors(gloss=_gloss(variant), varied=["not known"], held=held, caveats=[_UNPROVEN])
    hidden = {*facts.absent, *facts.unwatched}
    order = [factor for factor in FACTORS if factor not in hidden] if variant.controlled else []
    free = variant.varying - set(facts.unvaried)
    silent = {IMPLEMENTATION} if _is_noiseless(facts, variant) else set[str]()
    varied = [DESCRIBED[factor] for factor in order if factor in free - silent]
    spared = (IMPLEMENTATION,) if variant.disturbed == "platform" else ()
    held = [DESCRIBED[factor] for factor in order if factor not in (*free, *spared, *unheld(facts, variant))]
    if not variant.controlled:
        varied = ["whatever the program leaves to chance"]
    elif variant.disturbed:
        varied = [_DISTURBANCES[variant.disturbed]]
    return Factors(
        gloss=_gloss(variant),
        varied=varied,
        held=[*held, *_files(facts), *_pinned(facts.threads)],
        caveats=[*absences(facts), *(_noiseless(facts, variant) if variant.controlled else [_AS_IS_CAVEAT])],
    )


def unheld(facts: VariantProof, variant: Variant) -> list[str]:
    """Return the factors that were not held as promised, and the implementation where all was held and runs differ."""
    alike = not (variant.varying or variant.disturbed)
    differs = alike and facts.identity is not None and not facts.identity.identical
    broken = (each.name for each in facts.evidence if each.broken and each.meant == "held")
    return [*broken, *([IMPLEMENTATION] if differs else [])]


def _is_unproven(facts: VariantProof, variant: Variant) -> bool:
    """Tell whether runs ended and none of them shows that it drew anything for what was to vary."""
    ended = any(run.status == "completed" for run in facts.runs)
    is_proof_due = variant.controlled and bool(variant.drawn) and not variant.disturbed
    return ended and is_proof_due and not facts.evidence


def _files(facts: VariantProof) -> list[str]:
    """Claim data only where it is known which files were read, and that they were the same."""
    return ["command", "source and data files" if facts.files_held else "source"]


def _unseen(facts: VariantProof) -> str:
    programs = joined([f"`{command}`" for command in facts.unseen])
    return f"What varied between these runs is not known: {programs} ran without Deviate's instruments."


def gloss(name: str) -> str:
    """Say in a few words what varies in a variant."""
    variant = find_variant(name)
    if name == IMPORTED:
        return _IMPORTED.gloss
    return name if variant is None else _gloss(variant)


def varied_statement(facts: VariantProof, *, brief: bool = False) -> str:
    """Say in a sentence what varied between the runs of a variant and what was held fixed; why, unless `brief`."""
    variant = find_variant(facts.variant)
    if facts.variant == IMPORTED or variant is None:
        return "What varied between these runs is not known."
    if not variant.controlled:
        return "The program's own seeds were left as they are."
    if facts.unseen:
        return _unseen(facts)
    if not facts.draws and variant.varying != {IMPLEMENTATION} and not _is_alike(variant, facts):
        return _UNDRAWN if facts.draws is False else _UNPROVEN
    if variant.disturbed:
        return f"Everything was held fixed but {_DISTURBANCES[variant.disturbed]}."
    if not variant.varying:
        return "Everything was held fixed."
    varying = [name for name, varies in _varying(variant, facts) if varies]
    held = list(_held(variant, facts, brief=brief))
    if not set(ALGORITHMIC) <= variant.varying:
        nothing = _PINNED if _is_noiseless(facts, variant) else "No draw was counted for what was to vary."
        return f"Only {joined(varying)} varied." if varying else nothing
    kept = f"; {joined(held)} {'was' if held == ['the implementation'] else 'were'} held fixed" if held else ""
    pinned = f" {_PINNED}" if _is_noiseless(facts, variant) and not brief else ""
    return f"{capital(joined(varying))} varied{kept}.{pinned}"


def _held(variant: Variant, facts: VariantProof, *, brief: bool) -> Iterator[str]:
    """Yield what a variant holds that runs prove: a draw that makes data may be filed elsewhere."""
    if DATA not in variant.varying:
        if facts.files_held:
            yield "the files it reads"
        if _draws_data(facts) and not brief:
            yield "the draws that count as data"
    if IMPLEMENTATION not in variant.varying:
        yield "the implementation"


def _is_alike(variant: Variant, facts: VariantProof) -> bool:
    return not variant.varying and facts.identity is not None and facts.identity.identical


def _draws_data(facts: VariantProof) -> bool:
    return any(each.name == DATA and each.found == "identical" for each in facts.evidence)


def _varying(variant: Variant, facts: VariantProof) -> list[tuple[str, bool]]:
    """List what a variant may vary, each with whether it does; all algorithmic factors together are the seeds."""
    # Where no run drew anything, no seed varied.
    seeds = set(ALGORITHMIC) <= variant.varying and not set(ALGORITHMIC) <= set(facts.absent)
    drawn = set() if seeds else variant.varying - set(facts.absent) - set(facts.unvaried)
    named = [(_SHORT[factor], factor in drawn) for factor in (*ALGORITHMIC, DATA)]
    could = IMPLEMENTATION in variant.varying and not _is_noiseless(facts, variant)
    return [("seeds", seeds), *named, ("the data", seeds and DATA in variant.varying), ("the implementation", could)]


def _is_noiseless(facts: VariantProof, variant: Variant) -> bool:
    return IMPLEMENTATION in variant.varying and facts.without_noise


#: What a run hashes strings with is the seed of other draws, drawn or not.
_HASHED = (OTHER, "varies", "absent")
_HASHES = "Sets of strings have another order in each run (PYTHONHASHSEED)."


def absences(facts: VariantProof) -> list[str]:
    """Say for which factors no run drew anything, and what follows from the seed of one of them all the same."""
    absent, unwatched = (
        ", ".join(DESCRIBED[factor] for factor in FACTORS if factor in names)
        for names in (facts.absent, facts.unwatched)
    )
    return [
        *([f"No draw was counted under: {absent}."] if absent else []),
        *([_HASHES] if any((each.name, each.meant, each.found) == _HASHED for each in facts.evidence) else []),
        *([f"Lines that can draw ran unwatched, so that nothing is known of it: {unwatched}."] if unwatched else []),
    ]


def _noiseless(facts: VariantProof, variant: Variant) -> list[str]:
    return (
        ["With pinned threads and no GPU, nothing of the implementation was varied."]
        if _is_noiseless(facts, variant)
        else []
    )


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
    named = [PLAIN[factor].removesuffix(" only") for factor in FACTORS if factor in variant.varying]
    vary = "vary" if len(named) > 1 or named[0].endswith("s") else "varies"
    return f"only {listed(named, most=len(FACTORS))} {vary}"


#: Beginnings of names that need no article.
_WITH_ARTICLE = ("the ", "one ")


def varied_sentences(variants: Sequence[VariantProof]) -> Iterator[str]:
    """Say of each variant what varied, and what all of them held; where there are several, sentences name them."""
    known_variants = [(variant, find_variant(variant.variant)) for variant in variants if variant.variant != IMPORTED]
    if len(known_variants) < len(variants):
        yield "What varied between the imported runs is not known."
    for variant, known in known_variants:
        runs = f"the runs of {variant.variant}" if len(variants) > 1 else "the runs"
        is_alone = len(variants) == 1 and variant.planned < 2 and not variant.unseen
        if known is None or (known.controlled and _is_unknown(variant, known) and not is_alone):
            yield f"What varied between {runs} is not known."
        elif not known.controlled:
            yield f"Nothing was controlled in {runs}: the program's own seeds were left as they are."
    controlled = [
        (variant, known)
        for variant, known in known_variants
        if known and known.controlled and not _is_unknown(variant, known)
    ]
    yield from _controlled(controlled, len(variants))
    yield from _broken(variants)


def _is_unknown(facts: VariantProof, variant: Variant) -> bool:
    return bool(facts.unseen) or _is_unproven(facts, variant)


def _controlled(controlled: Sequence[tuple[VariantProof, Variant]], variants: int) -> Iterator[str]:
    if not controlled:
        return
    factors = [factors_of(variant) for variant, _ in controlled]
    common = [held for held in factors[0].held if all(held in each.held for each in factors)]
    held = _the([_counted(name) for name in common])
    varied = [_varied(each, known) for each, (_, known) in zip(factors, controlled, strict=True)]
    if variants == 1:
        if controlled[0][0].planned < 2:
            return
        yield f"Between the runs, {varied[0]} varied on purpose; {held} stayed the same."
        return
    names = [variant.variant for variant, _ in controlled]
    others = list(zip(names, varied, strict=True))[1:]
    more = "".join(f"; between those of {name}, {text}" for name, text in others)
    yield f"Between the runs of {names[0]}, {varied[0]} varied on purpose{more}."
    where = "in all of these runs" if others else "in these runs"
    yield f"{capital(held)} stayed the same {where}."


def _varied(factors: Factors, known: Variant) -> str:
    if not factors.varied:
        return "nothing"
    return f"{'' if set(ALGORITHMIC) <= known.varying else 'only '}{_the(factors.varied)}"


def _the(names: Sequence[str]) -> str:
    """Put the article before a list of names.

    >>> _the(["data order", "command"]), _the(["one weight"])
    ('the data order and command', 'one weight')
    """
    text = joined(names)
    return text if text.startswith(_WITH_ARTICLE) else f"the {text}"


def _counted(held: str) -> str:
    return held.replace("threads (", "number of threads (", 1) if held.startswith("threads (") else held


def _broken(variants: Sequence[VariantProof]) -> Iterator[str]:
    """Say where fingerprints show otherwise than the variant promises."""
    for variant in variants:
        broken = [DESCRIBED.get(each.name, each.name) for each in variant.evidence if each.broken]
        where = f" in {variant.variant}" if len(variants) > 1 else ""
        if broken:
            yield (
                "Fingerprints (checksums of what each run drew, read and ended with) show otherwise"
                f"{where} for {_the(broken)}."
            )
