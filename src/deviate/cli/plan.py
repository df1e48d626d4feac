"""``deviate plan``: how many runs to make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from deviate.cli.output import format_named, json_option, output_options, show
from deviate.cli.samples import sample_arguments, sample_options


@click.command("plan")
@click.argument("pilot", required=False, metavar="[EXPERIMENT]")
@click.option("--metric", help="Metric of the pilot; by default the one a reader asks for first.")
@click.option("--sd", type=float, help="Assumed SD; without it and without a pilot everything is in SDs.")
@click.option("--difference", type=float, help="Difference of two means to be shown.")
@click.option("--sd-ratio", type=float, help="Ratio of two SDs to be shown.")
@click.option("--precision", type=float, help="Half-width to which a mean is to be known.")
@click.option("-n", "--runs", type=int, help="Say what so many runs a side can show.")
@click.option("--power", default=0.8, show_default=True, help="Probability of showing a difference that is there.")
@click.option("--alpha", default=0.05, show_default=True, help="Share of false alarms that is accepted.")
@click.option(
    "--tests", default=1, show_default=True, help="Tests corrected together: claimed metrics × pairs of sides."
)
@click.option(
    "--against",
    metavar="EXPERIMENT",
    help="A second pilot, the other side: whether runs are paired, and how they correlate, is read off both.",
)
@click.option("--correlation", type=float, help="Of runs that share draws, which are then compared in pairs.")
@click.option("--failures", type=float, metavar="SHARE", help="Share of runs that fail; from the pilot by default.")
@click.option("--seconds", type=float, help="Time of a run, for the cost; from the pilot by default.")
@sample_options
@output_options("terminal, md, tex, json or html.")
@json_option
def command(
    pilot: str | None,
    format_name: str | None,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Say how many runs a question needs, and what a number of runs can show.

    EXPERIMENT, or EXPERIMENT:VARIANT, is a pilot: its SD and its time per run are planned with.
    """
    from deviate import api
    from deviate.report.writers.plan_json import plan_json
    from deviate.report.writers.registry import find_writer, writers

    writer = find_writer(format_named(format_name, as_json=as_json), output, writers(json=plan_json))
    view = api.plan(pilot, **{**options, **sample_arguments(options)})
    show(view, writer, output, view.command, "plan")
