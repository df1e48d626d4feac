"""``deviate list``: the experiments of a project."""

from __future__ import annotations

import json
import shlex

import click


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """List the experiments of this project."""
    from deviate import api

    experiments = [api.load(name) for name in api.names()]
    if as_json:
        click.echo(json.dumps({"schema": 1, "experiments": [experiment.summary() for experiment in experiments]}))
        return
    if not experiments:
        click.echo("no experiment here yet; make one with: deviate run -n 8 -- python train.py")
    for experiment in experiments:
        facts = experiment.summary()
        runs = ", ".join(
            f"{variant} {done}/{facts['planned'][variant]}" for variant, done in facts["completed"].items()
        )
        click.echo(f"{experiment.name:20} {runs:28} {facts['created'][:16]}  {shlex.join(facts['command'])}")
