"""``deviate check``: a gate for continuous integration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from deviate.cli.options import SAMPLES, experiment_sides, read_statistics, statistics_keys, statistics_option
from deviate.cli.output import json_option, output_option, show, verbose_option
from deviate.cli.printing import examples, say, write_output
from deviate.core.errors import BadOption

#: What ``--set`` takes.
KEYS = (*SAMPLES, "match", "alpha", "inconclusive", "pairing", "max_failures", "max_churn", "groups", "max_group_drop")


@click.command(
    "check",
    epilog=statistics_keys(KEYS)
    + examples(
        "deviate check candidate --against base --metric 'test acc' --max-drop 0.5",
        "deviate check candidate --against base --metric 'test acc' --junit gate.xml",
    ),
)
@click.argument("name", metavar="A", shell_complete=experiment_sides)
@click.option(
    "--against",
    required=True,
    metavar="B",
    shell_complete=experiment_sides,
    help="The experiment that A is compared with.",
)
@click.option(
    "--metric", "metrics", multiple=True, help="Check this metric; repeatable. Needed, unless --max-drop names one."
)
@click.option(
    "--max-drop",
    "drops",
    multiple=True,
    metavar="[METRIC=]DROP",
    help="How much worse the mean may be: 0.5, or 2% of B's mean. Without METRIC, the first --max-drop belongs to the "
    "first --metric, and so on. Without --max-drop, a check fails only where a drop is shown.",
)
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file too.")
@statistics_option
@output_option(".txt, .md, .tex, .json, .html or .xml (JUnit)")
@json_option
@verbose_option
def command(
    name: str,
    against: str,
    junit: Path | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
    settings: tuple[str, ...],
    metrics: tuple[str, ...],
    drops: tuple[str, ...],
) -> int:
    """Test that A is not worse than B by more than a margin; for gates.

    A and B are each EXPERIMENT or EXPERIMENT:VARIANT. The exit status is 0 where A passes, 1 where it does not, and 2
    where the question makes no sense.
    """
    from deviate import api
    from deviate.facts.comparison_options import parse_drops
    from deviate.report.writers.contracts import gate_json
    from deviate.report.writers.gate_junit import gate_junit, github_lines
    from deviate.report.writers.registry import find_writer, writers

    if junit is not None and not junit.absolute().parent.is_dir():
        raise BadOption(f"cannot write {junit}: no such folder", hint="name a file in a folder that is there")
    offered = writers(json=gate_json, junit=gate_junit)
    writer = find_writer("json" if as_json else None, output, offered)
    view = api.check(name, against, drops=parse_drops(metrics, drops), **_typed(settings))
    if junit is not None:
        write_output(junit, [gate_junit(view.facts)])
    show(view, writer, output, view.command, "gate", verbose=verbose)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        say(*github_lines(view.facts), err=True)
    return 0 if view.passed else 1


def _typed(settings: tuple[str, ...]) -> dict[str, Any]:
    typed = read_statistics(settings, KEYS)
    shares = ((name, typed[name]) for name in ("max_failures", "max_churn", "max_group_drop") if name in typed)
    return {**typed, **{name: _share(f"--set {name}=", share) for name, share in shares}}


def _share(option: str, text: str) -> float:
    """Read ``10%`` or ``0.1``."""
    from deviate.facts.comparison_options import find_drop

    share = find_drop(text)
    if share is None:
        raise BadOption(f"{option}{text!r} is no share", hint=f"type for example {option}10%")
    return share.value
