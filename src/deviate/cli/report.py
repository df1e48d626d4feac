"""``deviate report``: all that is said about an experiment, in any format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.figures import check_figures, figure_options, write_figure_files
from deviate.cli.files import write_output
from deviate.errors import BadOption

if TYPE_CHECKING:
    from deviate.replicate.workspace import ExperimentFolder
    from deviate.report.asked import Asked
    from deviate.report.curves import Curves
    from deviate.report.parts import Document


@click.command("report")
@click.argument("name")
@click.option(
    "--format",
    "format_name",
    help="terminal, md, tex, json, html (a page with figures), csv (every record) or summary (one row a metric).",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--metric", "metrics", multiple=True, help="Tell of this metric only, in tables and figures; repeatable.")
@click.option("--level", default=0.95, show_default=True, help="Confidence level of the intervals.")
@click.option(
    "--aggregate",
    "aggregates",
    multiple=True,
    metavar="METRIC=AGGREGATE",
    help="How a run's values become one number: last, best, mean, max, min, area or 'at ITERATION'; repeatable.",
)
@click.option(
    "--weak",
    multiple=True,
    metavar="METRIC<NUMBER",
    help="Leave runs out that did not converge ('test acc<50', or NaN) and give every number with them too; only "
    "METRIC: those far from the others by the median absolute deviation; repeatable.",
)
@click.option(
    "--reach",
    multiple=True,
    metavar="METRIC>=NUMBER",
    help="Measure the iterations and seconds until a run gets there; only METRIC: to its best value; repeatable.",
)
@click.option("--curves", is_flag=True, help="In the terminal: show how the median of each metric went, too.")
@click.option(
    "--test-size",
    "test_sizes",
    multiple=True,
    metavar="METRIC=EXAMPLES",
    help="Say how much of an accuracy's spread is only the finite test set; repeatable.",
)
@figure_options
def command(
    name: str,
    format_name: str | None,
    output: Path | None,
    level: float,
    aggregates: tuple[str, ...],
    curves: bool,
    figures: Path | None,
    figure_format: str | None,
    **asked: Any,
) -> None:
    """Say again how much the runs of experiment NAME differ."""
    from deviate import api, pipeline
    from deviate.report.writers.registry import find_writer

    if not 0 < level < 1:
        raise BadOption(f"--level must be between 0 and 1, found {level:g}", hint="type --level 0.95")
    writer = find_writer(format_name, output)
    if curves and (writer.name != "terminal" or output is not None):
        raise BadOption("--curves is for the terminal", hint="leave it away; --format html draws every curve")
    check_figures(figures, figure_format)
    chosen = dict(_split(text) for text in aggregates)
    folder = api.load(name).folder
    document = pipeline.describe(folder, level=level, aggregates=chosen, asked=_asked(**asked))
    if figures is not None:
        _write_figures(document, folder, figures, figure_format)
        if format_name is None and output is None and not curves:
            return
    if output is None:
        print_report(document, writer.name, folder, curves=curves)
        return
    write_output(output, render(document, writer.name, folder))


def _asked(
    metrics: tuple[str, ...], weak: tuple[str, ...], reach: tuple[str, ...], test_sizes: tuple[str, ...]
) -> Asked:
    from deviate.report.asked import Asked, parse_bar, parse_sizes

    return Asked(
        metrics=metrics,
        weak=tuple(parse_bar(text, "--weak") for text in weak),
        reach=tuple(parse_bar(text, "--reach") for text in reach),
        test_sizes=parse_sizes(test_sizes),
    )


def print_report(document: Document, format_name: str, folder: ExperimentFolder, curves: bool = False) -> None:
    """Print `document` on standard output; in a terminal with its width and colours, and learning curves if asked."""
    if format_name == "terminal":
        from rich.console import Console

        from deviate.report.writers.terminal import print_document

        print_document(document, Console(), _curves(document, folder) if curves else None)
    else:
        click.echo(render(document, format_name, folder).rstrip("\n"))
    if format_name == "html":
        click.echo(f"to a file: deviate report {folder.name} -o report.html", err=True)


def _write_figures(document: Document, folder: ExperimentFolder, into: Path, format_name: str | None) -> None:
    from deviate.report.figures import document_figures

    write_figure_files(document_figures(document, _curves(document, folder)), into, format_name)


def _curves(document: Document, folder: ExperimentFolder) -> Curves:
    from deviate.collect.tables import records
    from deviate.report.curves import curves_of

    return curves_of(document, records(folder))


def render(document: Document, format_name: str, folder: ExperimentFolder) -> str:
    """Return `document` in one of the registered formats."""
    from deviate.collect.tables import records
    from deviate.report.writers.registry import find_writer

    return find_writer(format_name).render(document, lambda: records(folder))


def _split(text: str) -> tuple[str, str]:
    metric, sign, aggregate = text.rpartition("=")
    if not sign:
        raise BadOption(f"--aggregate {text!r} has no '='", hint="type for example --aggregate 'test acc=best'")
    return metric.strip(), aggregate.strip()
