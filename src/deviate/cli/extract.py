"""``deviate extract``: the main loop and the metrics of a project, shown, written or reviewed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import questionary
from msgspec.structs import replace

from deviate.cli.output import (
    format_named,
    json_option,
    output_options,
    request_fields,
    set_option,
    show,
    verbose_option,
)
from deviate.cli.printing import Styled, draws_text, examples, say, say_json, shortened
from deviate.core.errors import BadOption, NoMetrics, NoScript
from deviate.core.experiment import Metric, ObservedWish
from deviate.core.shell_words import typed_line, typed_word
from deviate.report.escape import clean
from deviate.source.findings import Findings

if TYPE_CHECKING:
    from deviate.core.experiment import Draw, Metric
    from deviate.probes.trial import PrintedNumber, Verification
    from deviate.runs.request import Request
    from deviate.source.findings import Findings


#: Metrics that are listed without ``-v``.
METRICS_SHOWN = 6


class _BeforeCommand(click.Command):
    """A sub-command whose own words end at ``--``; what follows is a command of the user's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before ``--`` and keep what stands behind it as it is."""
        end = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:end])
        if ctx.params["command"]:
            raise click.UsageError(f"unexpected argument {ctx.params['command'][0]!r}: one ENTRY, then -- COMMAND", ctx)
        ctx.params["command"] = tuple(args[end + 1 :])
        return rest


@click.command(
    "extract",
    epilog=examples(
        "deviate extract train.py", "deviate extract train.py --review", "deviate extract --verify -- python train.py"
    ),
    cls=_BeforeCommand,
)
@click.argument("entry", required=False)
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]")
@click.option(
    "--project", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Root of the project [default: .]."
)
@click.option("--diff", is_flag=True, help="Show how the source is instrumented.")
@click.option(
    "--write", is_flag=True, help="Write the metrics into deviate.toml; with --verify those read from the output."
)
@click.option(
    "--review",
    is_flag=True,
    help="Select, rename and aggregate the metrics in the terminal, then write them; with --verify those read from "
    "the output.",
)
@verbose_option
@click.option("--verify", is_flag=True, help="Run COMMAND for a short while and report which metrics yield values.")
@set_option
@click.option(
    "--limit", type=float, metavar="SECONDS", help="With --verify: seconds after which COMMAND is ended.  [default: 60]"
)
@output_options("With --verify: terminal, md, tex, json or html.")
@json_option
def command(entry: str | None, command: tuple[str, ...], project: Path | None, **options: Any) -> int:
    """Find the main loop and the metrics that a script reports.

    COMMAND is not run: its arguments decide which of several models, say, is trained. With --verify it is run.
    Without ENTRY, the scripts that COMMAND starts are read.
    """
    if options["verify"]:
        return _verify(entry, command, project, **options)
    if any(options[name] is not None for name in ("limit", "format_name", "output")):
        raise BadOption(
            "--limit, --format and -o are only of use with --verify",
            hint="add --verify, or leave them out",
        )
    if entry is None and not command:
        from deviate.cli.standing import likely_scripts

        script = next(iter(likely_scripts(Path.cwd())), "")
        named = f": deviate extract {typed_word(script)}" if script else "; no Python file here looks like one"
        raise BadOption("no ENTRY to read", hint=f"name the script that trains{named}")
    _extract(entry, command, project, **options)
    return 0


def _verify(
    entry: str | None,
    words: tuple[str, ...],
    project: Path | None,
    *,
    limit: float | None,
    format_name: str | None,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    from deviate.cli.stdin import given_input
    from deviate.core.secrets import mask_words
    from deviate.probes.trial import DEFAULT_LIMIT, verify
    from deviate.report.views import verification_view
    from deviate.report.writers.contracts import facts_json
    from deviate.report.writers.registry import find_writer, writers
    from deviate.runs.request import Request

    if options["diff"]:
        raise BadOption("--verify and --diff exclude each other", hint="type one after the other")
    if not words:
        raise BadOption(
            "no command to verify with", hint="type it after --, such as deviate extract --verify -- python train.py"
        )
    writer = find_writer(format_named(format_name, as_json=as_json), output, writers(json=facts_json))
    if options["review"]:
        require_terminal()
    limit = DEFAULT_LIMIT if limit is None else limit
    if writer.name != "json":
        say(f"running {typed_line(mask_words(words))} as it is, for up to {limit:g} s", err=True)
    fields = {**request_fields(options["settings"], project), **({"entry": entry} if entry else {})}
    with given_input() as stdin:
        request = Request(command=list(words), project=project, stdin=stdin, **fields)
        facts = verify(request, limit)
    view = verification_view(facts)
    show(view, writer, output, view.page().command, "verification")
    if options["write"] or options["review"]:
        _write_observed(request, facts, asks=options["review"])
    return int(not facts.measured)


def _write_observed(request: Request, facts: Verification, *, asks: bool) -> None:
    from deviate.core.experiment import ObservedWish
    from deviate.runs.prepared import find_requested
    from deviate.source.config_file import write_observed
    from deviate.source.target import unscripted_target

    try:
        project = find_requested(request).project
    except NoScript:
        project = unscripted_target(request.command, Path.cwd(), request.project).project
    found = [
        ObservedWish(name=number.name, direction=number.direction, kind=number.kind)
        for number in facts.printed
        if number.kind
    ]
    wishes = review_numbers(facts.printed) if asks else found
    path = write_observed(project, wishes, replaces=asks)
    metrics = sum(wish.metric for wish in wishes)
    say(f"{metrics} metrics that are read from the output written to {path}", err=True)


def _extract(entry: str | None, words: tuple[str, ...], project: Path | None, **options: Any) -> None:
    from deviate.source.overlay import show_edits

    project, findings = _read(entry, words, project, request_fields(options["settings"], project).get("factor", ()))
    if options["review"]:
        findings = review_metrics(findings)
    if options["write"] or options["review"]:
        _write(project, findings)
    if options["as_json"]:
        say_json(json.dumps(contract(findings), indent=1))
    elif options["diff"]:
        _show_diff(show_edits(project, findings))
    else:
        say(*(_listing if options["verbose"] else _screen)(project, findings))


def _read(
    entry: str | None, words: tuple[str, ...], project: Path | None, factors: tuple[str, ...]
) -> tuple[Path, Findings]:
    """Return the project and what the entry, or else each script that the command starts, reports."""
    from deviate.source.selection import extract, extract_starts
    from deviate.source.target import find_target, project_root

    cwd = Path.cwd()
    if entry is None:
        target = find_target(words, cwd, None, project)
        return target.project, extract_starts(target.project, target.starts, factors, cwd)
    script = Path(os.path.abspath(entry))
    project = project.resolve() if project else project_root(cwd, script) if script.exists() else cwd
    relative = os.path.relpath(script, project) if script.exists() else entry
    return project, extract(project, relative, factors, words, cwd)


def contract(findings: Findings) -> dict[str, Any]:
    """Return `findings` as ``deviate extract --json`` prints them: how values are captured stays our own affair."""
    import msgspec

    whole = msgspec.to_builtins(findings)
    for metric in whole["metrics"]:
        del metric["capture"]
    for holder in (whole, *whole["scripts"]):
        if holder["main_loop"]:
            del holder["main_loop"]["span"]
    for draw in whole["draws"]:
        del draw["span"], draw["by_hand"]
    return {
        key: whole[key]
        for key in ("schema", "entry", "main_loop", "metrics", "rejected", "unreadable", "draws", "outside", "scripts")
    }


def _show_diff(pieces: Iterable[str]) -> None:
    """Print a difference: into a file or a program byte by byte, in a terminal with nothing that it obeys."""
    if sys.stdout.isatty():
        say(*(line for piece in pieces for line in piece.removesuffix("\n").split("\n")))
    else:
        click.echo("".join(pieces), nl=False)


def _write(project: Path, findings: Findings) -> None:
    from deviate.source.config_file import write_metrics

    chosen = [metric for metric in findings.metrics if metric.selected]
    if not chosen:
        raise NoMetrics(
            f"no metric of {findings.entry} is selected; deviate.toml was not written",
            hint="tick at least one metric, or add [[metric]] name, file, line, expression to deviate.toml by hand",
        )
    try:
        path = write_metrics(project, findings.entry, chosen)
    except OSError as problem:
        raise BadOption(
            f"cannot write {project / 'deviate.toml'}: {problem.strerror}", hint="make the project folder writable"
        ) from problem
    say(f"{len(chosen)} metrics written to {path}", err=True)


def _screen(project: Path, findings: Findings) -> list[str]:
    """Return a line for the main loop, each of the first metrics and the draws of all factors."""
    from deviate.cli.list import aligned
    from deviate.report.escape import clean
    from deviate.report.words import count

    chosen = sorted((metric for metric in findings.metrics if metric.selected), key=lambda each: -each.confidence)
    rows = [
        (clean(each.name), _kind(each), f"{each.file}:{each.line}", f"{each.confidence:.0%} sure")
        for each in chosen[:METRICS_SHOWN]
    ]
    more = [f"and {count(len(chosen) - len(rows), 'more metric')}"] if len(chosen) > len(rows) else []
    loops = _loop_lines(project, findings)
    draws = draws_text(findings.draws)
    left = len(findings.metrics) - len(chosen), len(findings.rejected), len(findings.unreadable)
    counts = zip(left, ("not selected", "rejected", "unreadable"), strict=True)
    others = [f"{number} {what}" for number, what in counts if number]
    return [
        *(loops if findings.scripts else loops[:1]),
        f"metrics    {len(chosen)} in {len({m.file for m in chosen})} of {len(findings.files)} files read",
        "",
        *(f"  {line}" for line in aligned(rows) if rows),
        *more,
        "",
        *([f"draws      {draws}"] if draws else []),
        f"{', '.join([*others, 'source lines and reasons'])}: -v",
    ]


def _kind(metric: Metric) -> str:
    wish = f", {metric.direction} is better" if metric.direction else ""
    return f"{metric.kind}{wish}, {metric.aggregate}"


def _listing(project: Path, findings: Findings) -> list[str]:
    lines = [*_loop_lines(project, findings), ""]
    chosen = [metric for metric in findings.metrics if metric.selected]
    lines += [f"metrics    {len(chosen)} in {len({m.file for m in chosen})} of {len(findings.files)} files read", ""]
    for metric in sorted(chosen, key=lambda metric: -metric.confidence):
        lines += _metric_lines(project, metric)
    lines += _draw_lines(findings.draws)
    others = [metric for metric in findings.metrics if not metric.selected]
    lines += [f"not selected  {m.name}  {m.file}:{m.line}  ({m.why})" for m in others]
    lines += [f"rejected  {r.variable}  {r.file}:{r.line}  ({r.reason})" for r in findings.rejected]
    lines += [f"outside     {file}  (read: an import may lead there)" for file in findings.outside]
    lines += [f"unreadable  {u.file}:{u.line}  {u.error}" for u in findings.unreadable]
    return lines


def _loop_lines(project: Path, findings: Findings) -> list[str]:
    if findings.scripts:
        loops = [f"{loop.file}:{loop.line}" if (loop := each.main_loop) else "none" for each in findings.scripts]
        named = zip(findings.scripts, loops, strict=True)
        return [f"script     {script.entry}, main loop {loop}" for script, loop in named]
    loop = findings.main_loop
    if loop is None:
        return ["main loop  none found: records have no iteration; name it in deviate.toml as [main_loop] file, line"]
    where = f"main loop  {loop.file}:{loop.line}   "
    source = shortened(_source(project, loop.file, loop.line), len(where))
    return [f"{where}{source}", f"           {loop.why}"]


def _metric_lines(project: Path, metric: Metric) -> list[str]:
    from deviate.report.escape import clean

    name, why = click.style(clean(metric.name), bold=True), click.style(shortened(clean(metric.why), 7), dim=True)
    where = f"       {metric.file}:{metric.line} in {metric.function}   "
    return [
        Styled(f"{metric.confidence:5.0%}  {name}   {_kind(metric)}"),
        f"{where}{shortened(_source(project, metric.file, metric.line), len(where))}",
        Styled(f"       {why}"),
        "",
    ]


def _draw_lines(draws: list[Draw]) -> list[str]:
    """List the draws in the project's own files; those of libraries are told apart when the program runs."""
    if not draws:
        return []
    calls = [f"{draw.file}:{draw.line} {draw.call}" for draw in draws]
    width = max(map(len, calls))
    reasons = [f"by name alone: {draw.why}" if draw.by_name else draw.why for draw in draws]
    lines = [f"{draw.factor:9}  {call:{width}}  {why}" for draw, call, why in zip(draws, calls, reasons, strict=True)]
    return [f"draws      {len(draws)} in the project's own code, each with its factor", "", *lines, ""]


def _source(project: Path, file: str, line: int) -> str:
    text = (project / file).read_bytes().decode("utf-8", errors="replace").splitlines()
    return text[line - 1].strip() if line <= len(text) else ""


# The interactive review: tick, rename and aggregate metrics in a terminal, and say which values are better.

AGGREGATES = ("last", "best", "mean", "max", "min")
UNKNOWN = "unknown"
DIRECTIONS = ("higher", "lower", UNKNOWN)
DONE = "done"

Kept = TypeVar("Kept", Metric, ObservedWish)


def require_terminal() -> None:
    """Refuse where there is nobody to ask.

    Raises
    ------
    BadOption
        If there is no terminal to ask in.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadOption(
            "--review asks questions and this is no terminal",
            hint="type --write and edit deviate.toml instead",
        )


def review_metrics(findings: Findings) -> Findings:
    """Ask which metrics to keep, under which names, with which aggregates and directions.

    Raises
    ------
    BadOption
        If there is no terminal to ask in.
    """
    require_terminal()
    kept = _tick([f"{m.name:32} {m.file}:{m.line}  {m.expression}" for m in findings.metrics],
                 [m.selected for m in findings.metrics])  # fmt: skip
    metrics = [replace(m, selected=index in kept) for index, m in enumerate(findings.metrics)]
    while (index := _choose({at: m for at, m in enumerate(metrics) if m.selected})) is not None:
        taken = {m.name for m in metrics if m.selected} - {metrics[index].name}
        metrics[index] = _edit(metrics[index], taken)
    return replace(findings, metrics=metrics)


def review_numbers(printed: Sequence[PrintedNumber]) -> list[ObservedWish]:
    """Ask which numbers of the output are metrics, and how they are called and read; return what is to be written.

    A number that was none and stays none has no entry.
    """
    was = [number.kind is not None for number in printed]
    lines = [f"{n.name:32} {n.source}: {n.first:g} ... {n.last:g}  {n.reason or 'a metric'}" for n in printed]
    kept = _tick(lines, was)
    wishes = {
        at: ObservedWish(name=number.name, metric=at in kept, direction=number.direction, kind=number.kind)
        for at, number in enumerate(printed)
        if at in kept or was[at]
    }
    names = {at: number.name for at, number in enumerate(printed) if at in kept}
    while (index := _choose({at: replace(wishes[at], name=name) for at, name in names.items()})) is not None:
        edited = _edit(replace(wishes[index], name=names[index]), {*names.values()} - {names[index]})
        names[index] = edited.name
        rename = edited.name if edited.name != printed[index].name else ""
        wishes[index] = replace(edited, name=printed[index].name, rename=rename)
    return list(wishes.values())


def _tick(lines: Sequence[str], chosen: Sequence[bool]) -> list[int]:
    choices = [
        questionary.Choice(clean(line), index, checked=checked)
        for index, (line, checked) in enumerate(zip(lines, chosen, strict=True))
    ]
    if not choices:
        return []
    kept: list[int] = questionary.checkbox(
        "Keep which metrics? (space ticks, enter continues)", choices=choices
    ).unsafe_ask()
    return kept


def _choose(metrics: Mapping[int, Metric | ObservedWish]) -> int | None:
    choices = [
        questionary.Choice(clean(f"{metric.name:32} {metric.aggregate}"), index) for index, metric in metrics.items()
    ]
    answer = questionary.select(
        "Change a name, an aggregate or a direction?",
        choices=[questionary.Choice("no, write deviate.toml", DONE), *choices],
    ).unsafe_ask()
    return None if answer == DONE else answer


def _edit(metric: Kept, taken: set[str]) -> Kept:
    name = questionary.text(
        "Name:",
        default=clean(metric.name),
        validate=lambda text: (bool(text.strip()) and text.strip() not in taken) or "a name of its own is needed",
    ).unsafe_ask()
    # An aggregate with a parameter (at 9) can be kept, not made here: deviate.toml takes it.
    choices = list(dict.fromkeys([*AGGREGATES, metric.aggregate]))
    aggregate = questionary.select("One number per run:", choices=choices, default=metric.aggregate).unsafe_ask()
    direction = questionary.select(
        "Better values:", choices=DIRECTIONS, default=metric.direction or UNKNOWN
    ).unsafe_ask()
    better = None if direction == UNKNOWN else direction
    return replace(metric, name=name.strip(), aggregate=aggregate, direction=better)
