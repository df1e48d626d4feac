"""The stored experiments that a word means: one of that name, or cells of a grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from deviate.errors import BadOption, NameTaken
from deviate.project.cells import AT
from deviate.replicate.workspace.folders import ExperimentFolder, Workspace
from deviate.replicate.workspace.lock import locked
from deviate.study.housekeeping import require_idle

#: Behind the name of a grid: all its cells.
ALL = f"{AT}*"


def find_named(workspace: Workspace, words: Iterable[str]) -> list[ExperimentFolder]:
    """Return the experiments that `words` mean, each once.

    A word is the name of an experiment first. Else ``GRID`` and ``GRID@*`` mean all stored cells of a grid, also those
    that ``deviate.toml`` lists no more, and ``GRID@lr=0.1,*`` those that fit.

    Raises
    ------
    UnknownExperiment
        If a word means none.
    """
    names = dict.fromkeys(name for word in words for name in _meant(workspace, word))
    return [workspace.find_experiment(name) for name in names]


def _meant(workspace: Workspace, word: str) -> list[str]:
    names = workspace.names()
    return [word] if word in names else cells_of(word, names) or [word]


def cells_of(word: str, names: Iterable[str]) -> list[str]:
    """Return the cells that a word means as the name of a grid or as a pattern.

    Examples
    --------
    >>> names = ["base", "digits@lr=0.1,w=8", "digits@lr=1,w=8"]
    >>> cells_of("digits", names) == cells_of("digits@*", names) == names[1:]
    True
    >>> cells_of("digits@lr=0.1,*", names)
    ['digits@lr=0.1,w=8']
    >>> cells_of("*", names)
    []
    """
    grid, _, pattern = word.partition(AT)
    cells = (name.partition(AT) for name in names if name.startswith(grid + AT))
    return ["".join(cell) for cell in cells if grid and fnmatchcase(cell[2], pattern or "*")]


def grid_of(word: str, folders: Sequence[ExperimentFolder]) -> str:
    """Return the grid whose cells a word means; empty where it is the name of an experiment."""
    return "" if [folder.name for folder in folders] == [word] else word.partition(AT)[0]


def new_names(workspace: Workspace, word: str, folders: Sequence[ExperimentFolder], new: str) -> dict[str, str]:
    """Return the new name of each experiment that `word` means; cells of a grid keep their settings.

    Raises
    ------
    BadOption
        If the new name cannot be that of a grid.
    NameTaken
        If there is an experiment of one of these names.
    """
    if not grid_of(word, folders):
        return {word: new}
    grid = new.removesuffix(ALL)
    if AT in grid:
        raise BadOption(
            f"{new!r} cannot name a grid", hint=f"type a name without {AT!r}: the cells keep their settings"
        )
    names = {folder.name: grid + AT + folder.name.partition(AT)[2] for folder in folders}
    if taken := [name for name in (grid, *names.values()) if name in workspace.names()]:
        raise NameTaken(f"an experiment is named {taken[0]!r} already", hint=f"type another name than {grid}")
    return names


def require_free(folders: Iterable[ExperimentFolder], command: str) -> None:
    """Make sure that nobody works on experiments, before the first of them is touched.

    Raises
    ------
    WorkspaceBusy, RunElsewhere
        If runs of one are being made, here or elsewhere.
    """
    for folder in folders:
        with locked(folder, ["deviate", command, folder.name]):
            require_idle(folder)
