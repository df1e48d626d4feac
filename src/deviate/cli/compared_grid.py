"""``deviate compare`` with the name of an experiment that has a grid, or without any name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.errors import BadOption

if TYPE_CHECKING:
    from deviate.inference.grid.facts import Grid
    from deviate.report.views import View

#: Options of ``deviate compare`` that say how two sides are compared.
FOR_TWO = ("matches", "margins", "pairing", "until", "most", "groups", "correction", "seed")


def names_grid(names: Sequence[str]) -> bool:
    """Tell whether cells of a grid are meant; a stored experiment of that name goes first."""
    from deviate.inference.grid.read import names_grid as named
    from deviate.replicate.workspace.folders import Workspace

    return named(Workspace.nearest(Path.cwd()).project, names)


def grid_of(names: Sequence[str], asked: Mapping[str, Any]) -> View[Grid]:
    """Compare the cells.

    Raises
    ------
    BadOption
        If an option was typed that two sides are compared by.
    """
    from deviate import api

    _refuse_for_two()
    taken = {name: value for name, value in asked.items() if name not in FOR_TWO}
    return api.compare_grid(names[0] if names else None, **taken)


def _refuse_for_two() -> None:
    context = click.get_current_context()
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name in FOR_TWO and source == click.core.ParameterSource.COMMANDLINE:
            raise BadOption(
                f"{option.opts[-1]} is for two experiments, and these are the cells of a grid",
                hint="leave it out, or name two cells: deviate compare CELL CELL",
            )
