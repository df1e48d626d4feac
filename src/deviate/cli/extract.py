"""``deviate extract``: the main loop and the metrics of a project, shown, written or reviewed."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from deviate.cli.printing import (
    Styled,
    aligned,
    examples,
    json_option,
    request_fields,
    say,
    say_json,
    set_option,
    shortened,
    show,
    steps,
    terminal_width,
    verbose_option,
)
from deviate.cli.review import Line, Review, ask
from deviate.core.errors import BadOption, NoMetrics, NoScript
from deviate.core.experiment import Direction, Findings, Metric, ObservedWish, Pace
from deviate.core.shell_words import typed_line, typed_word
from deviate.observe.headline import by_kind, main_metric
from deviate.report.escape import clean

if TYPE_CHECKING:
    from deviate.core.experiment import Draw, Findings, Metric
    from deviate.probes.trial import PrintedNumber, Verification
    from deviate.runs.request import Request


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
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Root of the project.  [default: .]",
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
@click.option(
    "--verify",
    is_flag=True,
    help="Run COMMAND for 60 seconds, or as --set timeout says, and report which metrics yield values.",
)
@set_option
@json_option
def command(entry: str | None, command: tuple[str, ...], project: Path | None, **options: Any) -> int:
    """Find the main loop and the metrics that a script reports.

    COMMAND is not run: its arguments decide which of several models, say, is trained. With --verify it is run.
    Without ENTRY, the scripts that COMMAND starts are read.
    """
    if options["verify"]:
        return _verify(entry, command, project, **options)
    if entry is None and not command:
        from deviate.cli.standing import likely_scripts

        script = next(iter(likely_scripts(Path.cwd())), "")
        named = f": deviate extract {typed_word(script)}" if script else "; no Python file here looks like one"
        raise BadOption("no ENTRY to read", hint=f"name the script that trains{named}")
    _extract(entry, command, project, **options)
    return 0


def _verify(entry: str | None, words: tuple[str, ...], project: Path | None, *, as_json: bool, **options: Any) -> int:
    from deviate.cli.stdin import given_input
    from deviate.core.secrets import mask_words
    from deviate.probes.trial import DEFAULT_LIMIT, verify
    from deviate.report.views import page_view
    from deviate.report.writers.registry import facts_json, find_writer, writers
    from deviate.runs.request import Request
    from deviate.source.config import read_settings

    if options["diff"]:
        raise BadOption("--verify and --diff exclude each other", hint="type one after the other")
    if not words:
        raise BadOption(
            "no command to verify with", hint="type it after --, such as deviate extract --verify -- python train.py"
        )
    writer = find_writer("json" if as_json else None, None, writers(json=facts_json))
    if options["review"]:
        require_terminal()
    fields = {**request_fields(options["settings"], project), **({"entry": entry} if entry else {})}
    limit = read_settings(options["settings"]).get("timeout", DEFAULT_LIMIT)
    if writer.name != "json":
        say(f"running {typed_line(mask_words(words))} as it is, for up to {limit:g} s", err=True)
    with given_input() as stdin:
        request = Request(command=list(words), project=project, stdin=stdin, **fields)
        facts = verify(request, limit)
    view = page_view(facts)
    show(view, writer, None, view.page().command, "verification")
    if options["write"] or options["review"]:
        _write_observed(request, facts, asks=options["review"])
    return int(not facts.measured)


def _write_observed(request: Request, facts: Verification, *, asks: bool) -> None:
    from deviate.core.experiment import ObservedWish
    from deviate.report.words import count
    from deviate.runs.prepared import find_requested
    from deviate.source.config_file import write_observed
    from deviate.source.entry import unscripted_target

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
    say(f"{count(metrics, 'metric')} read from the output written to {path}", err=True)


def _extract(entry: str | None, words: tuple[str, ...], root: Path | None, **options: Any) -> None:
    from deviate.source.overlay import show_edits

    project, findings = _read(entry, words, root, request_fields(options["settings"], root).get("factor", ()))
    if options["review"]:
        require_terminal()
        findings = review_metrics(project, findings)
    if options["write"] or options["review"]:
        _write(project, findings)
    if options["as_json"]:
        say_json(json.dumps(contract(findings), indent=1))
    elif options["diff"]:
        _show_diff(show_edits(project, findings))
    else:
        say(*(_listing(project, findings) if options["verbose"] else _screen(project, findings, words)))


def _read(
    entry: str | None, words: tuple[str, ...], root: Path | None, factors: tuple[str, ...]
) -> tuple[Path, Findings]:
    """Return the project and what the entry, or else each script that the command starts, reports."""
    from deviate.source.entry import find_target, project_root
    from deviate.source.selection import extract, extract_starts

    cwd = Path.cwd()
    if entry is None:
        target = find_target(words, cwd, None, root)
        return target.project, extract_starts(target.project, target.starts, factors, cwd)
    script = Path(os.path.abspath(entry))
    project = root.resolve() if root else project_root(cwd, script) if script.exists() else cwd
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
    from deviate.report.words import count
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
    say(f"{count(len(chosen), 'metric')} written to {path}", err=True)


#: Metrics that this tool is less sure of have a question mark.
SURE = 0.8

#: What is left out by an option of the command, or as it is no metric for sure: so many are named.
LEFT_OUT_NAMED = 3

#: Where metrics are reported, in the order in which they are listed; how often an ``if`` lets them through is not said.
PACES: dict[Pace, str] = {
    "round": "in the {round} loop",
    "within": "in an inner loop",
    "end": "at the end",
    "": "when is not known",
}


def _screen(project: Path, findings: Findings, words: Sequence[str]) -> list[str]:
    """Return the metrics by when they are reported, the main one marked; what was left out, and what to type next."""
    from deviate.core.secrets import mask_words

    chosen = [metric for metric in findings.metrics if metric.selected]
    typed = typed_line(mask_words(words) or ["python", findings.entry])
    sure = all(metric.confidence >= SURE for metric in chosen)
    typed_next = [
        *([("right?", f"deviate run -n 8 -- {typed}")] if chosen else []),
        *([] if sure and chosen else [("sure?", f"deviate extract --verify -- {typed}")]),
        ("not?", f"deviate extract --review -- {typed}"),
    ]
    return [
        _head(findings, chosen),
        *(_script_lines(findings)),
        *_metric_rows(findings, chosen),
        *_not_taken(findings),
        *steps(typed_next),
    ]


def _head(findings: Findings, chosen: Sequence[Metric]) -> str:
    """Count the metrics, and say where the main loop is; when they are reported, if that is the same of all."""
    from deviate.report.words import count

    number = count(len(chosen), "metric") if chosen else f"No metric was found in {findings.entry}"
    paces = {metric.pace for metric in chosen} - {""}
    when = PACES[paces.pop()].format(round=_round(findings)) if len(paces) == 1 else ""
    if findings.scripts:
        return f"{number}, of {count(len(findings.scripts), 'script')}"
    loop = findings.main_loop
    if loop is None:
        unknown = "no main loop was found"
        return f"{number} ({unknown})" if chosen else f"{number}; {unknown}: name it in deviate.toml, [main_loop]"
    where = f"{loop.file}:{loop.line}"
    return f"{number}, reported {when} ({where})" if when else f"{number} (loop at {where})"


def _script_lines(findings: Findings) -> list[str]:
    loops = [f"loop at {loop.file}:{loop.line}" if (loop := each.main_loop) else "no loop" for each in findings.scripts]
    return [f"{script.entry} ({loop})" for script, loop in zip(findings.scripts, loops, strict=True)]


def _round(findings: Findings) -> str:
    return findings.main_loop.word if findings.main_loop else "iteration"


def _metric_rows(findings: Findings, chosen: Sequence[Metric]) -> Iterator[str]:
    """List the metrics, those that are reported alike below one another, and quality before losses before costs."""
    sorted_metrics = by_kind(chosen)
    main = sorted_metrics[0].name if chosen else ""
    groups = {pace: [each for each in sorted_metrics if each.pace == pace] for pace in PACES}
    ordered = [metric for metrics in groups.values() for metric in metrics]
    word = _round(findings)
    lines = iter(aligned([_metric_row(each, main, word) for each in ordered], terminal_width(), going=(3, 2, 1)))
    several = len({each.pace for each in chosen} - {""}) > 1
    for pace, metrics in groups.items():
        if several and metrics:
            yield f"{PACES[pace].format(round=word)}:"
        yield from islice(lines, len(metrics))


def _metric_row(metric: Metric, main: str, word: str) -> tuple[str, str, str, str]:
    mark = "★" if metric.name == main else " " if metric.confidence >= SURE else "?"
    is_known = metric.direction and metric.name[0] + metric.name[-1] != "{}"  # the run says what ``{stage}`` is
    better = f"{metric.direction} is better" if is_known else "better: not known"
    of_round = f" {word}" if metric.aggregate in ("last", "best") and metric.pace in ("round", "within") else ""
    return f"{mark} {clean(metric.name)}", better, metric.aggregate + of_round, f"{metric.file}:{metric.line}"


def _why_left(metric: Metric) -> str:
    if "cannot be recorded" in metric.why:
        return "cannot be recorded"
    from deviate.source.metrics.finding import SELECTED_FROM

    return "not sure" if metric.confidence < SELECTED_FROM else "not in deviate.toml"


def _not_taken(findings: Findings) -> list[str]:
    """Name what this command does not report, with the option that it needs, and what is hardly a metric."""
    left = [f"{each.name} ({each.file}:{each.line}), needs {each.needs}" for each in findings.rejected if each.needs]
    left += [
        f"{each.name} ({each.file}:{each.line}), {_why_left(each)}" for each in findings.metrics if not each.selected
    ]
    more = f"; {len(left) - LEFT_OUT_NAMED} more: -v" if len(left) > LEFT_OUT_NAMED else ""
    return [f"Not taken: {'; '.join(map(clean, left[:LEFT_OUT_NAMED]))}{more}"] if left else []


def _listing(project: Path, findings: Findings) -> list[str]:
    lines = [*_loop_lines(project, findings), ""]
    chosen = [metric for metric in findings.metrics if metric.selected]
    lines += [f"metrics    {len(chosen)} (all listed)", ""]
    for metric in sorted(chosen, key=lambda metric: -metric.confidence):
        lines += _metric_lines(project, metric)
    lines += _draw_lines(findings.draws)
    others = [metric for metric in findings.metrics if not metric.selected]
    lines += [f"not selected  {m.name}  {m.file}:{m.line}  ({m.why})" for m in others]
    # Why each is no metric is in JSON: reading tells one from another by rules, which no run proves.
    lines += [f"left out  {each.variable}  {each.file}:{each.line}" for each in findings.rejected]
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


def _kind(metric: Metric) -> str:
    """Say what a metric measures; of a number without a better side, a norm of gradients, no quality is claimed."""
    if not metric.direction:
        return metric.aggregate if metric.kind == "quality" else f"{metric.kind}, {metric.aggregate}"
    return f"{metric.kind}, {metric.direction} is better, {metric.aggregate}"


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


# The interactive review: on one screen metrics are ticked, renamed and added, and it is said which values are better.


def require_terminal() -> None:
    """Refuse where there is nobody to ask.

    Raises BadOption if there is no terminal to ask in.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadOption(
            "--review asks questions and this is no terminal", hint="type --write and edit deviate.toml instead"
        )


def review_metrics(project: Path, findings: Findings, answer: Callable[[Review], bool] = ask) -> Findings:
    """Ask which metrics to keep, under which names, with which aggregates and directions, and what else is one.

    Raises click.Abort if the user stopped.
    """
    metrics = by_kind(findings.metrics)
    chosen = [metric for metric in metrics if metric.selected]
    lines = [
        Line(metric.name, metric.expression, f"{metric.file}:{metric.line}", metric.selected, metric.direction or "",
             metric.aggregate, "" if metric.selected else "not sure", index)
        for index, metric in enumerate(metrics)
    ]  # fmt: skip
    lines += [
        Line(each.name or each.variable, each.variable, f"{each.file}:{each.line}", taken=False, reason="left out")
        for each in findings.rejected
    ]
    add = functools.partial(_added_line, project, findings)
    review = Review(lines, add=add, main=main_metric(chosen).name if chosen else "")
    if not answer(review):
        raise click.Abort
    return replace(findings, metrics=[_reviewed(project, line, metrics) for line in review.lines if _is_told(line)])


def _is_told(line: Line) -> bool:
    return line.taken or line.found is not None


def _added_line(project: Path, findings: Findings, text: str) -> Line:
    """Make a line of what the user types: a place, and what stands or is assigned there."""
    place, _, expression = text.partition(" ")
    file, _, number = place.rpartition(":")
    if not expression.strip() or not number.isdecimal():
        raise BadOption("type a place and what stands there", hint=f"such as {findings.entry}:79 loss.item()")
    line = Line(expression.strip(), expression.strip(), f"{file or findings.entry}:{number}", taken=True)
    _metric_there(project, line)
    return line


def _metric_there(project: Path, line: Line) -> Metric:
    from deviate.source.config import MetricEntry
    from deviate.source.selection import metric_at

    file, _, number = line.where.rpartition(":")
    entry = MetricEntry(name=line.name, file=file, line=int(number), expression=line.what)
    return metric_at(entry, project, BadOption)


def _reviewed(project: Path, line: Line, metrics: Sequence[Metric]) -> Metric:
    metric = metrics[line.found] if line.found is not None else _metric_there(project, line)
    return replace(
        metric, selected=line.taken, name=line.name, aggregate=line.aggregate, direction=_direction(line.direction)
    )


def _direction(text: str) -> Direction | None:
    return "higher" if text == "higher" else "lower" if text == "lower" else None


def review_numbers(printed: Sequence[PrintedNumber], answer: Callable[[Review], bool] = ask) -> list[ObservedWish]:
    """Ask which numbers of the output are metrics, and how they are called and read; return what is to be written.

    A number that was none and stays none has no entry.
    """
    lines = [
        Line(number.name, f"{number.first:g} … {number.last:g}", number.source, number.kind is not None,
             number.direction or "", reason="" if number.kind else number.reason, found=index)
        for index, number in enumerate(printed)
    ]  # fmt: skip
    if lines and not answer(Review(lines)):
        raise click.Abort
    return [
        ObservedWish(
            name=number.name,
            rename=line.name if line.taken and line.name != number.name else "",
            metric=line.taken,
            aggregate=line.aggregate,
            direction=_direction(line.direction),
            kind=number.kind,
        )
        for line, number in zip(lines, printed, strict=True)
        if line.taken or number.kind is not None
    ]
