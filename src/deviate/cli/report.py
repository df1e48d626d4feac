"""``deviate report``: all that is known about an experiment, in any format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from deviate.cli.options import (
    SAMPLES,
    chosen_figures,
    experiment_names,
    metric_option,
    named_values,
    number,
    only_experiment,
    read_statistics,
    statistics_keys,
    statistics_option,
    write_figure_files,
)
from deviate.cli.printing import examples, format_named, json_option, output_options, show, verbose_option
from deviate.core.errors import BadOption
from deviate.core.shell_words import typed_word

if TYPE_CHECKING:
    from deviate.observe.tables import RecordPart
    from deviate.report.writers.registry import Writer
    from deviate.store.folders import ExperimentFolder


#: For errors: how a difference is typed.
DIFFERENCE = "'test acc=0.5'"

#: What ``--set`` takes.
KEYS = (*SAMPLES, "groups", "positive", "inputs", "curves", "figures", "figure_format")


@click.command(
    "report",
    epilog=statistics_keys(KEYS)
    + examples(
        "deviate report base",
        "deviate report base -o report.html",
        "deviate report base --metric 'test acc' --format tex",
        "deviate report base --set 'aggregate=test acc=best'",
    ),
)
@click.argument("name", required=False, shell_complete=experiment_names)
@output_options(
    "terminal, md, tex, neurips, icml or jmlr (tex in a style), json, html (a page with figures), csv (every record), "
    "summary (one row per metric), groups (one row per group and rate) or weights (one row per layer and kept moment); "
    "mlflow, trackio or wandb put mean and SD there."
)
@metric_option("metrics", multiple=True, help="Show this metric only, in tables and figures; repeatable.")
@click.option("--sort", type=click.Choice(["cv"]), help="List the metrics by CV, the largest first.")
@click.option("--level", default=0.95, show_default=True, help="Confidence level of the intervals.")
@click.option(
    "--difference",
    "differences",
    multiple=True,
    metavar="METRIC=NUMBER",
    help="A difference between two recipes that you or a paper would claim: tells how large the SD is beside it, and "
    "how often one run of each would rank them wrongly; repeatable.",
)
@statistics_option
@json_option
@verbose_option
def command(
    name: str | None,
    format_name: str | None,
    output: Path | None,
    metrics: tuple[str, ...],
    sort: str | None,
    level: float,
    differences: tuple[str, ...],
    settings: tuple[str, ...],
    as_json: bool,
    verbose: bool,
) -> None:
    """Report how much the runs of an experiment differ.

    NAME may be left out where there is one experiment.
    """
    from deviate import api
    from deviate.cli.standing import following
    from deviate.facts.experiment import experiment_facts
    from deviate.facts.groups import read_group_options
    from deviate.facts.metric import by_cv
    from deviate.facts.samples import read_options
    from deviate.facts.stored import read_results
    from deviate.observe.metrics import remember_directions
    from deviate.report.views import experiment_view
    from deviate.report.writers.registry import find_writer
    from deviate.store.folders import Workspace

    if not 0 < level < 1:
        raise BadOption(f"--level must be between 0 and 1, found {level:g}", hint="type --level 0.95")
    format_name = format_named(format_name, as_json=as_json)
    writer = find_writer(format_name, output, experiment_writers(()))
    typed = read_statistics(settings, KEYS)
    groups, curves = typed.pop("groups", ()), typed.pop("curves", False)
    positive, inputs = typed.pop("positive", ""), typed.pop("inputs", "")
    if curves and (writer.name != "terminal" or output is not None):
        raise BadOption("--set curves is for the terminal", hint="leave it out; --format html draws every curve")
    if writer.name == "groups" and not groups:
        raise BadOption("--format groups is for groups of examples", hint="give --set groups=FILE as well")
    figures, figure_format = chosen_figures(typed, Workspace.nearest(Path.cwd()).project)
    sizes = named_values("--difference", differences, number("--difference", DIFFERENCE), DIFFERENCE)
    name = name or only_experiment("report")
    folder = api.load(name).folder
    results = read_results(
        folder,
        read_options(**typed, differences=sizes),
        curves=curves or figures is not None or writer.reader == "paper" or writer.name == "html",
        weights=True,
        groups=read_group_options(groups, positive),
        inputs=inputs,
    )
    facts = experiment_facts(results, datetime.now().astimezone(), level=level, metrics=metrics)
    if sort:
        variants = [replace(each, metrics=by_cv(each.metrics)) for each in facts.variants]
        facts = replace(facts, variants=variants)
    remember_directions(Workspace(folder.project), results.options.directions)
    view = experiment_view(facts, results.recorded, curve_lines=curves)
    if figures is not None:
        write_figure_files(view.drawn(), figures, figure_format)
        if format_name is None and output is None and not curves:
            return
    writer = experiment_writers(_record_parts(folder))[writer.name]
    again = f"deviate report {typed_word(name)}"
    show(view, writer, output, again, verbose=verbose, following=partial(following, folder))


def _record_parts(folder: ExperimentFolder) -> Iterator[RecordPart]:
    from deviate.observe.tables import open_tables

    with open_tables(folder) as tables:
        yield from tables.parts()


def experiment_writers(parts: Iterable[RecordPart]) -> dict[str, Writer]:
    """Return what a report can be written in; `parts` are tables of the records that ``csv`` writes."""
    from deviate.report.writers.registry import imported, put_into, writers

    return writers(
        json=imported("contracts.experiment_json"),
        csv=imported("tables_csv.records_csv", parts),
        summary=imported("tables_csv.summary_csv"),
        groups=imported("tables_csv.groups_csv"),
        weights=imported("tables_csv.weights_csv"),
        **put_into(),
    )
