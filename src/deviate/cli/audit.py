"""``deviate audit``: which sources of nondeterminism a command has, which are pinned, and by what."""

from __future__ import annotations

from pathlib import Path

import click

from deviate.cli.main import BeforeCommand
from deviate.cli.printing import (
    PAGE_SUFFIXES,
    examples,
    json_option,
    output_option,
    request_fields,
    set_option,
    show,
    verbose_option,
)
from deviate.core.errors import BadOption


@click.command(
    "audit",
    cls=BeforeCommand,
    epilog=examples("deviate audit -- python train.py", "deviate audit --explain shuffle -- python train.py"),
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, metavar="-- COMMAND...")
@set_option
@click.option("--limit", type=float, metavar="SECONDS", help="Seconds after which each probe is ended.  [default: 60]")
@click.option("--quick", is_flag=True, help="Make only the two probes of COMMAND as it is.")
@click.option(
    "--explain", metavar="FACTOR", help="List the lines that draw random numbers for FACTOR, with their first digests."
)
@output_option(PAGE_SUFFIXES)
@json_option
@verbose_option
def command(
    command: tuple[str, ...],
    limit: float | None,
    quick: bool,
    settings: tuple[str, ...],
    explain: str | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """List the sources of nondeterminism of COMMAND, and what pins each.

    COMMAND is run several times, each time only until every source has been drawn from and a value was recorded: twice
    as it is, twice with everything held fixed, and once for each source with only that one varied.
    """
    from deviate.cli.stdin import given_input
    from deviate.probes.audit import audit
    from deviate.probes.trial import DEFAULT_LIMIT
    from deviate.report.views import page_view
    from deviate.report.writers.registry import facts_json, find_writer, writers
    from deviate.runs.request import Request

    writer = find_writer("json" if as_json else None, output, writers(json=facts_json))
    if not command:
        raise BadOption("no command to audit", hint="type it after --, such as deviate audit -- python train.py")
    with given_input() as stdin:
        facts = audit(
            Request(command=list(command), stdin=stdin, **request_fields(settings, None)),
            DEFAULT_LIMIT if limit is None else limit,
            announce=lambda name: click.echo(f"probe: {name}", err=True),
            quick=quick,
            explain=explain,
        )
    view = page_view(facts)
    show(view, writer, output, view.page().command, "audit", verbose=verbose)
    return facts.status
