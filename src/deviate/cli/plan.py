"""``deviate plan``: how many runs to make."""

from __future__ import annotations

from typing import Any

import click


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
@click.option("--tests", default=1, show_default=True, help="Tests that will be corrected together.")
@click.option("--seconds", type=float, help="Time of a run, for the cost; from the pilot by default.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(pilot: str | None, metric: str | None, as_json: bool, **asked: Any) -> None:
    """Say how many runs a question needs, and what a number of runs can show.

    EXPERIMENT, or EXPERIMENT:VARIANT, is a pilot: its SD and its time per run are planned with.
    """
    from deviate import api

    found = api.plan(pilot, metric=metric, **asked)
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    from rich.console import Console

    from deviate.report.writers.plan_terminal import print_plan

    print_plan(found, Console())
