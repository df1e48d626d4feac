"""Other machines, emulated on this one: numerical libraries are told to use an older processor's instructions.

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

from deviate.replicate.threads import thread_variables

_CPU_INFO = Path("/proc/cpuinfo")


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A generation of x86 processors, by its vector instructions."""

    name: str
    #: What the processor must have, as ``/proc/cpuinfo`` calls it.
    needs: frozenset[str]
    #: Tell libraries to use no later instructions.
    variables: dict[str, str]
    #: Likewise for XLA, which has flags instead.
    xla: str


#: From the newest on. A name of OPENBLAS_CORETYPE is the first core of Intel's with those instructions.
LEVELS = (
    Level(
        name="AVX-512",
        needs=frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq"}),
        variables={},
        xla="AVX512",
    ),
    Level(
        name="AVX2",
        needs=frozenset({"avx2", "fma"}),
        variables={
            "ATEN_CPU_CAPABILITY": "avx2",
            "ONEDNN_MAX_CPU_ISA": "AVX2",
            "MKL_CBWR": "AVX2",
            "OPENBLAS_CORETYPE": "Haswell",
        },
        xla="AVX2",
    ),
    Level(
        name="AVX",
        needs=frozenset({"avx"}),
        variables={
            "ATEN_CPU_CAPABILITY": "default",
            "ONEDNN_MAX_CPU_ISA": "AVX",
            "MKL_CBWR": "AVX",
            "OPENBLAS_CORETYPE": "Sandybridge",
        },
        xla="AVX",
    ),
    Level(
        name="SSE4.2",
        needs=frozenset({"sse4_2"}),
        variables={
            "ATEN_CPU_CAPABILITY": "default",
            "ONEDNN_MAX_CPU_ISA": "SSE41",
            "MKL_CBWR": "COMPATIBLE",
            "OPENBLAS_CORETYPE": "Nehalem",
        },
        xla="SSE4_2",
    ),
)


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that a run believes to be on."""

    #: ``AVX2, 1 thread``.
    name: str
    variables: dict[str, str]
    #: Appended to XLA_FLAGS; empty: nothing is.
    xla_flag: str
    #: None: not told.
    threads: int | None


def platforms(flags: Collection[str], threads: int | None) -> list[Platform]:
    """Return the machines that this one can emulate; the first is this one as it is.

    Parameters
    ----------
    flags : collection of str
        What the processor can do, as ``/proc/cpuinfo`` says.
    threads : int, optional
        Threads of a run on this machine.

    Examples
    --------
    >>> [platform.name for platform in platforms({"avx", "avx2", "fma", "sse4_2"}, 2)][:4]
    ['AVX2 (this machine), 2 threads', 'AVX, 2 threads', 'AVX2 (this machine), 1 thread', 'SSE4.2, 2 threads']
    """
    levels = [level for level in LEVELS if level.needs <= set(flags)]
    counts = thread_counts(threads)
    # Near ones first: in a few runs both the instructions and the number of threads change.
    places = sorted(
        ((row, column) for row in range(max(1, len(levels))) for column in range(len(counts))),
        key=lambda place: (sum(place), place[1]),
    )
    return [_platform(levels, row, counts[column]) for row, column in places]


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
    older = level if row else None
    name = f"{level.name if level else 'this machine'}{' (this machine)' if level and not row else ''}"
    count = "threads as they are" if threads is None else f"{threads} thread{'' if threads == 1 else 's'}"
    return Platform(
        name=f"{name}, {count}",
        variables=dict(older.variables) if older else {},
        xla_flag=f"--xla_cpu_max_isa={older.xla}" if older else "",
        threads=threads,
    )


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
    flags = f"{environment.get('XLA_FLAGS', '')} {platform.xla_flag}".strip()
    xla = {"XLA_FLAGS": flags} if platform.xla_flag else {}
    return {**platform.variables, **xla, **thread_variables(platform.threads, {})}
