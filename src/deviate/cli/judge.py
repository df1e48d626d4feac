"""``deviate judge``: keep a change, discard it, or run it once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.main import BeforeCommand
from deviate.cli.printing import examples, json_option, request_fields, show

if TYPE_CHECKING:
    from deviate.facts.judging import Judged, Observe
    from deviate.runs.request import Request


@click.command(
    "judge",
    cls=BeforeCommand,
    epilog=examples(
        "deviate judge -- python train.py             run it until it is decided",
        "deviate judge --value 0.9712                 a result from elsewhere",
        "deviate judge --value 0.9712 --value 0.9698  the same, run once more",
        "deviate judge wider                          the runs of an experiment",
    ),
)
@click.argument("words", nargs=-1, metavar="-- COMMAND... | NAME")
@click.option(
    "--value",
    "values",
    type=float,
    multiple=True,
    help="A result of the change, all of them in the order of the runs; nan for a run that failed. Repeatable.",
)
@json_option
def command(words: tuple[str, ...], values: tuple[float, ...], as_json: bool) -> int:
    """Say whether a change is kept: whether it is better than the baseline.

    With COMMAND, the project is run as it is now, one run after the other, until that is decided. What is kept becomes
    the baseline.

    The exit status is 0 for keep, 1 for discard, 3 for run more, and 2 where the change or the question cannot be run.
    """
    from deviate.facts.judging import choose_judged, judge_command
    from deviate.report.views import page_view
    from deviate.report.writers.registry import facts_json, find_writer, writers
    from deviate.store.folders import Workspace

    writer = find_writer("json" if as_json else None, None, writers(json=facts_json))
    workspace = Workspace.nearest(Path.cwd())

    def train() -> Judged:
        with training(words) as (request, observe):
            return judge_command(request, workspace, observe)

    judged = choose_judged(workspace, words, values, train)
    show(page_view(judged), writer, None, "deviate judge")
    return judged.status


# What a baseline and a change have in common.


@contextmanager
def training(words: Sequence[str], **fields: Any) -> Iterator[tuple[Request, Observe]]:
    """Give a request of the command that was typed, and what shows how far its runs are."""
    from deviate.cli.progress import Progress
    from deviate.cli.stdin import given_input
    from deviate.runs.request import Request

    with given_input() as stdin, Progress() as progress:
        yield Request(command=list(words), stdin=stdin, **request_fields((), None), **fields), progress.observe
