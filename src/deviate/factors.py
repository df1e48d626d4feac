"""Factors of nondeterminism and the variants that say which of them vary between runs.

References
----------
.. [1] H. V. Pham et al., "Problems and opportunities in training deep learning software systems:
   an analysis of variance", ASE 2020.
.. [2] D. Zhuang et al., "Randomness in neural network training: characterizing the impact of tooling", MLSys 2022.
"""

from __future__ import annotations

import hashlib

import msgspec

from deviate.errors import BadOption

#: Sources of nondeterminism that a seed decides.
ALGORITHMIC = ("init", "shuffle", "augment", "layers", "other")

#: Kernels and reduction orders, which no seed decides.
IMPLEMENTATION = "impl"

#: Draws that make or split the data set: varied only by name, since runs on other data are not identical runs.
DATA = "data"

#: Seeds given to frameworks must fit 32 bits (numpy.random.seed takes no more).
SEED_BITS = 32


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """Which factors vary between the runs of one variant; the others are held fixed."""

    name: str
    varying: frozenset[str]
    #: False for ``as-is``: nothing is seeded and no switch is set.
    controlled: bool = True


#: Variants with a name of their own.
VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(name="algo+impl", varying=frozenset((*ALGORITHMIC, IMPLEMENTATION))),
        Variant(name="control", varying=frozenset()),
        Variant(name="as-is", varying=frozenset((*ALGORITHMIC, IMPLEMENTATION)), controlled=False),
    )
}

DEFAULT_VARIANT = "algo+impl"


def parse_variant(text: str) -> Variant:
    """Return the variant that ``--vary`` names.

    Raises
    ------
    BadOption
        If `text` names no variant.
    """
    variant = VARIANTS.get(text.strip().lower())
    if variant is None:
        raise BadOption(
            f"--vary {text!r} names no variant; expected one of {', '.join(VARIANTS)}",
            hint=f"type --vary {DEFAULT_VARIANT} to vary every seed, --vary control to hold every seed fixed",
        )
    return variant


def run_seed(variant: Variant, experiment_seed: int, index: int) -> int | None:
    """Derive the seed from which a run draws everything random.

    Parameters
    ----------
    variant : Variant
        Says whether runs share the seed.
    experiment_seed : int
        Chosen once per experiment.
    index : int
        Index of the run, from 0.

    Returns
    -------
    int or None
        In ``[0, 2**32)``; None where the variant leaves the program's own seeds alone.
    """
    if not variant.controlled:
        return None
    varies = bool(variant.varying & set(ALGORITHMIC))
    return derive_seed(experiment_seed, "all", index if varies else 0)


def derive_seed(*parts: int | str) -> int:
    """Mix `parts` into a seed in ``[0, 2**32)``; equal parts give equal seeds on every machine."""
    text = "/".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[: SEED_BITS // 8], "little")
