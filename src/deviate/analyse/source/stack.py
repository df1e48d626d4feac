"""Run a function with room for deep recursion, whatever the caller's own depth is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

#: Data flow through many functions nests deeply; each level takes a handful of Python frames.
STACK_BYTES = 512 * 1024 * 1024
RECURSION_LIMIT = 30_000


def with_deep_stack(function: Callable[[], Result]) -> Result:
    """Call a function in a thread of its own with a large stack; its result or exception is passed on."""
    results: list[Result] = []
    problems: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as problem:  # noqa: BLE001 - raised again in the caller's thread
            problems.append(problem)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        thread = threading.Thread(target=work, name="deviate-analyse")
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if problems:
        raise problems[0]
    return results[0]
