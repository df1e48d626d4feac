"""``deviate why``: which source of randomness makes the runs of an experiment differ."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from deviate.cli.options import (
    SAMPLES,
    experiment_names,
    metric_option,
    only_experiment,
    read_statistics,
    statistics_keys,
    statistics_option,
)
from deviate.cli.printing import examples, show
from deviate.core.errors import BadOption
from deviate.core.shell_words import typed_word

if TYPE_CHECKING:
    from deviate.facts.experiment import ExperimentFacts


@click.command(
    "why", epilog=statistics_keys(SAMPLES) + examples("deviate why sources", "deviate why sources --metric 'test loss'")
)
@click.argument("name", required=False, shell_complete=experiment_names)
@metric_option(help="Explain this metric.  [default: the main one]")
@statistics_option
def command(name: str | None, metric: str | None, settings: tuple[str, ...]) -> None:
    """Say which source of randomness makes the runs of an experiment differ.

    NAME may be left out where there is one experiment. Its runs are made with: deviate run --vary sources. All that
    is known of them, in any format: deviate report NAME.
    """
    from deviate import api
    from deviate.facts.experiment import experiment_facts
    from deviate.facts.samples import read_options
    from deviate.facts.stored import read_results
    from deviate.report.views import why_view
    from deviate.report.writers.registry import find_writer, writers

    name = name or only_experiment("why")
    folder = api.load(name).folder
    results = read_results(folder, read_options(**read_statistics(settings, SAMPLES)), weights=True)
    facts = experiment_facts(results, datetime.now().astimezone(), metrics=() if metric is None else (metric,))
    if not facts.across:
        raise _unknown(facts)
    show(why_view(facts), find_writer("terminal", None, writers()), None, f"deviate why {typed_word(name)}")


def _unknown(facts: ExperimentFacts) -> BadOption:
    """Return what is missing where no two variants have a completed run."""
    from deviate.cli.standing import why_command

    if facts.definition.imported is not None:
        return BadOption(
            f"what varied between the runs of {facts.experiment!r}, which were imported, is not known",
            hint="type deviate run -n 8 --vary sources -- python train.py",
        )
    return BadOption(
        f"experiment {facts.experiment!r} has completed runs of one variant at most, so what makes its runs differ is "
        "unknown",
        hint=f"type {why_command(facts.definition)}",
    )
