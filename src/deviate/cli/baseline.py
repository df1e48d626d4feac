"""``deviate baseline``: the runs that changes are judged against."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.judge import training, training_options, workspace_of
from deviate.cli.main import BeforeCommand
from deviate.cli.output import show
from deviate.cli.printing import examples
from deviate.core.experiment import DEFAULT_RUNS

if TYPE_CHECKING:
    from deviate.facts.judged import Loop


@click.command(
    "baseline",
    cls=BeforeCommand,
    epilog=examples(
        "deviate baseline -- python train.py        measure a floor of 10 runs",
        "deviate baseline base --metric 'val acc'   runs that are there",
        "deviate baseline --value 0.971 --value 0.968 --value 0.973 --better higher",
    ),
)
@click.argument("words", nargs=-1, metavar="-- COMMAND... | NAME")
@click.option("-n", "--runs", default=DEFAULT_RUNS, show_default=True, help="Runs of the floor.")
@click.option("--value", "values", type=float, multiple=True, help="A run's result, made elsewhere. Repeatable.")
@click.option("--metric", help="What is judged.  [default: the metric that leads the report]")
@click.option(
    "--better", type=click.Choice(["higher", "lower"]), help="Which values are better.  [default: by the metric's name]"
)
@click.option("--tries", type=int, default=50, show_default=True, help="Changes that may be judged against the floor.")
@click.option("--max", "most", type=int, default=20, show_default=True, help="Most runs of a change.")
@training_options
def command(
    words: tuple[str, ...],
    runs: int,
    values: tuple[float, ...],
    project: Path | None,
    jobs: int | None,
    settings: tuple[str, ...],
    as_json: bool,
    verbose: bool,
    **floor: Any,
) -> int:
    """Measure the floor of noise that `deviate judge` holds changes against.

    COMMAND is run -n times, as `deviate run` does; or NAME is an experiment that is there, run or imported. Other
    runs than before begin a new count of tries.
    """
    from deviate.facts.judging import Floor, choose_baseline, measure_baseline
    from deviate.report.views import baseline_view
    from deviate.report.writers.json_object import facts_json
    from deviate.report.writers.registry import find_writer, writers

    writer = find_writer("json" if as_json else None, None, writers(json=facts_json))
    asked = Floor(**floor)

    def train() -> Loop:
        with training(words, settings, project, jobs=jobs, runs=runs) as (request, observe):
            return measure_baseline(request, asked, observe)

    loop = choose_baseline(workspace_of(project), words, values, asked, runs, train)
    show(baseline_view(loop), writer, None, "deviate baseline", verbose=verbose)
    return 0
