"""``deviate compare``: whether one experiment, or a cell of a grid, is better than another, or noisier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.options import (
    check_figures,
    experiment_sides,
    figure_options,
    groups_option,
    named_values,
    sample_arguments,
    sample_options,
    write_figure_files,
)
from deviate.cli.output import format_named, json_option, output_options, show, verbose_option
from deviate.cli.printing import examples
from deviate.core.errors import BadOption

if TYPE_CHECKING:
    from deviate.facts.grid import Grid
    from deviate.report.views import View


@click.command(
    "compare",
    epilog=examples(
        "deviate compare base wider",
        "deviate compare base wider --metric 'val acc' -o comparison.html",
        "deviate compare digits -o grid.html     the cells of a grid in deviate.toml",
    ),
)
@click.argument("names", nargs=-1, metavar="A B...", shell_complete=experiment_sides)
@click.option("--metric", "metrics", multiple=True, help="Compare this metric of A only; repeatable.")
@click.option(
    "--match",
    "matches",
    multiple=True,
    metavar="A=B",
    help="Compare metric A of the first experiment with metric B of the others.",
)
@click.option("--alpha", type=float, help="Probability of a false alarm.  [default: 0.05]")
@click.option("--level", type=float, help="Confidence level of the intervals; sets alpha to 1 - level.")
@click.option(
    "--correction",
    default="holm",
    show_default=True,
    help="Correction for several tests (metrics and pairs): holm, bonferroni, bh or none.",
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
@click.option("--max", "most", type=int, help="With --until: most runs of each experiment.  [default: 30]")
@click.option("--seed", default=0, show_default=True, help="Seed of permutations and resamples.")
@sample_options
@groups_option("Report also how many answers change on groups of the evaluated examples")
@output_options(
    "terminal, md, tex, neurips, icml or jmlr (tex in a style), json, html (a page with figures) or csv (one row per "
    "metric)."
)
@json_option
@verbose_option
@figure_options
def command(
    names: tuple[str, ...],
    format_name: str | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
    seed: int,
    figures: Path | None,
    figure_format: str | None,
    **options: Any,
) -> int:
    """Test whether one experiment is better or noisier than another.

    A and B are each EXPERIMENT or EXPERIMENT:VARIANT. With more than two, all pairs are compared and the experiments
    are ranked. If you compare again after more runs, the earlier looks are accounted for.

    One name of an [[experiment]] in deviate.toml stands for the cells of its grid, and no name for all cells of the
    file: which is best, and an analysis of variance over the factors of the grid.
    """
    from deviate import api
    from deviate.report.writers.contracts import comparison_json, grid_json
    from deviate.report.writers.registry import find_writer, writers
    from deviate.report.writers.tables_csv import comparison_csv, grid_csv

    offered = writers(json=comparison_json, csv=comparison_csv)
    if of_grid := names_grid(names):
        offered = writers(json=grid_json, csv=grid_csv)
    writer = find_writer(format_named(format_name, as_json=as_json), output, offered)
    check_figures(figures, figure_format)
    asked = _options(options)
    view: View[Any] = grid_of(names, asked) if of_grid else api.compare(*names, seed=seed, **asked)
    open_pairs = not of_grid and bool(view.facts.open_pairs)
    if figures is not None:
        write_figure_files(view.drawn(), figures, figure_format)
        if format_name is None and output is None and not as_json:
            return int(open_pairs)
    show(view, writer, output, view.command, "grid" if of_grid else "comparison", verbose=verbose)
    return int(open_pairs)


def _options(options: dict[str, Any]) -> dict[str, Any]:
    return {
        "alpha": _alpha(options["alpha"], options["level"]),
        "correction": options["correction"].strip().lower(),
        "pairing": options["pairing"],
        "until": options["until"],
        "most": options["most"],
        "groups": options["groups"],
        "metrics": list(options["metrics"]),
        "matches": named_values("--match", options["matches"], str, "'test acc=val_acc'"),
        "margins": named_values("--margin", options["margins"], _number, "'test acc=0.5'"),
        **sample_arguments(options),
    }


def _alpha(alpha: float | None, level: float | None) -> float:
    if level is not None and not 0 < level < 1:
        raise BadOption(f"--level must be between 0 and 1, found {level:g}", hint="type --level 0.95")
    if alpha is not None and not 0 < alpha < 1:
        raise BadOption(f"--alpha must be between 0 and 1, found {alpha:g}", hint="type --alpha 0.05")
    if alpha is not None and level is not None and abs(1 - level - alpha) > 1e-9:
        raise BadOption(
            f"--alpha {alpha:g} and --level {level:g} do not belong together", hint="give one: level is 1 - alpha"
        )
    if alpha is not None:
        return alpha
    # 1 - 0.95 is not 0.05 in binary.
    return 0.05 if level is None else round(1 - level, 12)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as problem:
        raise BadOption(f"{text!r} is no number", hint="type for example --margin 'test acc=0.5'") from problem


# ``deviate compare`` with the name of an experiment that has a grid, or without any name.

#: Options of ``deviate compare`` that say how two sides are compared.
FOR_TWO = ("matches", "margins", "pairing", "until", "most", "groups", "correction", "seed")


def names_grid(names: Sequence[str]) -> bool:
    """Tell whether cells of a grid are meant; a stored experiment of that name goes first."""
    from deviate.facts.grid import names_grid as named
    from deviate.store.folders import Workspace

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
