"""What a shell completes: names of experiments, and what may vary."""

from __future__ import annotations

from pathlib import Path

import click

from deviate.factors import GROUPS, VARIANTS


def experiment_names(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the experiments of this project whose names begin with `typed`."""
    from deviate.replicate.workspace.folders import Workspace

    return [name for name in Workspace.nearest(Path.cwd()).names() if name.startswith(typed)]


def experiments_and_grids(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the experiments, and the grids that have cells, whose names begin with `typed`."""
    from deviate.project.cells import AT

    names = experiment_names(context, parameter, typed)
    grids = {grid for grid, at, _ in (name.partition(AT) for name in names) if at}
    return [*(grid for grid in sorted(grids - set(names)) if grid.startswith(typed)), *names]


def experiment_sides(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the experiments, or behind a colon the variants of the experiment before it."""
    name, colon, variant = typed.partition(":")
    if not colon:
        return experiment_names(context, parameter, typed)
    from deviate.errors import DeviateError
    from deviate.replicate.workspace.folders import Workspace

    workspace = Workspace.nearest(Path.cwd())
    try:
        planned = workspace.find_experiment(name).read_experiment().planned
    except DeviateError:
        # There is no such experiment, or it is damaged: a shell has no place to say so.
        return []
    return [f"{name}:{each}" for each in planned if each.startswith(variant)]


def variants(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return what ``--vary`` takes and that completes `typed`; behind a comma, the next factor."""
    done, comma, last = typed.rpartition(",")
    words = [*VARIANTS, *GROUPS]
    return [f"{done}{comma}{word}" for word in words if word.startswith(last)]
