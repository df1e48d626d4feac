"""``deviate report``: all that is said about an experiment, in any format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from deviate.errors import BadOption

if TYPE_CHECKING:
    from deviate.replicate.workspace import ExperimentFolder
    from deviate.report.parts import Document


@click.command("report")
@click.argument("name")
@click.option("--format", "format_name", help="terminal, md, json, csv (every record) or summary (one row a metric).")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--level", default=0.95, show_default=True, help="Confidence level of the intervals.")
@click.option(
    "--aggregate",
    "aggregates",
    multiple=True,
    metavar="METRIC=AGGREGATE",
    help="How a run's values become one number: last, best, mean, max, min or 'at ITERATION'; repeatable.",
)
def command(name: str, format_name: str | None, output: Path | None, level: float, aggregates: tuple[str, ...]) -> None:
    """Say again how much the runs of experiment NAME differ."""
    from deviate import api, pipeline
    from deviate.report.writers.registry import find_writer

    if not 0 < level < 1:
        raise BadOption(f"--level must be between 0 and 1, found {level:g}", hint="type --level 0.95")
    writer = find_writer(format_name, output)
    chosen = dict(_split(text) for text in aggregates)
    folder = api.load(name).folder
    document = pipeline.describe(folder, level=level, aggregates=chosen)
    if output is None:
        print_report(document, writer.name, folder)
        return
    _write(output, render(document, writer.name, folder))
    click.echo(f"written to {output}", err=True)


def print_report(document: Document, format_name: str, folder: ExperimentFolder) -> None:
    """Print `document` on standard output; in a terminal with its width and colours."""
    if format_name == "terminal":
        from rich.console import Console

        from deviate.report.writers.terminal import print_document

        print_document(document, Console())
    else:
        click.echo(render(document, format_name, folder).rstrip("\n"))


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


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise BadOption(
            f"cannot write {path}: {problem.strerror}", hint="name a file in a folder that is there"
        ) from problem
