"""``deviate diverge``: the first place where two runs of a command part."""

from __future__ import annotations

from pathlib import Path

import click

from deviate.cli.main import BeforeCommand
from deviate.cli.output import (
    format_named,
    json_option,
    output_options,
    request_fields,
    set_option,
    show,
    verbose_option,
)
from deviate.cli.printing import examples
from deviate.core.errors import BadOption


@click.command(
    "diverge",
    cls=BeforeCommand,
    epilog=examples("deviate diverge -- python train.py", "deviate diverge --as-is -- python train.py"),
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, metavar="-- COMMAND...")
@click.option("--project", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Root of the project.")
@set_option
@click.option("--as-is", "as_it_is", is_flag=True, help="Hold nothing fixed: compare two runs as COMMAND makes them.")
@click.option(
    "--limit", type=float, metavar="SECONDS", help="Seconds after which each training is ended.  [default: 600]"
)
@output_options("terminal, md, tex, json or html.")
@json_option
@verbose_option
def command(
    command: tuple[str, ...],
    as_it_is: bool,
    limit: float | None,
    project: Path | None,
    settings: tuple[str, ...],
    format_name: str | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """Find the first operation or line at which two runs of COMMAND part.

    COMMAND is trained twice with everything held fixed, then up to twice more for each rung: the step, the operation
    and the line. Exit status 0: the runs are equal; 1: they part.
    """
    from deviate.cli.stdin import given_input
    from deviate.probes.diverge import DEFAULT_LIMIT, diverge
    from deviate.report.views import divergence_view
    from deviate.report.writers.json_object import facts_json
    from deviate.report.writers.registry import find_writer, writers
    from deviate.runs.request import Request

    writer = find_writer(format_named(format_name, as_json=as_json), output, writers(json=facts_json))
    if not command:
        raise BadOption("no command to compare", hint="type it after --, such as deviate diverge -- python train.py")
    with given_input() as stdin:
        facts = diverge(
            Request(command=list(command), stdin=stdin, project=project, **request_fields(settings, project)),
            DEFAULT_LIMIT if limit is None else limit,
            announce=lambda name: click.echo(name, err=True),
            as_it_is=as_it_is,
        )
    view = divergence_view(facts)
    show(view, writer, output, view.page().command, "divergence", verbose=verbose)
    return facts.status
