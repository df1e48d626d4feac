"""Small pieces of English that sentences share.

Commands as reports name them: without the folder of a program, which may name a user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from deviate.core.experiment import Run, Status
from deviate.core.factors import plain_name
from deviate.core.shell_words import typed_line

if TYPE_CHECKING:
    from deviate.facts.experiment import ExperimentFacts
    from deviate.facts.run import RunResult
    from deviate.observe.events import ReplacedSeed


#: How a run ended, as the verb of a sentence.
ENDED: dict[Status, str] = {
    "completed": "completed",
    "failed": "failed",
    "timed-out": "timed out",
    "cancelled": "was cancelled",
    "not-instrumented": "was not instrumented",
}

#: Names listed in full; of longer lists the first are named and the rest are counted.
NAMES_LISTED = 5


def ended_as(status: Status, runs: int = 1) -> str:
    """Say how one run or several ended.

    >>> ended_as("timed-out"), ended_as("cancelled", 2)
    ('timed out', 'were cancelled')
    """
    return ENDED[status] if runs == 1 else ENDED[status].replace("was ", "were ")


def count(number: int, noun: str) -> str:
    """Return the number with its noun.

    >>> count(1, "run"), count(8, "run")
    ('1 run', '8 runs')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def all_runs(number: int) -> str:
    """Return that every one of two or more runs is meant.

    >>> all_runs(2), all_runs(8)
    ('both runs', 'all 8 runs')
    """
    return "both runs" if number == 2 else f"all {number} runs"


def compared_runs(n: int, m: int, *, paired: bool) -> str:
    """Return how many runs of two sides are compared.

    >>> compared_runs(8, 8, paired=True), compared_runs(8, 8, paired=False), compared_runs(8, 5, paired=False)
    ('8 pairs', '8 runs of each', '8 against 5 runs')
    """
    if paired:
        return count(n, "pair")
    return f"{count(n, 'run')} of each" if n == m else f"{n} against {count(m, 'run')}"


def ordinal(number: int) -> str:
    """Return a place in an order.

    >>> [ordinal(number) for number in (1, 2, 3, 11, 22)]
    ['1st', '2nd', '3rd', '11th', '22nd']
    """
    last = 0 if 10 < number % 100 < 20 else number % 10
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def seed_text(seed: ReplacedSeed) -> str:
    """Name the place where a program seeds itself.

    >>> from deviate.observe.events import ReplacedSeed
    >>> seed_text(ReplacedSeed(call="torch.manual_seed", file="train.py", line=12, given="0"))
    'torch.manual_seed(0) at train.py:12'
    """
    where = f"{seed.file}:{seed.line}" if seed.line else seed.file
    return f"{seed.call}({seed.given}) at {where}{' (in a library)' if seed.library else ''}"


def run_name(run: Run, *, alone: bool) -> str:
    """Name a run by its number, and by what varies in it unless its variant stands `alone`.

    >>> run_name(Run(variant="algo+impl", index=3), alone=True), run_name(Run(variant="init", index=3), alone=False)
    ('run 3', 'initialisation, run 3')
    """
    return f"run {run.index}" if alone else f"{plain_name(run.variant)}, run {run.index}"


def disturbed(run: RunResult) -> str:
    """Say what was done to a run beside its seeds; empty: nothing."""
    if run.platform:
        return f"as on {run.platform}"
    if run.bit is None:
        return ""
    tensor = f"tensor {run.bit.tensor}" if run.bit.tensor.isdecimal() else run.bit.tensor
    return f"with {tensor}[{run.bit.index.strip('[]()')}] {run.bit.after} for {run.bit.before}"


def drawn_factors(factors: Iterable[str]) -> str:
    """Name what is drawn as people read it.

    >>> drawn_factors(["init", "shuffle"])
    'initialisation and data order'
    """
    return listed([plain_name(factor) for factor in factors])


def joined(names: Sequence[str]) -> str:
    """Join all names, however many they are.

    >>> joined(list("abcdef"))
    'a, b, c, d, e and f'
    """
    return listed(names, max(len(names), 1))


def code(text: str) -> str:
    """Mark what one types; writers that can show it in another type do, see `escape.code_pieces`.

    >>> code("python train.py"), code("echo `date`")
    ('`python train.py`', 'echo `date`')
    """
    return text if "`" in text or not text.strip() else f"`{text}`"


def listed(names: Sequence[str], most: int = NAMES_LISTED) -> str:
    """Join names, counting those beyond the first `most`.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdefgh"))
    ('a', 'a, b and c', 'a, b, c, d, e and 3 more')
    """
    parts = list(names) if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def capital(text: str) -> str:
    """Return a text as a sentence begins.

    >>> capital("data order"), capital("")
    ('Data order', '')
    """
    return text[:1].upper() + text[1:]


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
    from deviate.facts.side import run_command

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
