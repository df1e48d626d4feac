"""The executors there are, by the word users type; each is imported when it is used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from deviate.core.errors import BadOption

if TYPE_CHECKING:
    from deviate.runs.executors.executor import Executor
    from deviate.runs.hardware import Gpus

#: Those that start commands on this machine. Module and class; made with the number of runs side by side.
EXECUTORS = {
    "local": ("deviate.runs.executors.local", "LocalExecutor"),
}

DEFAULT_EXECUTOR = "local"

#: Those that start workers elsewhere, see `deviate.runs.engines`.
ENGINES = ("slurm", "ray", "workers")

#: Of these, the one whose commands are printed, and never started or followed from here.
EXPORTED = "workers"

WORDS = (*EXECUTORS, *ENGINES)


def check_executor(name: str) -> None:
    """Refuse a name that no executor has.

    Raises
    ------
    BadOption
        With the names there are.
    """
    if name not in WORDS:
        raise BadOption(f"no executor is named {name!r}", hint=f"type one of: {', '.join(WORDS)}")


def make_executor(name: str, jobs: int, gpus: Gpus | None = None) -> Executor:
    """Return the executor of a name, for `jobs` runs side by side that share `gpus`; None: those that are visible."""
    module, kind = EXECUTORS[name]
    executor: Executor = getattr(importlib.import_module(module), kind)(jobs, gpus=gpus)
    return executor
