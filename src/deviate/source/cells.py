"""The experiments that ``deviate.toml`` lists, each cell of a grid with its settings in place of ``{key}``."""

from __future__ import annotations

import functools
import itertools
import math
import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from deviate.core.errors import BadConfig, DeviateError
from deviate.core.experiment import AT, Experiment
from deviate.core.factors import parse_variants
from deviate.core.secrets import mask_words
from deviate.source.config import EvaluateEntry, ExperimentEntry, Setting, bad_entry, read_config

#: ``{key}``; ``{{`` and ``}}`` are braces of the command's own.
_PLACE = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")

#: What the name of an experiment on disk may hold of a setting.
_UNSAFE = re.compile(r"[^\w.+~-]+")

#: Most cells of one grid: more is a slip of the finger.
MOST_CELLS = 10_000

#: Variables that Deviate sets for every run itself.
_OWN = re.compile(r"PYTHONPATH|DEVIATE_.*")


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment that the file asks for."""

    #: As it is stored: ``digits@lr=0.1,width=64``, or that of the table where it has no grid.
    name: str
    #: The table, with the settings in place.
    entry: ExperimentEntry
    command: list[str]
    #: By key of the grid.
    settings: dict[str, Setting] = {}

    @property
    def label(self) -> str:
        """What the cell is called within its experiment."""
        return self.name.removeprefix(self.entry.name + AT)

    def is_of(self, experiment: Experiment) -> bool:
        """Tell whether runs of a stored experiment were made with the command that the file says now."""
        return experiment.command == mask_words(self.command)


def read_cells(project: Path, name: str | None = None) -> list[Cell]:
    """Return the cells of all experiments of ``deviate.toml``, in its order; those of one where `name` is given.

    Raises BadConfig if a table is not as it must be; names its line.
    """
    found: list[Cell] = []
    taken: set[str] = set()
    for index, entry in enumerate(read_config(project).experiment):
        refuse = functools.partial(bad_entry, f"experiment[{index}]", project)
        found += _cells(entry, refuse)
        if entry.name in taken:
            raise refuse(f"two experiments are named {entry.name!r}", "give each a name of its own")
        taken.add(entry.name)
    return [cell for cell in found if name in (None, cell.name, cell.entry.name)]


def _cells(entry: ExperimentEntry, refuse: Callable[[str, str], BadConfig]) -> list[Cell]:
    _check(entry, refuse)
    used = {key for text in _texts(entry) for key in _PLACE.findall(text) if key}
    keys = ", ".join(entry.grid) or "none"
    if unknown := sorted(used - set(entry.grid)):
        raise refuse(
            f"{{{unknown[0]}}} stands for no key of the grid",
            f"keys of [experiment.grid]: {keys}; write {{{{{unknown[0]}}}}} where the braces are meant",
        )
    if unused := sorted(set(entry.grid) - used):
        raise refuse(
            f"grid.{unused[0]} is used nowhere: all its cells would be one",
            f"write {{{unused[0]}}} in the command, for example: {entry.command} --{unused[0]} {{{unused[0]}}}",
        )
    combinations = itertools.product(*entry.grid.values())
    cells = [_cell(entry, dict(zip(entry.grid, values, strict=True)), refuse) for values in combinations]
    if twice := _repeated(cell.name for cell in cells):
        raise refuse(f"two cells are named {twice!r}", "list each value once; values differ in letters or digits")
    return cells


def _check(entry: ExperimentEntry, refuse: Callable[[str, str], BadConfig]) -> None:
    if not entry.name or not re.fullmatch(r"[\w.+~-]+", entry.name) or entry.name.startswith((".", "-")):
        raise refuse(
            f"name = {entry.name!r} cannot name an experiment",
            "use letters, digits and . _ + ~ -, and begin with neither . nor -",
        )
    for key, values in entry.grid.items():
        if not values or not key.isidentifier():
            raise refuse(f"grid.{key} = {values!r}", "a key is a word, and lists one value or more: lr = [0.1, 0.01]")
    if (cells := math.prod(map(len, entry.grid.values()))) > MOST_CELLS:
        raise refuse(f"the grid has {cells:,} cells", f"at most {MOST_CELLS:,}; list fewer values")
    if own := next((name for name in entry.environment if _OWN.fullmatch(name)), None):
        raise refuse(f"environment.{own} is set by Deviate for every run", f"export {own} before you start deviate")
    try:
        parse_variants(entry.vary)
    except DeviateError as problem:
        raise refuse(f"vary: {problem.message}", problem.hint) from problem


def _texts(entry: ExperimentEntry) -> list[str]:
    steps = (text for step in entry.evaluate for text in (step.command, *step.environment.values()))
    return [entry.command, entry.python, *entry.environment.values(), *steps]


def _cell(entry: ExperimentEntry, settings: dict[str, Setting], refuse: Callable[[str, str], BadConfig]) -> Cell:
    fill = functools.partial(_filled, settings=settings)
    try:
        words = [fill(word) for word in shlex.split(entry.command)]
    except ValueError as problem:
        raise refuse(f"command = {entry.command!r}: {problem}", "quote it as for a shell") from problem
    if not words:
        raise refuse("command is empty", 'for example: command = "python train.py --lr {lr}"')
    python = fill(entry.python)
    variables = {name: fill(value) for name, value in entry.environment.items()}
    filled = msgspec.structs.replace(
        entry, python=python, environment=variables, evaluate=[_step(step, fill) for step in entry.evaluate]
    )
    at = ",".join(f"{key}={_safe(value)}" for key, value in settings.items())
    prefix = ["env", *(f"{key}={value}" for key, value in variables.items())] if variables else []
    name = f"{entry.name}{AT}{at}" if at else entry.name
    return Cell(name=name, entry=filled, command=[*prefix, python or words[0], *words[1:]], settings=settings)


def _step(step: EvaluateEntry, fill: Callable[[str], str]) -> EvaluateEntry:
    variables = {name: fill(value) for name, value in step.environment.items()}
    return msgspec.structs.replace(step, command=fill(step.command), environment=variables)


def _filled(text: str, settings: dict[str, Setting]) -> str:
    """Return a text with the settings in place.

    >>> _filled("--lr={lr} --json={{a}}", {"lr": 0.1})
    '--lr=0.1 --json={a}'
    """
    return _PLACE.sub(lambda place: str(settings[place[1]]) if place[1] else place[0][0], text)


def _safe(value: Setting) -> str:
    return _UNSAFE.sub("-", str(value)).strip("-.") or "-"


def _repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
