"""Commands as reports name them: without the folder of a program, which may name a user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from deviate.core.shell_words import typed_line

if TYPE_CHECKING:
    from deviate.facts.experiment import ExperimentFacts

#: Folders of an environment that hold its programs.
_PROGRAMS = ("bin", "Scripts")


def command_text(command: Sequence[str]) -> str:
    """Return a command as it is typed where its environment is active.

    >>> command_text(["/home/ann/venv/bin/python", "train.py", "--data", "/data"])
    'python train.py --data /data'
    >>> command_text(["../.venv/bin/python", "train.py"]), command_text(["./train.sh"])
    ('python train.py', './train.sh')
    """
    return typed_line(_named(command))


def reproduce_text(facts: ExperimentFacts) -> str:
    """Return what to type to make the experiment again, with programs as `command_text` names them."""
    from deviate.facts.reproduce import run_command

    experiment = facts.definition
    if experiment.imported:
        return facts.reproduce.command
    steps = [msgspec.structs.replace(each, command=_named(each.command)) for each in experiment.steps]
    named = msgspec.structs.replace(experiment, command=_named(experiment.command), steps=steps)
    return run_command(named, "--name", experiment.name)


def _named(command: Sequence[str]) -> list[str]:
    if not command:
        return []
    path = PurePath(command[0])
    in_environment = len(path.parts) > 2 and path.parts[-2] in _PROGRAMS
    return [path.name if path.is_absolute() or in_environment else command[0], *command[1:]]
