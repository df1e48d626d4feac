"""``deviate import``: make an experiment of results that were not run by Deviate."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.options import keys_option, statistics_keys
from deviate.cli.printing import examples, say, say_json
from deviate.core.shell_words import typed_word
from deviate.imports.request import IMPORT_KEYS, ImportSettings

if TYPE_CHECKING:
    from deviate.imports.request import ImportRequest
    from deviate.store.folders import ExperimentFolder, RunFolder


@click.command(
    "import",
    epilog=statistics_keys(IMPORT_KEYS, ImportSettings)
    + examples(
        "deviate import results.csv --name base",
        "deviate import runs/*/ --name tensorboard",
        "deviate import baseline.tar.gz                what deviate export wrote",
    ),
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", help="Name of the experiment.  [default: from the first path]")
@click.option(
    "--run-column",
    "run",
    multiple=True,
    metavar="COLUMN",
    help="Column that identifies the run, such as seed; repeatable.",
)
@click.option(
    "--experiment-column",
    "experiment",
    default="",
    metavar="COLUMN",
    help="Column whose values each make an experiment.",
)
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    help="A line of a log: 'Epoch {epoch} ... acc: {val acc}', or a regular expression with named groups; repeatable.",
)
@click.option("--metric", "metrics", multiple=True, metavar="METRIC", help="Take only this metric; repeatable.")
@keys_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool, **options: Any) -> None:
    """Make an experiment from results of other tools.

    PATHS are tables (csv, json), folders of TensorBoard, MLflow or wandb, or logs. A run is one training: a column
    (seed, run) identifies it, or each file is a run. Epochs, folds and test examples are no runs, and are refused.
    Nothing is known of what varied between imported runs, and reports say so.

    An archive that `deviate export` wrote is taken in as it was, with everything that is known of its runs. Of a grid,
    --name is another name for the grid.
    """
    from deviate.imports.build import import_results
    from deviate.runs.housekeeping import import_archive, is_archive
    from deviate.store.folders import Workspace

    request = _request(**options)
    if len(request.paths) == 1 and is_archive(request.paths[0]):
        notes: list[str] = []
        taken = import_archive(request.paths[0], Workspace(request.project), request.name, notes)
        say(*notes, err=True)
        _say_archive(taken, as_json=as_json)
        return
    folders = import_results(request)
    if as_json:
        say_json(json.dumps({"schema": 1, "experiments": [_facts(folder) for folder in folders]}))
        return
    for folder in folders:
        say(*_lines(folder))


def _request(
    paths: tuple[Path, ...], name: str | None, patterns: tuple[str, ...], metrics: tuple[str, ...],
    settings: tuple[str, ...], **columns: Any,
) -> ImportRequest:  # fmt: skip
    from deviate.core.secrets import mask_words
    from deviate.imports.request import ImportRequest, TableOptions
    from deviate.source.config import read_settings
    from deviate.store.folders import Workspace

    typed = read_settings(settings, ImportSettings, IMPORT_KEYS)
    common = {name: typed.pop(name) for name in ("format", "directions", "aggregates", "replace") if name in typed}
    where = tuple(typed.pop("where", {}).items())
    return ImportRequest(
        paths=list(paths),
        project=Workspace.nearest(Path.cwd()).project,
        name=name,
        table=TableOptions(where=where, **columns, **typed),
        patterns=patterns,
        metrics=metrics,
        command=mask_words(["deviate", *sys.argv[1:]]),
        **common,
    )


def _say_archive(folders: list[ExperimentFolder], *, as_json: bool) -> None:
    if as_json:
        say_json(json.dumps({"schema": 1, "experiments": [_facts(folder) for folder in folders]}))
        return
    for folder in folders:
        say(f"{folder.name}: {len(folder.runs())} runs", f"  deviate report {typed_word(folder.name)}")


def _facts(folder: ExperimentFolder) -> dict[str, Any]:
    import msgspec

    experiment = folder.read_experiment()
    return {
        "name": experiment.name,
        "runs": sum(experiment.planned.values()),
        "metrics": [metric.name for metric in experiment.metrics],
        "imported": msgspec.to_builtins(experiment.imported),
    }


def _lines(folder: ExperimentFolder) -> list[str]:
    from deviate.report.words import count, listed

    experiment = folder.read_experiment()
    imported = experiment.imported
    labels = list(imported.labels.values()) if imported else []
    metrics = [metric.name for metric in experiment.metrics]
    return [
        f"{experiment.name}: {count(len(labels), 'run')} ({listed(labels)}), "
        f"{count(len(metrics), 'metric')} ({listed(metrics)})",
        *_failed_lines(folder, imported.labels if imported else {}),
        *(f"  {note}" for note in (imported.notes if imported else [])),
        *([f"  {imported.assumed}"] if imported and imported.assumed else []),
        f"  deviate report {experiment.name}",
    ]


def _failed_lines(folder: ExperimentFolder, labels: dict[str, str]) -> list[str]:
    from deviate.report.words import count, listed
    from deviate.store.run_files import Unfinished
    from deviate.store.slots import RECORD

    failed = [run for run in folder.runs() if isinstance(run.read_outcome(), Unfinished)]
    named = listed([labels.get(str(run.run.index), run.run.folder) for run in failed])
    size = sum(file.stat().st_size for run in failed for file in run.record_files())
    # What they reported up to their end is stored, though no statistic has it.
    kept = (
        f"; no statistic has their {count(size // RECORD.itemsize, 'value')}, which in Python "
        f"deviate.load({folder.name!r}).records(include_failed=True) shows"
        if size
        else ""
    )
    return [f"  {count(len(failed), 'run')} failed: {named}{kept}"] if failed else []


def shown_lines(folder: ExperimentFolder) -> list[str]:
    """Say what is known of an imported experiment and its runs, for ``deviate show``."""
    experiment = folder.read_experiment()
    imported = experiment.imported
    assert imported is not None
    return [
        f"experiment   {experiment.name}",
        f"imported     as {imported.format} on {experiment.created[:16]} from {', '.join(imported.sources)}",
        "varied       not known: Deviate did not run it",
        "",
        *(f"metric       {metric.name:28} {metric.aggregate:6}" for metric in experiment.metrics),
        *(f"note         {note}" for note in imported.notes),
        "",
        *(_run_line(run, imported.labels.get(str(run.run.index), "")) for run in folder.runs()),
    ]


def _run_line(run: RunFolder, label: str) -> str:
    from deviate.report.numbers import show_seconds
    from deviate.store.run_files import Unfinished

    outcome = run.read_outcome()
    status = outcome.status if outcome else "unfinished"
    reason = f"  {outcome.reason}" if isinstance(outcome, Unfinished) else ""
    took = show_seconds(outcome.seconds if outcome else None)
    return f"run          {run.run.folder:16} {status:16} {took:>9}  {label}{reason}"
