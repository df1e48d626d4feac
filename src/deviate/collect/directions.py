"""Which values of a metric are better, as the user says: in ``deviate.toml``, or typed in a command before.

One list for all experiments of a project, which whatever reads results asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from deviate.experiment import SCHEMA, Direction
from deviate.project.config import read_config
from deviate.replicate.workspace.files import read_json, write_json
from deviate.replicate.workspace.folders import Workspace

#: By metric.
Directions = Mapping[str, Direction]


class TypedDirections(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--direction`` said."""

    schema: int = SCHEMA
    directions: dict[str, Direction] = {}


def listed_directions(project: Path) -> dict[str, Direction]:
    """Return what the user says of metrics, by name: what is written in ``deviate.toml`` before what was typed.

    Raises
    ------
    BadConfig
        If ``deviate.toml`` cannot be read.
    """
    config = read_config(project)
    entries = [
        *((metric.name, metric.direction) for metric in config.metric or []),
        *((wish.rename or wish.name, wish.direction) for wish in config.observed),
    ]
    written = {**{name: direction for name, direction in entries if direction}, **config.direction}
    own = {name.casefold() for name in written}
    typed = _typed(Workspace(project)).directions
    return {**{name: direction for name, direction in typed.items() if name.casefold() not in own}, **written}


def remember_directions(workspace: Workspace, directions: Directions) -> None:
    """Add what was typed to the list; where the workspace cannot be written, it holds for this command alone."""
    known = _typed(workspace).directions
    if all(known.get(name) == direction for name, direction in directions.items()):
        return
    with suppress(OSError):
        write_json(workspace.directions_file, TypedDirections(directions={**known, **directions}))


def directions_of(names: Iterable[str], said: Directions) -> dict[str, Direction]:
    """Return what is said of each of the names; upper and lower case are one where a name is not there as it is.

    Examples
    --------
    >>> directions_of(["Score", "loss"], {"score": "higher"})
    {'Score': 'higher'}
    """
    folded = {name.casefold(): direction for name, direction in said.items()}
    found = ((name, said.get(name) or folded.get(name.casefold())) for name in names)
    return {name: direction for name, direction in found if direction}


def _typed(workspace: Workspace) -> TypedDirections:
    path = workspace.directions_file
    return read_json(path, TypedDirections) if path.is_file() else TypedDirections()
