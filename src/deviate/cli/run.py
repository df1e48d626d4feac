"""``deviate run``: the main job."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deviate.cli.main import BeforeCommand
from deviate.cli.options import variants
from deviate.cli.printing import examples, listing, say, set_option, verbose_option
from deviate.core.experiment import DEFAULT_PREDICTIONS, DEFAULT_RUNS, DEFAULT_WEIGHTS
from deviate.core.factors import DEFAULT_VARIANT, GROUPS, VARIANTS
from deviate.core.shell_words import typed_word
from deviate.runs.executors.executor import WORDS

if TYPE_CHECKING:
    from deviate.facts.experiment import ExperimentFacts
    from deviate.report.views import View
    from deviate.runs.events import StudyEvent
    from deviate.store.folders import ExperimentFolder

#: Written beside the runs after each ``deviate run``.
REPORT_FILE = "report.md"

#: What varies between the runs of each variant, for the help.
VARIED = {
    "algo+impl": "everything: all draws of the training, and the kernels; the data stay",
    "algo": "training's draws: all seeds of the training; the kernels are deterministic",
    "impl": "kernels only: the seeds are fixed; kernels and parallel sums are free",
    "control": "nothing: all is fixed, so runs must repeat exactly",
    "as-is": "the program as it is: nothing is controlled",
    "init": "initialisation",
    "shuffle": "data order",
    "augment": "augmentation",
    "layers": "dropout and other stochastic layers",
    "other": "other draws: of no other kind, such as actions, negatives and noise",
    "data": "data draws: other training or test examples",
    "platform": "processor: what a tiny disturbance does",
    "bit": "one bit of one weight: the same",
    "arms": f"each of {', '.join(GROUPS['arms'])}",
    "sources": "algo+impl, each of init to other, impl, control",
}


@click.command(
    "run",
    cls=BeforeCommand,
    epilog=listing("Variants", VARIED)
    + "\n\n"
    + examples(
        "deviate run -n 8 -- python train.py --epochs 10",
        "deviate run -n 8 --vary init --vary shuffle -- python train.py",
        "deviate run --until 'val acc ±0.3' --max 30 -- python train.py",
        "deviate run                what deviate.toml lists and is missing",
        "deviate run -n 8 --executor slurm --set gres=gpu:1 -- python train.py",
    ),
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, metavar="-- COMMAND...")
@click.option(
    "-n", "--runs", default=DEFAULT_RUNS, show_default=True, help="Runs of each variant, including those that are done."
)
@click.option(
    "--until",
    metavar="'METRIC ±WIDTH'",
    help="Make runs until the 95% interval of the metric's mean is this narrow ('val acc ±0.3', '±2%'), or that of its "
    "SD ('val acc sd ±25%'), or until a difference from experiment B is shown ('decided against B', 'val acc decided "
    "against B'). The first look comes after -n runs. You may type +- for ±.",
)
@click.option(
    "--max",
    "most",
    type=int,
    help="With --until: most runs of a variant.  [default: 30; for an SD 1.5 times what normal values need]",
)
@click.option(
    "--vary",
    "variants",
    multiple=True,
    default=(DEFAULT_VARIANT,),
    show_default=True,
    metavar="VARIANT",
    shell_complete=variants,
    help=f"What varies between runs: {', '.join(VARIANTS)}; factors joined by commas (init,shuffle); "
    f"{' or '.join(GROUPS)} for several variants at once. Plain words do as well: everything, draws, kernels, nothing, "
    "order, dropout. Several may follow.",
)
@click.option(
    "--name",
    help="Name of the experiment.  [default: that of the script; of the project's folder for train.py, main.py and "
    "the like]",
)
@click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Root of the project.  [default: the current folder, or the folder of the same repository that also holds the "
    "entry and what PYTHONPATH names]",
)
@click.option(
    "-j",
    "--jobs",
    type=int,
    help="Runs at the same time, which share the cores; on a cluster, jobs at the same time.  [default: as in earlier "
    "runs, else 1; on a cluster, no limit]",
)
@click.option(
    "--gpus",
    metavar="N|all|LIST",
    help="GPUs that runs on this machine share out, one each: how many, all, or a list as CUDA_VISIBLE_DEVICES has it "
    "(0,1; one alone: 0,). Without -j, a run on each.",
)
@click.option(
    "--executor",
    type=click.Choice(WORDS),
    metavar="NAME",
    help="Where runs are made: side by side on this machine (local), as jobs of Slurm (slurm) or tasks of Ray (ray); "
    "with --print by commands for another scheduler (workers).  [default: where the experiment's runs were made last, "
    "else as deviate.toml says, else local]",
)
@click.option("--print", "print_script", is_flag=True, help="On a cluster: print what submits, and submit nothing.")
@click.option("--seed", default=0, show_default=True, help="Seed from which the seeds of all runs are derived.")
@click.option(
    "--predictions",
    default=DEFAULT_PREDICTIONS,
    show_default=True,
    metavar="KIND|FILE",
    help="Keep the predictions of the last and of the best evaluation: none, labels, or scores (of all classes, "
    "with what enters the last layer, and the least certain pictures and texts). Add "
    ":every to keep those of every evaluation. Or read them from a FILE that each run writes (csv, tsv, jsonl, "
    "parquet, npy or npz).",
)
@click.option(
    "--weights",
    default=DEFAULT_WEIGHTS,
    show_default=True,
    metavar="KIND|GLOB",
    help="Keep the final weights of each run: all (final), those of at most 4 MiB (small), their digest, or none. "
    "every:K keeps those after every K-th iteration too. GLOB keeps the weight files that each run writes "
    "(safetensors, pt, npz, h5, keras).",
)
@click.option(
    "--then",
    multiple=True,
    metavar="'COMMAND'",
    help="Run this in the folder of each run after its training, such as 'python evaluate.py'; what it reports become "
    "further metrics. With --name NAME and no COMMAND, evaluate the runs that are there. Repeatable.",
)
@click.option(
    "--retry-failed", is_flag=True, help="Repeat runs that failed or timed out, with the seeds that they had."
)
@click.option(
    "--edited",
    is_flag=True,
    help="Add runs to the experiment although the source was edited. They use the experiment's copy and are marked.",
)
@set_option
@verbose_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool, verbose: bool, settings: tuple[str, ...], **options: Any) -> int:
    """Train several times and report how much the runs differ.

    COMMAND is what you type to train, unchanged; put it after --. The same command again goes on where it stopped. A
    larger -n adds runs.

    Without COMMAND, make what is missing of the experiments that deviate.toml lists under [[experiment]]; --name takes
    one of them, or one cell of its grid. Options that you type replace those of the file.
    """
    from deviate import api
    from deviate.cli.cells import run_cells, typed
    from deviate.cli.printing import show
    from deviate.cli.progress import EarlyImports, Progress
    from deviate.cli.report import experiment_writers
    from deviate.cli.standing import following
    from deviate.cli.stdin import given_input
    from deviate.facts.referee import Referee
    from deviate.runs.cells import asks_for_cells
    from deviate.runs.pipeline import run
    from deviate.runs.request import Request
    from deviate.source.config import file_settings, read_settings

    options["command"] = list(options["command"])
    given = read_settings(settings)
    if asks_for_cells(Request(**options)):
        with given_input() as stdin:
            _refuse_input(stdin)
        return run_cells(options, given, as_json=as_json)
    fields = {**file_settings(options["project"]), **typed(options), **given, "command": options["command"]}
    request = Request(**fields)

    def observe(event: StudyEvent) -> None:
        # Looks at results while runs go on import by themselves.
        if not options["until"]:
            early.observe(event)
        progress.observe(event)

    inputs = given_input() if request.trains else nullcontext()
    with inputs as stdin, EarlyImports() as early, Progress() as progress:
        folder = run(msgspec.structs.replace(request, stdin=stdin), observe, Referee())
    if options["print_script"]:
        click.echo("\n".join(progress.scripts), nl=False)
        return 0
    if not progress.time.total:
        say(f"{folder.name}: nothing to train, all runs have ended; a larger -n adds runs", err=True)
    view = api.StoredExperiment(folder).report(curves=False)
    path = _write_report(view, folder)
    writer = experiment_writers(())["json" if as_json else "terminal"]
    if progress.runs.begins and (choice := main_choice(view.facts)):
        say(choice, err=True)
    again = f"deviate report {typed_word(folder.name)}"
    show(view, writer, None, again, verbose=verbose, following=partial(following, folder))
    if verbose:
        say("", f"report  {path}", err=True)
        say(f"page    deviate report {typed_word(folder.name)} -o report.html", err=True)
    return int(exit_status(view.facts) or (progress.compared is not None and not progress.compared.shown))


def _refuse_input(stdin: Path | None) -> None:
    if stdin is not None:
        from deviate.core.errors import BadOption

        raise BadOption(
            "standard input was given, and the commands are those of deviate.toml",
            hint="have the command read it by itself: command = \"bash -c 'python train.py < FILE'\"",
        )


def main_choice(facts: ExperimentFacts) -> str:
    """Say which metric leads and how another does, where there are two that might; else nothing."""
    from deviate.observe.headline import main_metric, runner_up

    metrics = [metric for variant in facts.variants[:1] for metric in variant.metrics if metric.n]
    other = runner_up(metrics)
    if other is None:
        return ""
    typed = f"main = {json.dumps(other.name, ensure_ascii=False)}"
    return f"main metric: {main_metric(metrics).name} (change: {typed} below [statistics] in deviate.toml)"


def exit_status(facts: ExperimentFacts) -> int:
    """Return 1 if a run or evaluation did not complete, a run diverged, or what ``--until`` asks for was not reached.

    Else 0.
    """
    from deviate.facts.variant import diverged_runs

    lost = any(run.status != "completed" for variant in facts.variants for run in variant.runs)
    lost = lost or any(diverged_runs(variant.metrics) for variant in facts.variants)
    # Where all values are equal there is no width to be reached, and nothing went wrong.
    wide = any(not each.stopped.met and each.stopped.half_width is not None for each in facts.variants if each.stopped)
    return int(lost or wide or any(each.evaluated < each.runs for each in facts.evaluations))


def _write_report(view: View[ExperimentFacts], folder: ExperimentFolder) -> Path:
    from deviate.report.writers.markdown import render_markdown
    from deviate.store.files import write_whole

    path = folder.path / REPORT_FILE
    write_whole(path, render_markdown(view.page("full")).encode())
    return path
