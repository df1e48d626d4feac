"""What Deviate knows of one framework outside of the training process; inside, the injected runtime has its own."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """One framework or numerical library. What it does not need stays empty."""

    name: str
    #: Names under which its packages are imported.
    packages: tuple[str, ...] = ()
    #: Environment variables that hold its implementation fixed. All are read when the library is loaded or its first
    #: kernel runs: a switch in the program is too late.
    switches: Mapping[str, str] = {}
    #: Values of the user that are as good, by variable; None: any.
    as_good: Mapping[str, frozenset[str] | None] = {}
    #: Flags to the same end, by the variable that they are appended to.
    flags: Mapping[str, str] = {}
    #: How names of variables begin that change what it computes.
    variables: tuple[str, ...] = ()
    #: Variables that set its number of threads.
    threads: tuple[str, ...] = ()
    #: Variables (``XLA_FLAGS`` is appended to) with the values that limit it to the vector instructions AVX2,
    #: AVX and SSE4.2, in this order.
    instructions: Mapping[str, tuple[str, str, str]] = {}
    #: Patterns of what it prints about an operation without a deterministic form; the group is the operation.
    warnings: tuple[str, ...] = ()
    #: True: it takes every GPU it finds, and the runtime does not learn of it.
    takes_gpus: bool = False
    #: Patterns of decorators whose compilers read the function's source or bytecode.
    compilers: tuple[str, ...] = ()
    #: Patterns of decorators that run the function to see what it does.
    tracers: tuple[str, ...] = ()
    #: Suffixes of files that hold weights and little else.
    weights: tuple[str, ...] = ()
