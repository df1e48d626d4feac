"""``deviate init``: what a run would do, and a ``deviate.toml`` to edit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from deviate.cli.main import BeforeCommand
from deviate.cli.printing import draws_text, examples, say, show_size
from deviate.core.errors import BadOption, some_of
from deviate.core.shell_words import typed_line

if TYPE_CHECKING:
    from deviate.runs.prepared import Prepared

#: Names of one kind that are listed; the rest is counted.
LISTED = 5

NO_METRICS = "none in the source: those that are printed are seen after the first run"


@click.command(
    "init",
    cls=BeforeCommand,
    epilog=examples("deviate init -- python train.py --epochs 10", "deviate init --dry-run"),
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]")
@click.option("--dry-run", is_flag=True, help="Show what a run would do; write nothing.")
def command(command: tuple[str, ...], dry_run: bool) -> None:
    """Show what a run of COMMAND would do, and write a commented deviate.toml.

    The file names the entry and lists, as comments, the metrics, the main loop and the random draws that were found.
    Nothing changes until you edit it. Without COMMAND, the likeliest script of the current folder is taken.
    """
    from deviate.core.secrets import mask_words
    from deviate.runs.prepared import prepare_request
    from deviate.runs.request import Request
    from deviate.source.config import FILE_NAME, file_settings
    from deviate.source.config_file import starter_config

    words = list(command) or _likely_command()
    prepared = prepare_request(Request(command=words, **file_settings()))
    path = prepared.target.project / FILE_NAME
    if path.exists() and not dry_run:
        raise BadOption(f"{path} is there already", hint="type --dry-run to see what a run would do, or edit the file")
    say(*_plan(prepared))
    if dry_run:
        return
    _write(path, starter_config(prepared.findings))
    say("", f"written to {path}: everything but the entry is commented out", err=True)
    say(f"next        deviate run -n 8 -- {typed_line(mask_words(words))}", err=True)


def _likely_command() -> list[str]:
    from deviate.cli.standing import likely_scripts

    scripts = likely_scripts(Path.cwd())
    if not scripts:
        raise BadOption(
            "no script in this folder looks like a training",
            hint="type its command, such as deviate init -- python train.py",
        )
    return ["python", scripts[0]]


def _write(path: Path, text: str) -> None:
    from deviate.store.files import write_whole

    try:
        write_whole(path, text.encode())
    except OSError as problem:
        raise BadOption(f"cannot write {path}: {problem.strerror}", hint="make the folder writable") from problem


def _plan(prepared: Prepared) -> list[str]:
    from deviate.core.secrets import mask_words
    from deviate.report.words import count

    findings, snapshot = prepared.findings, prepared.snapshot
    loop = findings.main_loop
    metrics = [metric.name for metric in findings.metrics if metric.selected]
    copied = sum(item.size for item in snapshot.items if item.kind == "copy")
    return [
        f"command     {typed_line(mask_words(prepared.target.command))}",
        f"program     {prepared.program}",
        f"entry       {findings.entry}",
        f"main loop   {f'{loop.file}:{loop.line}' if loop else 'none found: records have no iteration'}",
        f"metrics     {some_of(metrics, LISTED) or NO_METRICS}",
        f"draws       {draws_text(findings.draws) or 'none in your own code'}",
        f"copied      {count(len(snapshot.digests), 'file')}, {show_size(copied)}, for each run",
        f"linked      {some_of([item.path for item in snapshot.linked], LISTED) or 'nothing'}",
        f"left out    {some_of([item.path for item in snapshot.left_out], LISTED) or 'nothing'}",
    ]
