"""``deviate diverge``: the first place where two runs of a command, or of an experiment, part."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deviate.cli.main import BeforeCommand
from deviate.cli.printing import examples, json_option, request_fields, show
from deviate.core.errors import BadOption

if TYPE_CHECKING:
    from deviate.probes.diverge import Divergence


@click.command(
    "diverge",
    cls=BeforeCommand,
    epilog=examples(
        "deviate diverge -- python train.py          two runs under control",
        "deviate diverge --as-is -- python train.py  two runs as they are",
        "deviate diverge --one -- python train.py    one, each operation twice",
        "deviate diverge base 0 3                    two runs of an experiment",
        "deviate diverge here there                  two experiments",
    ),
)
@click.argument("command", nargs=-1, metavar="-- COMMAND... | NAME RUN RUN | NAME NAME")
@click.option("--as-is", "as_it_is", is_flag=True, help="Hold nothing fixed: compare two runs as COMMAND makes them.")
@click.option("--one", "alone", is_flag=True, help="Train once, and call each operation of PyTorch twice.")
@json_option
def command(command: tuple[str, ...], as_it_is: bool, alone: bool, as_json: bool) -> int:
    """Find the first operation or line at which two runs of COMMAND part.

    COMMAND is trained twice with everything held fixed, then up to twice more for each rung: the step, the operation
    and the line. Of two runs of an experiment it is said which draws differ; where none do, both are trained again.
    A training is ended after 600 seconds, or the timeout below [run] in deviate.toml.

    Exit status 0: the runs are equal; 1: they part.
    """
    from deviate.report.views import page_view
    from deviate.report.writers.registry import facts_json, find_writer, writers

    if not command:
        raise BadOption("no command to compare", hint="type it after --, such as deviate diverge -- python train.py")
    writer = find_writer("json" if as_json else None, None, writers(json=facts_json))
    if _names_runs(command):
        facts = stored(command)
    else:
        facts = _two(command) or trained(command, as_it_is=as_it_is, alone=alone)
    view = page_view(facts)
    show(view, writer, None, view.page().command)
    return facts.status


def _names_runs(words: Sequence[str]) -> bool:
    """Tell whether words name two runs of an experiment: numbers end them, and no program is called like the first."""
    return len(words) == 3 and all(word[-1:].isdigit() for word in words[1:]) and shutil.which(words[0]) is None


def _two(words: Sequence[str]) -> Divergence | None:
    """Compare the first runs of two experiments; None where words do not name two."""
    from deviate.probes.diverge import diverge_experiments
    from deviate.store.folders import Workspace

    workspace = Workspace.nearest(Path.cwd())
    if len(set(words)) == 1 and words[0] in workspace.names() and shutil.which(words[0]) is None:
        raise BadOption(f"{words[0]!r} is one experiment", hint=f"name two of its runs: deviate diverge {words[0]} 0 1")
    if len(words) != 2 or not set(words) <= set(workspace.names()):
        return None
    first, second = (workspace.experiment(word) for word in words)
    known = {folder.run.folder: folder for folder in second.runs()}
    pairs = [(folder, known[folder.run.folder]) for folder in first.runs() if folder.run.folder in known]
    ours, theirs = pairs[0] if pairs else (first.find_run("0"), second.find_run("0"))
    return diverge_experiments((first, ours), (second, theirs))


def stored(words: Sequence[str]) -> Divergence:
    """Compare two runs of an experiment, which three words name."""
    from deviate.probes.diverge import diverge_runs
    from deviate.store.folders import Workspace

    experiment = Workspace.nearest(Path.cwd()).find_experiment(words[0])
    first, second = (experiment.find_run(word) for word in words[1:])
    return diverge_runs(experiment, (first, second), _limit(), announce=_announce)


def trained(words: Sequence[str], *, as_it_is: bool, alone: bool = False) -> Divergence:
    """Train a command twice, and compare the two; or once, with each operation called twice, where it is `alone`."""
    from deviate.cli.stdin import given_input
    from deviate.probes.diverge import diverge
    from deviate.runs.request import Request

    with given_input() as stdin:
        request = Request(command=list(words), stdin=stdin, **request_fields((), None))
        return diverge(request, _limit(), announce=_announce, as_it_is=as_it_is, alone=alone)


def _limit() -> float:
    from deviate.probes.diverge import DEFAULT_LIMIT
    from deviate.source.config import file_settings

    return float(file_settings().get("timeout", DEFAULT_LIMIT))


def _announce(name: str) -> None:
    click.echo(name, err=True)
