"""``deviate baseline``: the runs that changes are judged against."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click
import msgspec

from deviate.cli.judge import training
from deviate.cli.main import BeforeCommand
from deviate.cli.options import keys_option, statistics_keys
from deviate.cli.printing import examples, json_option, show
from deviate.core.experiment import DEFAULT_RUNS
from deviate.source.config import read_settings, says

if TYPE_CHECKING:
    from deviate.facts.judging import Loop


class FloorSettings(msgspec.Struct, frozen=True, kw_only=True, rename={"most": "max"}):
    """What ``--set`` takes of the floor itself."""

    better: (
        Annotated[Literal["higher", "lower"], says("higher or lower values; by the metric's name if not said")] | None
    ) = None
    tries: Annotated[int, says("changes that may be judged against the floor, 50 if not said")] | None = None
    most: Annotated[int, says("most runs of a change, 20 if not said")] | None = None
    spread: Annotated[bool, says("true: also keep a change whose runs differ less; both share the 5 %")] = False


FLOOR_KEYS = ("better", "tries", "max", "spread")


@click.command(
    "baseline",
    cls=BeforeCommand,
    epilog=statistics_keys(FLOOR_KEYS, FloorSettings)
    + examples(
        "deviate baseline -- python train.py        measure a floor of 10 runs",
        "deviate baseline base --metric 'val acc'   runs that are there",
        "deviate baseline --value 0.97 --value 0.96 --value 0.98 --set better=higher",
    ),
)
@click.argument("words", nargs=-1, metavar="-- COMMAND... | NAME")
@click.option("-n", "--runs", default=DEFAULT_RUNS, show_default=True, help="Runs of the floor.")
@click.option("--value", "values", type=float, multiple=True, help="A run's result, made elsewhere. Repeatable.")
@click.option("--metric", help="What is judged.  [default: the metric that leads the report]")
@keys_option
@json_option
def command(
    words: tuple[str, ...],
    runs: int,
    values: tuple[float, ...],
    metric: str | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Measure the floor of noise that `deviate judge` holds changes against.

    COMMAND is run -n times, as `deviate run` does; or NAME is an experiment that is there, run or imported. Other
    runs than before begin a new count of tries; tries, max and spread hold for all tries against the same runs.
    """
    from deviate.facts.judging import Floor, choose_baseline, measure_baseline
    from deviate.report.views import page_view
    from deviate.report.writers.registry import facts_json, find_writer, writers
    from deviate.store.folders import Workspace

    writer = find_writer("json" if as_json else None, None, writers(json=facts_json))
    asked = Floor(metric=metric, **read_settings(settings, FloorSettings, FLOOR_KEYS))

    def train() -> Loop:
        with training(words, runs=runs) as (request, observe):
            return measure_baseline(request, asked, observe)

    loop = choose_baseline(Workspace.nearest(Path.cwd()), words, values, asked, runs, train)
    show(page_view(loop), writer, None, "deviate baseline")
    return 0
