"""What the simulations draw samples from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Population:
    """What samples are drawn from, with its true mean and SD."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, ...]], Any]
    mean: float
    sd: float


def accuracy(examples: int, share: float) -> Population:
    """Give accuracies on so many test examples: few of them make ties."""
    return Population(
        f"accuracy ({share:.0%} of {examples})",
        lambda rng, shape: rng.binomial(examples, share, shape) / examples,
        share,
        math.sqrt(share * (1 - share) / examples),
    )


def lognormal(sigma: float, name: str) -> Population:
    """Give values whose logarithms are normal with this SD."""
    return Population(
        name,
        lambda rng, shape: rng.lognormal(0, sigma, shape),
        math.exp(sigma**2 / 2),
        math.sqrt((math.exp(sigma**2) - 1) * math.exp(sigma**2)),
    )


def collapsing(rate: float) -> Population:
    """Give accuracies of 97 ± 0.3 % in which a share of the runs ends at chance level, 10 %."""
    usual, chance, sd = 97.0, 10.0, 0.3
    return Population(
        f"{rate:.0%} of runs collapse",
        lambda rng, shape: np.where(rng.random(shape) < rate, chance, usual) + sd * rng.standard_normal(shape),
        usual - rate * (usual - chance),
        math.sqrt(sd**2 + rate * (1 - rate) * (usual - chance) ** 2),
    )


def two_modes(share: float) -> Population:
    """Give values around one of two places, 20 SDs apart, a share of the runs at the lower one."""
    gap = 20.0
    return Population(
        f"two kinds of runs, {share:.0%} and {1 - share:.0%}",
        lambda rng, shape: np.where(rng.random(shape) < share, 0.0, gap) + rng.standard_normal(shape),
        (1 - share) * gap,
        math.sqrt(1 + share * (1 - share) * gap**2),
    )


NORMAL = Population("normal", lambda rng, shape: rng.standard_normal(shape), 0.0, 1.0)

HEAVY = Population("heavy-tailed (t, 3 df)", lambda rng, shape: rng.standard_t(3, shape), 0.0, math.sqrt(3))

#: The shapes that the statistics of results are checked with.
SHAPES = (
    NORMAL,
    lognormal(0.5, "skewed (lognormal, 0.5)"),
    lognormal(1, "very skewed (lognormal, 1)"),
    HEAVY,
    accuracy(1000, 0.97),
    accuracy(100, 0.99),
)

COLLAPSING = (collapsing(0.05), collapsing(0.1))
