"""``deviate extract``: the main loop and the metrics of a project, shown, written or reviewed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.errors import BadOption, NoMetrics

if TYPE_CHECKING:
    from deviate.analyse.findings import Findings
    from deviate.experiment import Metric


@click.command("extract")
@click.argument("entry")
@click.option(
    "--project", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Root of the project [default: .]."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--diff", is_flag=True, help="Show how the source is instrumented.")
@click.option("--write", is_flag=True, help="Put the metrics into deviate.toml, where they can be edited.")
@click.option("--review", is_flag=True, help="Tick, rename and aggregate the metrics in the terminal, then --write.")
@click.option("--all", "everything", is_flag=True, help="Show also what was found and not kept, with the reason.")
def command(
    entry: str, project: Path | None, as_json: bool, diff: bool, write: bool, review: bool, everything: bool
) -> None:
    """Find the main loop and the metrics that ENTRY reports."""
    from deviate.extraction import extract, show_edits

    project = (project or Path.cwd()).resolve()
    findings = extract(project, os.path.relpath(entry, project) if Path(entry).exists() else entry)
    if review:
        from deviate.cli.review import review_metrics

        findings = review_metrics(findings)
    if write or review:
        _write(project, findings)
    if as_json:
        click.echo(json.dumps(contract(findings), indent=1))
    elif diff:
        click.echo("".join(show_edits(project, findings)), nl=False)
    else:
        click.echo(_listing(project, findings, everything))


def contract(findings: Findings) -> dict[str, Any]:
    """Return `findings` as ``deviate extract --json`` prints them: how values are captured stays our own affair."""
    import msgspec

    whole = msgspec.to_builtins(findings)
    for metric in whole["metrics"]:
        del metric["capture"]
    if whole["main_loop"]:
        del whole["main_loop"]["span"]
    return {key: whole[key] for key in ("schema", "entry", "main_loop", "metrics", "rejected", "unreadable")}


def _write(project: Path, findings: Findings) -> None:
    from deviate.config import write_metrics

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
    click.echo(f"{len(chosen)} metrics written to {path}", err=True)


def _listing(project: Path, findings: Findings, everything: bool) -> str:
    lines = [_loop_line(project, findings), ""]
    chosen = [metric for metric in findings.metrics if metric.selected]
    lines += [f"metrics    {len(chosen)} in {len({m.file for m in chosen})} of {len(findings.files)} files read", ""]
    for metric in sorted(chosen, key=lambda metric: -metric.confidence):
        lines += _metric_lines(project, metric)
    others = [metric for metric in findings.metrics if not metric.selected]
    if everything:
        lines += [f"not selected  {m.name}  {m.file}:{m.line}  ({m.why})" for m in others]
        lines += [f"rejected  {r.variable}  {r.file}:{r.line}  ({r.reason})" for r in findings.rejected]
    elif others or findings.rejected:
        lines.append(f"{len(others)} not selected, {len(findings.rejected)} rejected: --all lists them with reasons")
    lines += [f"unreadable  {u.file}:{u.line}  {u.error}" for u in findings.unreadable]
    return "\n".join(lines)


def _loop_line(project: Path, findings: Findings) -> str:
    loop = findings.main_loop
    if loop is None:
        return "main loop  none found: records have no iteration; name it in deviate.toml as [main_loop] file, line"
    return f"main loop  {loop.file}:{loop.line}   {_source(project, loop.file, loop.line)}\n           {loop.why}"


def _metric_lines(project: Path, metric: Metric) -> list[str]:
    wish = f", {metric.direction} is better" if metric.direction else ""
    return [
        f"{metric.confidence:5.0%}  {click.style(metric.name, bold=True)}   {metric.kind}{wish}, {metric.aggregate}",
        f"       {metric.file}:{metric.line} in {metric.function}   {_source(project, metric.file, metric.line)}",
        f"       {click.style(metric.why, dim=True)}",
        "",
    ]


def _source(project: Path, file: str, line: int) -> str:
    text = (project / file).read_bytes().decode("utf-8", errors="replace").splitlines()
    return text[line - 1].strip() if line <= len(text) else ""
