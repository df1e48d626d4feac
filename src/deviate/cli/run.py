"""``deviate run``: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.output import factor_option
from deviate.cli.printing import say
from deviate.experiment import DEFAULT_PREDICTIONS, DEFAULT_RUNS, DEFAULT_WEIGHTS
from deviate.factors import DEFAULT_VARIANT, GROUPS, VARIANTS
from deviate.replicate.executors.registry import DEFAULT_EXECUTOR, EXECUTORS

if TYPE_CHECKING:
    from deviate.inference.experiment import ExperimentFacts
    from deviate.replicate.workspace.folders import ExperimentFolder
    from deviate.report.views import View

#: Written beside the runs after each ``deviate run``.
REPORT_FILE = "report.md"


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, metavar="-- COMMAND...")
@click.option("-n", "--runs", default=DEFAULT_RUNS, show_default=True, help="Runs of each variant, done ones included.")
@click.option(
    "--until",
    metavar="'METRIC ±WIDTH'",
    help="Go on until the 95% interval of the metric's mean is no wider ('val acc ±0.3', '±2%'), or that of its SD "
    "('val acc sd ±25%'), or until a difference from experiment B is shown ('decided against B', 'val acc decided "
    "against B'); -n runs are made before the first look. +- may stand for ±.",
)
@click.option(
    "--max",
    "most",
    type=int,
    help="With --until: most runs of a variant.  [default: 30; for an SD half as many again as normal values take]",
)
@click.option(
    "--vary",
    "variants",
    multiple=True,
    default=(DEFAULT_VARIANT,),
    show_default=True,
    metavar="VARIANT",
    help=f"What varies between runs: {', '.join(VARIANTS)}; factors joined by commas (init,shuffle); "
    f"{' or '.join(GROUPS)} for several variants at once. Repeatable.",
)
@click.option("--name", help="Name of the experiment; made from the entry by default.")
@click.option("--entry", help="The Python script that trains, where the command does not show it.")
@click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Root of the project; by default the folder you stand in, or the one of the same repository that also holds "
    "the entry and what PYTHONPATH brings in.",
)
@click.option(
    "-j",
    "--jobs",
    type=int,
    help="Runs side by side; cores are divided between them.  [default: as the runs there are, else 1]",
)
@click.option(
    "--executor",
    type=click.Choice(tuple(EXECUTORS)),
    default=DEFAULT_EXECUTOR,
    show_default=True,
    hidden=len(EXECUTORS) == 1,
    help="Where runs are started.",
)
@click.option("--timeout", type=float, metavar="SECONDS", help="End a run that takes longer.")
@click.option("--stall", type=float, metavar="SECONDS", help="End a run that records and prints nothing for so long.")
@click.option("--memory", type=float, metavar="GIB", help="End a run whose processes hold more memory together.")
@click.option("--seed", default=0, show_default=True, help="All seeds of all runs derive from this one.")
@click.option("--include", multiple=True, metavar="GLOB", help="Bring files into the runs that are left out otherwise.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave files out of the runs.")
@click.option("--link", multiple=True, metavar="GLOB", help="Link files or folders into the runs instead of copying.")
@click.option("--strict", is_flag=True, help="Where kernels are held fixed, end a run at an operation that cannot be.")
@factor_option
@click.option(
    "--predictions",
    default=DEFAULT_PREDICTIONS,
    show_default=True,
    metavar="KIND|FILE",
    help="Keep what models predict in the last and in the best evaluation: none, labels, scores (of all classes); in "
    "every evaluation too: labels:every or scores:every; or take it from a FILE that each run writes (csv, tsv, jsonl, "
    "parquet, npy or npz).",
)
@click.option(
    "--weights",
    default=DEFAULT_WEIGHTS,
    show_default=True,
    metavar="KIND|GLOB",
    help="Keep of the weights that each run ends with none, a digest, or them all (final); with every:K those after "
    "every K-th iteration too; or the files that each run writes and GLOB matches (safetensors, pt, npz, h5, keras).",
)
@click.option(
    "--then",
    multiple=True,
    metavar="'COMMAND'",
    help="Run this in the folder of each run after its training, such as 'python evaluate.py'; what it reports are "
    "further metrics. With --name NAME and no COMMAND behind -- the runs that are there are evaluated. Repeatable.",
)
@click.option("--retry-failed", is_flag=True, help="Make failed and timed-out runs again.")
@click.option(
    "--even-so",
    is_flag=True,
    help="Train each run, also where another draws the same, and go on where the first runs of a variant fail alike.",
)
@click.option(
    "--skip-alike",
    is_flag=True,
    help="Train once what differs in the implementation alone, where threads are pinned and no GPU is used.",
)
@click.option(
    "--anyway",
    is_flag=True,
    help="Add runs to the experiment although its source was edited since: they are made from its copy, and marked.",
)
@click.option("--discard-work", is_flag=True, help="Delete the working folder, checkpoints too, of each completed run.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool, **options: Any) -> int:
    """Train several times and say how much the runs differ.

    COMMAND is what you type to train, unchanged; put it after --. The same command again goes on where it was, and
    a larger -n adds runs.
    """
    from deviate import api
    from deviate.cli.output import show
    from deviate.cli.progress import Progress
    from deviate.cli.report import experiment_writers
    from deviate.inference.comparison.referee import Referee
    from deviate.study.pipeline import run
    from deviate.study.request import Request

    options["command"] = list(options["command"])
    with Progress() as progress:
        folder = run(Request(**options), progress.observe, Referee())
    view = api.StoredExperiment(folder).report(curves=False)
    path = _write_report(view, folder)
    show(view, experiment_writers(None)["json" if as_json else "terminal"], None, f"deviate report {folder.name}")
    say("", f"report  {path}", err=True)
    say(f"page    deviate report {folder.name} -o report.html", err=True)
    return int(exit_status(view.facts) or (progress.compared is not None and not progress.compared.shown))


def exit_status(facts: ExperimentFacts) -> int:
    """Return 1 if a run or an evaluation did not complete, or what ``--until`` asks for was not reached; else 0."""
    lost = any(run.status != "completed" for variant in facts.variants for run in variant.runs)
    # Where all values are equal there is no width to be reached, and nothing went wrong.
    wide = any(not each.stopped.met and each.stopped.half_width is not None for each in facts.variants if each.stopped)
    return int(lost or wide or any(each.evaluated < each.runs for each in facts.evaluations))


def _write_report(view: View[ExperimentFacts], folder: ExperimentFolder) -> Path:
    from deviate.replicate.workspace.files import write_whole
    from deviate.report.writers.markdown import render_markdown

    path = folder.path / REPORT_FILE
    write_whole(path, render_markdown(view.page("full")).encode())
    return path
