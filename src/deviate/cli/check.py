"""``deviate check``: a gate for continuous integration."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.options import (
    SAMPLES,
    experiment_sides,
    metric_option,
    read_statistics,
    statistics_keys,
    statistics_option,
)
from deviate.cli.printing import examples, json_option, output_option, say, show, verbose_option
from deviate.core.errors import BadOption

if TYPE_CHECKING:
    from deviate.facts.target import Target

#: One-sided, where ``--set alpha`` says no other.
DEFAULT_ALPHA = 0.05

#: What ``--set`` takes.
TARGET_KEYS = ("aggregate", "direction", "alpha", "rule")
KEYS = (*SAMPLES, "match", "alpha", "inconclusive", "pairing", "max_churn", "groups", "max_group_drop", "rule")


@click.command(
    "check",
    epilog=statistics_keys(KEYS)
    + examples(
        "deviate check candidate --against base --metric 'test acc' --max-drop 0.5",
        "deviate check candidate --against base --metric 'test acc' -o gate.xml",
        "deviate check candidate --target 'val loss<=3.28'",
    ),
)
@click.argument("name", metavar="A", shell_complete=experiment_sides)
@click.option("--against", metavar="B", shell_complete=experiment_sides, help="The experiment that A is compared with.")
@click.option("--target", metavar="'METRIC<=NUMBER'", help="Test that A has reached this, instead of comparing it.")
@metric_option("metrics", multiple=True, help="Check this metric; repeatable. Needed, unless --max-drop names one.")
@click.option(
    "--max-drop",
    "drops",
    multiple=True,
    metavar="[METRIC=]DROP",
    help="How much worse the mean may be: 0.5, or 2% of B's mean. Without METRIC, the first --max-drop belongs to the "
    "first --metric, and so on. Without --max-drop, a check fails only where a drop is shown.",
)
@click.option(
    "--max-failures",
    metavar="SHARE",
    help="Largest share of A's runs that may fail, give no value or collapse, such as 10%. A passes if the runs show "
    "that the share is smaller. Without this option, lost runs keep a metric from passing.",
)
@statistics_option
@output_option(".txt, .md, .tex, .json, .html or .xml (JUnit, beside what is printed)")
@json_option
@verbose_option
def command(
    name: str,
    against: str | None,
    target: str | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
    settings: tuple[str, ...],
    metrics: tuple[str, ...],
    drops: tuple[str, ...],
    max_failures: str | None,
) -> int:
    """Test that A is not worse than B by more than a margin, or has reached a target; for gates.

    A and B are each EXPERIMENT or EXPERIMENT:VARIANT. The exit status is 0 where A passes, 1 where it does not, and 2
    where the question makes no sense.
    """
    from deviate import api
    from deviate.facts.comparison_options import parse_drops
    from deviate.report.topics.gate_lines import target_command
    from deviate.report.views import page_view
    from deviate.report.writers.gate_junit import github_lines
    from deviate.report.writers.registry import facts_json, find_writer, imported, writers

    offered = writers(json=imported("contracts.gate_json"), junit=imported("gate_junit.gate_junit"))
    rule = read_statistics(settings, KEYS).get("rule")
    if target is not None or rule is not None:
        further = [*drops, max_failures, *(metrics if target else ())]
        _check_alone(against, target, rule, further)
        facts = _target(name, against, target, metrics, settings)
        writer = find_writer("json" if as_json else None, output, writers(json=facts_json))
        show(page_view(facts), writer, output, target_command(facts), "target", verbose=verbose)
        return 0 if facts.passed else 1
    if against is None:
        raise BadOption(
            "a check needs something to hold A against", hint="add --against B, or --target 'val loss<=3.28'"
        )
    writer = find_writer("json" if as_json else None, output, offered)
    view = api.check(
        name,
        against,
        drops=parse_drops(metrics, drops),
        max_failures=None if max_failures is None else _share("--max-failures ", max_failures),
        **_typed(settings),
    )
    show(view, writer, output, view.command, "gate", verbose=verbose)
    if writer.name == "junit" and output is not None:
        show(view, offered["terminal"], None, view.command, verbose=verbose)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        say(*github_lines(view.facts), err=True)
    return 0 if view.passed else 1


def _check_alone(against: str | None, target: str | None, rule: str | None, further: Sequence[object]) -> None:
    if rule == "mlperf":
        if against is None or target is not None:
            raise BadOption(
                "rule=mlperf compares A with a reference", hint="type --against B --metric NAME --set rule=mlperf"
            )
    elif target is None or against is not None:
        raise BadOption("--target and --set rule are for one experiment", hint="type --target 'val loss<=3.28'")
    if any(further):
        raise BadOption("a target is tested alone", hint="leave out --metric, --max-drop and --max-failures")


def _target(
    name: str, against: str | None, target: str | None, metrics: tuple[str, ...], settings: tuple[str, ...]
) -> Target:
    from deviate.facts.samples import read_options
    from deviate.facts.target import read_convergence, read_target
    from deviate.store.folders import Workspace

    typed = read_statistics(settings, TARGET_KEYS)
    alpha, rule = typed.pop("alpha", DEFAULT_ALPHA), typed.pop("rule", "t")
    samples, workspace = read_options(**typed), Workspace.nearest(Path.cwd())
    if target is not None:
        return read_target(workspace, name, target, rule, alpha, samples)
    assert against is not None
    return read_convergence(workspace, name, against, next(iter(metrics), None), alpha, samples)


def _typed(settings: tuple[str, ...]) -> dict[str, Any]:
    typed = read_statistics(settings, KEYS)
    shares = ((name, typed[name]) for name in ("max_churn", "max_group_drop") if name in typed)
    return {**typed, **{name: _share(f"--set {name}=", share) for name, share in shares}}


def _share(option: str, text: str) -> float:
    from deviate.facts.comparison_options import find_drop

    share = find_drop(text)
    if share is None:
        raise BadOption(f"{option}{text!r} is no share", hint=f"type for example {option}10%")
    return share.value
