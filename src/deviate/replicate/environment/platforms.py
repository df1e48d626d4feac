"""Other machines, emulated on this one: numerical libraries are set to use an older processor's instructions.

The same job on another processor gives other bits [1]_. What a library computes with is chosen when it is loaded, by
what the processor can do, and each has a variable that says to use less. Tried with torch 2.13, NumPy 2.4, TensorFlow
2.20 and JAX 0.10 on an AVX2 processor of AMD: ATEN_CPU_CAPABILITY, ONEDNN_MAX_CPU_ISA, MKL_CBWR=COMPATIBLE (its other
values not), OPENBLAS_CORETYPE, XLA's --xla_cpu_max_isa and the number of threads each change the bits of products,
convolutions or functions; TF_ENABLE_ONEDNN_OPTS and NPY_DISABLE_CPU_FEATURES changed nothing that was tried.

References
----------
.. [1] S. Jean-Paul et al., "Issues in the reproducibility of deep learning results", IEEE SPMB 2019.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from deviate.frameworks import FRAMEWORKS
from deviate.replicate.environment.variables import thread_variables

_CPU_INFO = Path("/proc/cpuinfo")

#: What XLA has instead of variables.
_FLAGS = "XLA_FLAGS"


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A generation of x86 processors, by its vector instructions."""

    name: str
    #: What the processor must have, as ``/proc/cpuinfo`` calls it.
    needs: frozenset[str]


#: From the newest on.
LEVELS = (
    Level(name="AVX-512", needs=frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq"})),
    Level(name="AVX2", needs=frozenset({"avx2", "fma"})),
    Level(name="AVX", needs=frozenset({"avx"})),
    Level(name="SSE4.2", needs=frozenset({"sse4_2"})),
)


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that a run believes to be on."""

    #: ``AVX2, 1 thread``.
    name: str
    variables: dict[str, str]
    #: Appended to XLA_FLAGS; empty: nothing is.
    xla_flag: str
    #: None: as many as the libraries choose.
    threads: int | None


def platforms(flags: Collection[str], threads: int | None) -> list[Platform]:
    """Return the machines that this one can emulate; the first is this one as it is.

    `flags` is what the processor can do, as ``/proc/cpuinfo`` says; `threads` are those of a run on this machine.

    Examples
    --------
    >>> [platform.name for platform in platforms({"avx", "avx2", "fma", "sse4_2"}, 2)][:4]
    ['AVX2 (this machine), 2 threads', 'AVX, 2 threads', 'AVX2 (this machine), 1 thread', 'SSE4.2, 2 threads']
    """
    levels = [level for level in LEVELS if level.needs <= set(flags)]
    counts = thread_counts(threads)
    # Near ones first: in a few runs both the instructions and the number of threads change.
    cells = sorted(
        ((row, column) for row in range(max(1, len(levels))) for column in range(len(counts))),
        key=lambda cell: (sum(cell), cell[1]),
    )
    return [_platform(levels, row, counts[column]) for row, column in cells]


def thread_counts(threads: int | None) -> list[int | None]:
    """Return the thread counts to try, that of this machine first, then halves of it down to one.

    Examples
    --------
    >>> thread_counts(8), thread_counts(1), thread_counts(None)
    ([8, 4, 2, 1], [1, 2], [None, 1])
    """
    if threads is None:
        return [None, 1]
    if threads == 1:
        return [1, 2]
    return [threads >> halved for halved in range(threads.bit_length())]


def _platform(levels: list[Level], row: int, threads: int | None) -> Platform:
    level = levels[row] if levels else None
    older = _older_instructions(level) if level and row else {}
    name = f"{level.name if level else 'this machine'}{' (this machine)' if level and not row else ''}"
    count = "threads as they are" if threads is None else f"{threads} thread{'' if threads == 1 else 's'}"
    return Platform(
        name=f"{name}, {count}",
        variables={name: value for name, value in older.items() if name != _FLAGS},
        xla_flag=older.get(_FLAGS, ""),
        threads=threads,
    )


def _older_instructions(level: Level) -> dict[str, str]:
    """Return the variables that make libraries use no later instructions than `level` has."""
    step = LEVELS.index(level) - 1
    return {name: values[step] for each in FRAMEWORKS for name, values in each.instructions.items()}


def cpu_flags(path: Path = _CPU_INFO) -> frozenset[str]:
    """Return what this machine's processor can do; nothing where the system does not say."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return frozenset(line.partition(":")[2].split())


def platform_variables(platform: Platform, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make a run believe to be on `platform`, over those of its `environment`."""
    flags = f"{environment.get(_FLAGS, '')} {platform.xla_flag}".strip()
    xla = {_FLAGS: flags} if platform.xla_flag else {}
    return {**platform.variables, **xla, **thread_variables(platform.threads, {})}
