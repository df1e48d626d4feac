"""Threads of numerical libraries: their number changes results, so it is told, the same for every run, and recorded."""

from __future__ import annotations

from collections.abc import Mapping

#: Read by OpenMP (torch, scikit-learn), MKL, OpenBLAS, BLIS, numexpr, Accelerate and TensorFlow when they are loaded.
#: XLA on a CPU has none: it takes the number of cores the process is held to.
VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)


def thread_count(offered: int | None, environment: Mapping[str, str]) -> int | None:
    """Return how many threads a run uses: what the user's OMP_NUM_THREADS says, or else `offered`."""
    if offered is None:
        return None
    # OpenMP allows a list, a number per nesting level.
    first = environment.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else offered


def thread_variables(threads: int | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that tell `threads` to libraries the user has told nothing."""
    if threads is None:
        return {}
    return {name: str(threads) for name in VARIABLES if not environment.get(name)}
