"""Every factor of a JAX training draws from its own stream, though all keys come from one."""

from __future__ import annotations

import pytest
from factor_runs import FACTORS, Zygote, check_matrix, matrix
from installed import require

pytestmark = pytest.mark.slow
require("jax", "flax", "optax")

EVERY = set(FACTORS)
DRAWS = [
    {"factor": "data", "file": "jax_training.py", "line": 36, "call": "jax.random.permutation"},
    {"factor": "augment", "file": "jax_training.py", "line": 43, "call": "jax.random.normal"},
]


@pytest.mark.parametrize("style", [pytest.param("linen", marks=pytest.mark.nightly), "nnx"])
def test_no_factor_leaks_into_another(jax: Zygote, style: str) -> None:
    runs = jax.run("jax_training.py", [style, 16], matrix(), draws=DRAWS)
    check_matrix(runs, EVERY)
