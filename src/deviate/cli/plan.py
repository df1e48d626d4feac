"""``deviate plan``: how many runs to make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from deviate.cli.options import (
    SAMPLES,
    experiment_sides,
    metric_option,
    read_statistics,
    statistics_keys,
    statistics_option,
)
from deviate.cli.printing import PAGE_SUFFIXES, examples, json_option, output_option, show, verbose_option

#: What ``--set`` takes.
KEYS = (*SAMPLES, "alpha", "power", "tests", "correlation", "failures", "seconds", "sd", "sd_ratio", "precision")


@click.command(
    "plan",
    epilog=statistics_keys(KEYS)
    + examples("deviate plan base --difference 0.5", "deviate plan --set sd=0.4 --difference 0.5 --set power=0.9"),
)
@click.argument("pilot", required=False, metavar="[EXPERIMENT]", shell_complete=experiment_sides)
@metric_option(help="Metric of the pilot.  [default: its main metric]")
@click.option("--difference", type=float, help="Find the runs that show this difference of two means.")
@click.option("-n", "--runs", type=int, help="Report what this number of runs of each recipe can show.")
@click.option(
    "--against",
    metavar="EXPERIMENT",
    help="A second pilot, of the other recipe. Both show whether runs are paired and how they correlate.",
)
@statistics_option
@output_option(PAGE_SUFFIXES)
@json_option
@verbose_option
def command(
    pilot: str | None, output: Path | None, as_json: bool, verbose: bool, settings: tuple[str, ...], **options: Any
) -> None:
    """Compute how many runs a question needs.

    EXPERIMENT, or EXPERIMENT:VARIANT, is a pilot: the plan uses its SD and its time per run. Without one and without
    --set sd, differences are in SDs.
    """
    from deviate import api
    from deviate.report.writers.registry import find_writer, imported, writers

    writer = find_writer("json" if as_json else None, output, writers(json=imported("contracts.plan_json")))
    view = api.plan(pilot, **options, **read_statistics(settings, KEYS))
    show(view, writer, output, view.command, "plan", verbose=verbose)
