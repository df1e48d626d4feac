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
