"""``deviate compare``: whether one experiment, or a cell of a grid, is better than another, or noisier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.options import (
    SAMPLES,
    chosen_figures,
    experiment_sides,
    metric_option,
    named_values,
    number,
    read_statistics,
    statistics_keys,
    statistics_option,
    write_figure_files,
)
from deviate.cli.printing import examples, format_named, json_option, output_options, show, verbose_option
from deviate.core.errors import BadOption

if TYPE_CHECKING:
    from deviate.facts.grid import Grid
    from deviate.report.views import View


#: What ``--set`` takes.
KEYS = (*SAMPLES, "match", "alpha", "correction", "groups", "tasks", "max", "seed", "figures", "figure_format")


@click.command(
    "compare",
    epilog=statistics_keys(KEYS)
    + examples(
        "deviate compare base wider",
        "deviate compare base wider --metric 'val acc' -o comparison.html",
        "deviate compare digits -o grid.html     the cells of a grid in deviate.toml",
    ),
)
@click.argument("names", nargs=-1, metavar="A B...", shell_complete=experiment_sides)
@metric_option("metrics", multiple=True, help="Compare this metric of A only; repeatable.")
@click.option(
    "--level",
    "levels",
    type=float,
    multiple=True,
    help="Confidence level of the intervals, which is 1 - alpha; repeatable, 0.95 or else the largest decides.  "
    "[default: 0.95]",
)
@click.option(
    "--margin",
    "margins",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Smallest difference that matters. Smaller differences can be shown to be equivalent.",
)
@click.option(
    "--pairing",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="Compare runs with the same index as pairs. auto: if fingerprints prove that they share random numbers.",
)
@click.option(
    "--until",
    metavar="decided",
    help="Compare again after each batch of runs until a difference is shown; all looks share alpha. Use it from the "
    "first look on. The exit status is 1 while runs are missing.",
)
@statistics_option
@output_options(
    "terminal, md, tex, neurips, icml or jmlr (tex in a style), json, html (a page with figures) or csv (one row per "
    "metric); mlflow, trackio or wandb put the verdict there."
)
@json_option
@verbose_option
def command(
    names: tuple[str, ...],
    format_name: str | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
    settings: tuple[str, ...],
    **options: Any,
) -> int:
    """Test whether one experiment is better or noisier than another.

    A and B are each EXPERIMENT or EXPERIMENT:VARIANT; A is what there was, B what is new, and differences are B - A.
    With more than two, all pairs are compared and the experiments are ranked. If you compare again after more runs, the
    earlier looks are accounted for.

    One name of an [[experiment]] in deviate.toml stands for the cells of its grid, and no name for all cells of the
    file: which is best, and an analysis of variance over the factors of the grid.
    """
    from deviate import api
    from deviate.report.writers.registry import find_writer, imported, put_into, writers
    from deviate.store.folders import Workspace

    of_grid = names_grid(names)
    kind, trackers = ("grid", {}) if of_grid else ("comparison", put_into())
    offered = writers(json=imported(f"contracts.{kind}_json"), csv=imported(f"tables_csv.{kind}_csv"), **trackers)
    writer = find_writer(format_named(format_name, as_json=as_json), output, offered)
    typed = read_statistics(settings, KEYS)
    figures, figure_format = chosen_figures(typed, Workspace.nearest(Path.cwd()).project)
    asked = {**_options(options), **typed, **_alpha(typed.get("alpha"), options["levels"])}
    view: View[Any] = grid_of(names, asked) if of_grid else api.compare(*names, **asked)
    open_pairs = not of_grid and bool(view.facts.open_pairs)
    if figures is not None:
        write_figure_files(view.drawn(), figures, figure_format)
        if format_name is None and output is None and not as_json:
            return int(open_pairs)
    show(view, writer, output, view.command, kind, verbose=verbose)
    return int(open_pairs)


def _options(options: dict[str, Any]) -> dict[str, Any]:
    example = "'test acc=0.5'"
    given = {
        "pairing": None if options["pairing"] == "auto" else options["pairing"],
        "until": options["until"],
        "metrics": list(options["metrics"]),
        "margins": named_values("--margin", options["margins"], number("--margin", example), example),
    }
    return {name: value for name, value in given.items() if value}


def _alpha(alpha: float | None, levels: Sequence[float]) -> dict[str, Any]:
    """Return the alpha of the level that decides, and all of several levels."""
    if not levels:
        return {}
    if any(not 0 < level < 1 for level in levels):
        raise BadOption("--level must be between 0 and 1", hint="type --level 0.95")
    # 1 - 0.95 is not 0.05 in binary.
    alphas = [round(1 - level, 12) for level in levels]
    if alpha is not None and not any(abs(each - alpha) < 1e-9 for each in alphas):
        raise BadOption(
            f"--set alpha={alpha:g} and --level {levels[0]:g} do not belong together",
            hint="give one: level is 1 - alpha",
        )
    chosen = alpha if alpha is not None else DEFAULT_ALPHA if DEFAULT_ALPHA in alphas else min(alphas)
    return {"alpha": chosen, **({"levels": tuple(levels)} if len(levels) > 1 else {})}


#: What --level is where it decides and is not said.
DEFAULT_ALPHA = 0.05

# ``deviate compare`` with the name of an experiment that has a grid, or without any name.

#: What says how two sides are compared, and how it is typed.
FOR_TWO = {
    "matches": "--set match",
    "margins": "--margin",
    "pairing": "--pairing",
    "until": "--until",
    "most": "--set max",
    "groups": "--set groups",
    "tasks": "--set tasks",
    "correction": "--set correction",
    "seed": "--set seed",
    "levels": "--level more than once",
}


def names_grid(names: Sequence[str]) -> bool:
    """Tell whether cells of a grid are meant; a stored experiment of that name goes first."""
    from deviate.facts.grid import names_grid as named
    from deviate.store.folders import Workspace

    return named(Workspace.nearest(Path.cwd()).project, names)


def grid_of(names: Sequence[str], asked: Mapping[str, Any]) -> View[Grid]:
    """Compare the cells.

    Raises BadOption if an option was typed that two sides are compared by.
    """
    from deviate import api

    for name in asked:
        if name in FOR_TWO:
            raise BadOption(
                f"{FOR_TWO[name]} is for two experiments, and these are the cells of a grid",
                hint="leave it out, or name two cells: deviate compare CELL CELL",
            )
    return api.compare_grid(names[0] if names else None, **asked)
