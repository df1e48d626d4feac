"""``deviate check``: a gate for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from deviate.cli.options import experiment_sides, groups_option, named_values, sample_arguments, sample_options
from deviate.cli.output import format_named, json_option, output_options, show, verbose_option
from deviate.cli.printing import examples, write_output
from deviate.core.errors import BadOption


@click.command(
    "check",
    epilog=examples(
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
@click.option(
    "--inconclusive",
    type=click.Choice(["pass", "fail"]),
    default="fail",
    show_default=True,
    help="Whether a metric passes or fails where the runs are too few to decide.",
)
@click.option(
    "--max-failures",
    metavar="SHARE",
    help="Largest share of A's runs that may fail, give no value or collapse, such as 10%. A passes if the runs show "
    "that the share is smaller. Without this option, lost runs keep a metric from passing.",
)
@click.option(
    "--max-churn",
    metavar="SHARE",
    help="Largest share of examples that A may label differently from B, such as 5%. A passes if the runs show that "
    "the share is smaller.",
)
@groups_option("Check also the accuracy on groups of the evaluated examples")
@click.option(
    "--max-group-drop",
    metavar="SHARE",
    help="With --groups: how much lower the accuracy on each group may be, such as 2% (two of a hundred examples). A "
    "passes if the runs show that the drop is smaller. Without this option, a check fails only where a drop is shown.",
)
@click.option("--alpha", default=0.05, show_default=True, help="Probability of a wrong claim of each kind; one-sided.")
@click.option(
    "--match",
    "matches",
    multiple=True,
    metavar="A=B",
    help="Compare metric A of the candidate with metric B of the baseline.",
)
@click.option(
    "--pairing",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="Compare runs with the same index as pairs. auto: if fingerprints prove that they share random numbers.",
)
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file too.")
@sample_options
@output_options("terminal, md, tex, json, html or junit.")
@json_option
@verbose_option
def command(
    name: str,
    against: str,
    junit: Path | None,
    format_name: str | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Test that A is not worse than B by more than a margin; for gates.

    A and B are each EXPERIMENT or EXPERIMENT:VARIANT. The exit status is 0 where A passes, 1 where it does not, and 2
    where the question makes no sense.
    """
    from deviate import api
    from deviate.report.writers.contracts import gate_json
    from deviate.report.writers.gate_junit import gate_junit
    from deviate.report.writers.registry import find_writer, writers

    if junit is not None and not junit.absolute().parent.is_dir():
        raise BadOption(f"cannot write {junit}: no such folder", hint="name a file in a folder that is there")
    offered = writers(json=gate_json, junit=gate_junit)
    writer = find_writer(format_named(format_name, as_json=as_json), output, offered)
    view = api.check(name, against, **_options(options))
    if junit is not None:
        write_output(junit, [gate_junit(view.facts)])
    show(view, writer, output, view.command, "gate", verbose=verbose)
    return 0 if view.passed else 1


def _options(options: dict[str, Any]) -> dict[str, Any]:
    from deviate.facts.comparison_options import parse_drops

    return {
        "drops": parse_drops(options["metrics"], options["drops"]),
        "alpha": options["alpha"],
        "inconclusive": options["inconclusive"],
        "pairing": options["pairing"],
        "max_failures": _share("--max-failures", options["max_failures"]),
        "max_churn": _share("--max-churn", options["max_churn"]),
        "groups": options["groups"],
        "max_group_drop": _share("--max-group-drop", options["max_group_drop"]),
        "matches": named_values("--match", options["matches"], str, "'test acc=val_acc'"),
        **sample_arguments(options),
    }


def _share(option: str, text: str | None) -> float | None:
    """Read ``10%`` or ``0.1``."""
    from deviate.facts.comparison_options import find_drop

    if text is None:
        return None
    share = find_drop(text)
    if share is None:
        raise BadOption(f"{option} {text!r} is no share", hint=f"type for example {option} 10%")
    return share.value
