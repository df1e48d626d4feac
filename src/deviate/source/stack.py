"""Run a function with room for deep recursion, whatever the caller's own depth is."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

#: Data flow through many functions nests deeply; each level takes a handful of Python frames.
STACK_BYTES = 512 * 1024 * 1024
RECURSION_LIMIT = 30_000


def has_deep_stack() -> bool:
    """Tell whether there is room for deep recursion."""
    return sys.getrecursionlimit() >= RECURSION_LIMIT


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


def deeply(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Make a function of one that changes nothing, which starts anew on a large stack where the usual one is too small.

    Source may nest as deeply as Python parses it: some 3,000 operands of one sum, branches of one ``if``.
    """

    @functools.wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            return with_deep_stack(lambda: function(*args, **kwargs))

    return call
