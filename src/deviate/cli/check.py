"""``deviate check``: a gate for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.files import write_output
from deviate.errors import BadOption

if TYPE_CHECKING:
    from deviate.report.gate_parts import Gate


@click.command("check")
@click.argument("name", metavar="A")
@click.option("--against", required=True, metavar="B", help="What A must not fall behind.")
@click.option("--metric", "metrics", multiple=True, help="Metric that is checked; repeatable.")
@click.option(
    "--max-drop",
    "drops",
    multiple=True,
    metavar="[METRIC=]DROP",
    help="By how much its mean may be worse: 0.5, or 2% of B's mean. Without a METRIC the first is of the first "
    "--metric, and so on; without it, only a drop that is shown fails.",
)
@click.option(
    "--inconclusive",
    type=click.Choice(["pass", "fail"]),
    default="fail",
    show_default=True,
    help="What becomes of a metric about which too little is known.",
)
@click.option("--alpha", default=0.05, show_default=True, help="Share of wrong claims, of each kind; one-sided.")
@click.option(
    "--direction", "directions", multiple=True, metavar="METRIC=higher|lower", help="Which values are better."
)
@click.option("--match", "matches", multiple=True, metavar="A=B", help="Metric A of A is B of B.")
@click.option(
    "--aggregate",
    "aggregates",
    multiple=True,
    metavar="METRIC=AGGREGATE",
    help="How a run's values become one number: last, best, mean, max, min or 'at ITERATION'.",
)
@click.option(
    "--pairing",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="Compare runs of one index with each other; auto does if fingerprints prove that they share draws.",
)
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(name: str, against: str, junit: Path | None, as_json: bool, **asked: Any) -> int:
    """Say whether A is worse than B by more than is allowed; for gates.

    A and B are each EXPERIMENT or EXPERIMENT:VARIANT. The exit status is 0 where A passes, 1 where it does not, and 2
    where the question makes no sense.
    """
    from deviate import api

    if junit is not None and not junit.absolute().parent.is_dir():
        raise BadOption(f"cannot write {junit}: no such folder", hint="name a file in a folder that is there")
    gate = api.check(name, against, **_options(asked))
    if junit is not None:
        from deviate.report.writers.gate_junit import render_gate_junit

        write_output(junit, render_gate_junit(gate))
    _print(gate, as_json=as_json)
    return 0 if gate.passed else 1


def _options(asked: dict[str, Any]) -> dict[str, Any]:
    from deviate.cli.pairs import named_values
    from deviate.gate import parse_drops

    return {
        "drops": parse_drops(asked["metrics"], asked["drops"]),
        "alpha": asked["alpha"],
        "inconclusive": asked["inconclusive"],
        "pairing": asked["pairing"],
        "directions": named_values("--direction", asked["directions"], str.lower, "'reward=higher'"),
        "matches": named_values("--match", asked["matches"], str, "'test acc=val_acc'"),
        "aggregates": named_values("--aggregate", asked["aggregates"], str, "'test acc=best'"),
    }


def _print(gate: Gate, *, as_json: bool) -> None:
    if as_json:
        from deviate.report.writers.gate_json import render_gate_json

        click.echo(render_gate_json(gate).rstrip("\n"))
        return
    from rich.console import Console

    from deviate.report.writers.gate_terminal import print_gate

    print_gate(gate, Console())
