"""Factors of nondeterminism and the variants that say which of them vary between runs.

References
----------
.. [1] H. V. Pham et al., "Problems and opportunities in training deep learning software systems:
   an analysis of variance", ASE 2020.
.. [2] D. Zhuang et al., "Randomness in neural network training: characterizing the impact of tooling", MLSys 2022.
.. [3] C. Summers, M. J. Dinneen, "Nondeterminism and instability in neural network optimization", ICML 2021.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal

import msgspec

from deviate.core.errors import BadOption

#: Whatever no other factor names: the seed of hashes, too.
OTHER = "other"

#: Sources of nondeterminism that a seed decides and that vary with ``algo``.
ALGORITHMIC = ("init", "shuffle", "augment", "layers", OTHER)

#: Draws that make or split the data set: varied only by name, since runs on other data are not identical runs.
DATA = "data"

#: Kernels and reduction orders, which no seed decides.
IMPLEMENTATION = "impl"

#: Factors with a random stream and a fingerprint of their own.
SEEDED = (*ALGORITHMIC, DATA)
SeededFactor = Literal["init", "shuffle", "augment", "layers", "other", "data"]

#: Every factor, in the order in which lists of them are written.
FACTORS = (*SEEDED, IMPLEMENTATION)

#: What each factor is, in a few words.
DESCRIBED = {
    "init": "initialisation",
    "shuffle": "data order",
    "augment": "augmentation",
    "layers": "stochastic layers",
    "other": "other draws of the training",
    DATA: "draws that count as data",
    IMPLEMENTATION: "implementation (kernels, order of parallel sums)",
}

#: What varies, as people read it: by the name of a variant in files, JSON and on the command line.
PLAIN = {
    "algo+impl": "everything",
    "algo": "training's draws",
    IMPLEMENTATION: "kernels only",
    "control": "nothing (control)",
    "as-is": "the program as it is",
    "init": "initialisation",
    "shuffle": "data order",
    "augment": "augmentation",
    "layers": "stochastic layers",
    OTHER: "other draws",
    DATA: "data draws",
    "platform": "processor",
    "bit": "one bit of one weight",
}

#: Words that one may type for them as well.
_TYPED = {
    **{plain: name for name, plain in PLAIN.items()},
    "draws": "algo",
    "dropout": "layers",
    "kernels": IMPLEMENTATION,
    "nothing": "control",
    "initialization": "init",
    "order": "shuffle",
    "split": DATA,
    "data split": DATA,
}

#: Seeds given to frameworks must fit 32 bits (numpy.random.seed takes no more).
SEED_BITS = 32


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """Which factors vary between the runs of one variant; the others are held fixed."""

    name: str
    varying: frozenset[str]
    #: False: nothing is seeded and no switch is set.
    controlled: bool = True
    #: False for ``as-is``: not even looked at what draws.
    observed: bool = True
    #: What is changed beside the factors: the processor that a run has, or one bit of the initial weights.
    disturbed: Literal["", "platform", "bit"] = ""

    @property
    def plain(self) -> str:
        """What varies, as people read it; of several factors, all of them.

        >>> parse_variant("algo").plain, parse_variant("init,shuffle").plain, parse_variant("algo,data").plain
        ("training's draws", 'initialisation + data order', "training's draws + data draws")
        """
        if self.name in PLAIN:
            return PLAIN[self.name]
        together = [name for name, factors in _SETS.items() if set(factors) <= self.varying]
        covered = {factor for name in together for factor in _SETS[name]}
        alone = [factor for factor in FACTORS if factor in self.varying - covered]
        return " + ".join(PLAIN[name].removesuffix(" only") for name in (*together, *alone)) or self.name

    @property
    def drawn(self) -> frozenset[str]:
        """The factors among the varying ones that a seed decides."""
        return self.varying & set(SEEDED)

    @property
    def is_fixed(self) -> bool:
        """Whether everything is held fixed, so that nothing but the implementation tells its runs apart."""
        return self.controlled and not self.varying and not self.disturbed


def _named(name: str, *varying: str) -> Variant:
    return Variant(name=name, varying=frozenset(varying))


#: Variants with a name of their own. Beside them, factors joined by commas name a variant.
VARIANTS = {
    variant.name: variant
    for variant in (
        _named("algo+impl", *ALGORITHMIC, IMPLEMENTATION),
        _named("algo", *ALGORITHMIC),
        _named("impl", IMPLEMENTATION),
        _named("control"),
        Variant(name="as-is", varying=frozenset((*ALGORITHMIC, IMPLEMENTATION)), controlled=False, observed=False),
        *(_named(factor, factor) for factor in SEEDED),
        Variant(name="platform", varying=frozenset(), disturbed="platform"),
        Variant(name="bit", varying=frozenset(), disturbed="bit"),
    )
}

#: The program with its own seeds, its draws observed: only for trials, never selected by name.
OBSERVED = Variant(name="observed", varying=frozenset((*ALGORITHMIC, IMPLEMENTATION)), controlled=False)

#: The same with every determinism switch set.
HELD_KERNELS = Variant(name="held-kernels", varying=frozenset(ALGORITHMIC), controlled=False)

#: Names that stand for several variants: the four arms of Zhuang et al. [2]_, one source at a time as Summers and
#: Dinneen [3]_ did.
GROUPS = {
    "arms": ("algo+impl", "algo", "impl", "control"),
    "sources": ("algo+impl", *ALGORITHMIC, IMPLEMENTATION, "control"),
}

#: In a list, a word for several factors.
_SETS = {"algo": ALGORITHMIC}

DEFAULT_VARIANT = "algo+impl"


def main_variant(variants: Iterable[str]) -> str | None:
    """Return the variant that is meant where none is named; None where one has to be.

    >>> main_variant(["control", "algo+impl"]), main_variant(["control"]), main_variant(["algo", "impl"])
    ('algo+impl', 'control', None)
    """
    names = list(variants)
    return DEFAULT_VARIANT if DEFAULT_VARIANT in names else names[0] if len(names) == 1 else None


def parse_variants(texts: Iterable[str]) -> list[Variant]:
    """Return the variants that ``--vary``, given several times, names: groups expanded, each variant once.

    Raises BadOption if one of `texts` names nothing.
    """
    variants: dict[str, Variant] = {}
    for text in texts:
        for name in GROUPS.get(text.strip().lower(), (text,)):
            variant = parse_variant(name)
            variants.setdefault(variant.name, variant)
    return list(variants.values())


def parse_variant(text: str) -> Variant:
    """Return the variant that a name or its plain words stand for; lists of factors may be in any order.

    Raises BadOption if `text` names no variant.

    >>> parse_variant("layers, init").name, parse_variant("impl,algo").name
    ('init,layers', 'algo+impl')
    >>> parse_variant("everything").name, parse_variant("data order + initialisation").name
    ('algo+impl', 'init,shuffle')
    >>> parse_variant("dropout").plain
    'stochastic layers'
    """
    words = [_TYPED.get(word.strip(), word.strip()) for word in text.lower().replace(" + ", ",").split(",")]
    if len(words) == 1 and words[0] in VARIANTS:
        return VARIANTS[words[0]]
    return _listed(text, words)


def _listed(text: str, words: list[str]) -> Variant:
    for word in words:
        if word not in FACTORS and word not in _SETS:
            raise _unknown(text, word, listed=len(words) > 1)
    varying = {factor for word in words for factor in _SETS.get(word, (word,))}
    known = (variant for variant in VARIANTS.values() if variant.controlled and not variant.disturbed)
    same = next((variant for variant in known if variant.varying == varying), None)
    return same or _named(",".join(factor for factor in FACTORS if factor in varying), *varying)


def _unknown(text: str, word: str, *, listed: bool) -> BadOption:
    alone = word in VARIANTS or word in GROUPS
    if listed and alone:
        return BadOption(
            f"--vary {text!r}: {word!r} stands alone; a list joins factors: {', '.join(FACTORS)}",
            hint=f"type it as one more option: --vary {word}",
        )
    everything = (*VARIANTS, *GROUPS, *(typed for typed in _TYPED if " " not in typed))
    reason = f": {word!r} is no factor" if listed else " names no variant"
    close = difflib.get_close_matches(word, everything, n=1)
    hint = f"did you mean --vary {close[0]}?" if close else f"type --vary {DEFAULT_VARIANT}, or --vary arms"
    return BadOption(
        f"--vary {text!r}{reason}; there are {', '.join(VARIANTS)}; lists of factors joined by commas (init,shuffle); "
        f"and {' and '.join(GROUPS)} for several variants",
        hint=hint,
    )


def plain_name(name: str) -> str:
    """Return what varies in a variant of a name read from a file, as people read it."""
    variant = find_variant(name)
    return variant.plain if variant is not None else name


def find_variant(name: str) -> Variant | None:
    """Return the variant of a name read from a file; None where this version knows none of that name."""
    for trial in (OBSERVED, HELD_KERNELS):
        if name == trial.name:
            return trial
    try:
        return parse_variant(name)
    except BadOption:
        return None


def run_seeds(variant: Variant, experiment_seed: int, index: int) -> dict[str, int] | None:
    """Derive the seed from which each factor of a run draws.

    Parameters
    ----------
    variant : Variant
        Says for which factors runs have seeds of their own.
    experiment_seed : int
        Chosen once per experiment.
    index : int
        Index of the run, from 0. Run 0 of every variant draws as run 0 of ``control`` does.

    Returns
    -------
    dict of str to int
        By factor, each in ``[0, 2**32)``; None where the variant leaves the program's own seeds alone.
    """
    if not variant.controlled:
        return None
    return {
        factor: derive_seed(experiment_seed, factor, index if factor in variant.varying else 0) for factor in SEEDED
    }


def bit_seed(variant: Variant, experiment_seed: int, index: int) -> int | None:
    """Derive the seed that chooses the weight whose last bit is changed; None where no weight is changed."""
    return derive_seed(experiment_seed, "bit", index) if variant.disturbed == "bit" else None


def derive_seed(*parts: int | str) -> int:
    """Mix `parts` into a seed in ``[0, 2**32)``; equal parts give equal seeds on every machine."""
    # It loads OpenSSL, which those who only look at experiments do without.
    import hashlib

    text = "/".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[: SEED_BITS // 8], "little")
