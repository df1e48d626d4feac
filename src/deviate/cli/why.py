"""``deviate why``: which source of randomness makes the runs of an experiment differ."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from deviate.cli.options import (
    SAMPLES,
    experiment_names,
    only_experiment,
    read_statistics,
    statistics_keys,
    statistics_option,
)
from deviate.cli.output import PAGE_SUFFIXES, json_option, output_option, show, verbose_option
from deviate.cli.printing import examples
from deviate.core.errors import BadOption
from deviate.core.shell_words import typed_word


@click.command(
    "why",
    epilog=statistics_keys(SAMPLES) + examples("deviate why sources", "deviate why sources --metric 'test loss'"),
)
@click.argument("name", required=False, shell_complete=experiment_names)
@output_option(PAGE_SUFFIXES)
@click.option("--metric", help="Explain this metric.  [default: the main one]")
@statistics_option
@json_option
@verbose_option
def command(
    name: str | None,
    output: Path | None,
    metric: str | None,
    settings: tuple[str, ...],
    as_json: bool,
    verbose: bool,
) -> None:
    """Say which source of randomness makes the runs of an experiment differ.

    NAME may be left out where there is one experiment. Its runs are made with: deviate run --vary sources.
    """
    from deviate import api
    from deviate.cli.report import experiment_writers
    from deviate.facts.experiment import experiment_facts
    from deviate.facts.samples import read_options
    from deviate.facts.stored import read_results
    from deviate.report.views import why_view
    from deviate.report.writers.registry import find_writer

    writer = find_writer("json" if as_json else None, output, experiment_writers(()))
    name = name or only_experiment("why")
    folder = api.load(name).folder
    results = read_results(folder, read_options(**read_statistics(settings, SAMPLES)), weights=True)
    facts = experiment_facts(results, datetime.now().astimezone(), metrics=() if metric is None else (metric,))
    if not facts.across:
        runs = max((variant.completed for variant in facts.variants), default=0) or 8
        raise BadOption(
            f"experiment {name!r} has one variant, so what makes its runs differ is unknown",
            hint=f"type deviate run -n {runs} --name {typed_word(name)}-why --vary sources -- …",
        )
    show(why_view(facts), writer, output, f"deviate why {typed_word(name)}", verbose=verbose)
