"""The executors there are, by the word users type; each is imported when it is used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from deviate.errors import BadOption

if TYPE_CHECKING:
    from deviate.replicate.executors.executor import Executor

#: Module and class; made with the number of runs side by side.
EXECUTORS = {
    "local": ("deviate.replicate.executors.local", "LocalExecutor"),
}

DEFAULT_EXECUTOR = "local"


def check_executor(name: str) -> None:
    """Refuse a name that no executor has.

    Raises
    ------
    BadOption
        With the names there are.
    """
    if name not in EXECUTORS:
        raise BadOption(f"no executor is named {name!r}", hint=f"executors: {', '.join(EXECUTORS)}")


def make_executor(name: str, jobs: int) -> Executor:
    """Return the executor of a name, for `jobs` runs side by side."""
    module, kind = EXECUTORS[name]
    executor: Executor = getattr(importlib.import_module(module), kind)(jobs)
    return executor
