"""The document as Markdown, for a repository or a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.report.escape import clean, markdown, markdown_code
from deviate.report.parts import Document, MetricReport, RunReport, VariantReport
from deviate.report.shown import Shown, show_level, show_seconds
from deviate.report.words import ENDED, count


def render_markdown(document: Document) -> str:
    """Return the whole document, every metric included."""
    lines = [f"# {markdown(document.experiment)}", ""]
    lines += [line for variant in document.variants for line in _sentences(variant)]
    for variant in document.variants:
        lines += _variant(variant, document.level)
    lines += [*_warnings(document), *_control(document), *_reproduce(document)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _sentences(variant: VariantReport) -> list[str]:
    return [" ".join(map(markdown, variant.headline)), ""]


def _variant(variant: VariantReport, level: float) -> list[str]:
    done = f"{variant.completed} of {count(variant.planned, 'run')} completed"
    lines = [f"## {markdown(variant.variant)}: {markdown(variant.factors.gloss)}", "", f"{done}.", ""]
    if variant.completed and variant.metrics:
        lines += [*_table(variant.metrics, level), ""]
        lines += [*(f"- {markdown(note)}" for note in variant.footnotes), ""] if variant.footnotes else []
    return [*lines, *_factors(variant), *_failures(variant.runs)]


def _table(metrics: list[MetricReport], level: float) -> list[str]:
    share = show_level(level)
    heads = ("metric", "aggregate", "n", "mean", "SD", "CV", "min", "max", "range", "median", "IQR")
    columns = (*heads, f"{share} CI of the mean", f"{share} CI of the SD")
    rule = ["---", "---", *["---:"] * (len(columns) - 2)]
    return [_row(columns), _row(rule), *(_row(_cells(metric)) for metric in metrics)]


def _cells(metric: MetricReport) -> Iterable[str]:
    shown = Shown(metric)
    yield from (markdown(shown.name), markdown(shown.aggregate), shown.n, shown.mean, shown.sd, shown.cv)
    yield from (shown.min, shown.max, shown.range, shown.median, shown.iqr, shown.ci_mean, shown.ci_sd)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _factors(variant: VariantReport) -> list[str]:
    factors = variant.factors
    varied = markdown(", ".join(factors.varied)) or "nothing on purpose"
    lines = [f"- Varied: {varied}.", f"- Held: {markdown(', '.join(factors.held))}."]
    return [*lines, *(f"- {markdown(caveat)}" for caveat in factors.caveats), ""]


def _failures(runs: list[RunReport]) -> list[str]:
    lines = []
    for run in runs:
        if run.status == "completed":
            continue
        reason = f": {markdown(run.reason)}" if run.reason else ""
        lines += [f"**{markdown(run.name)}** {ENDED[run.status]} after {show_seconds(run.seconds)}{reason}", ""]
        lines += [*markdown_code(run.stderr_tail), ""] if run.stderr_tail else []
    return lines


def _warnings(document: Document) -> list[str]:
    if not document.warnings:
        return []
    several = len(document.variants) > 1
    lines = ["## What to know before trusting the numbers", ""]
    for warned in document.warnings:
        about = f"{markdown(warned.variant)}: " if several and warned.variant else ""
        lines.append(f"- {'**Warning.** ' if warned.severity == 'warning' else ''}{about}{markdown(warned.message)}")
    return [*lines, ""]


def _control(document: Document) -> list[str]:
    lines = [
        f"- Seed replaced: {markdown(seed.call)} at {markdown(seed.file)}:{seed.line}"
        + (f", the program gave {markdown(seed.given)}" if seed.given else "")
        for seed in document.seeds_replaced
    ]
    lines += [f"- Switch set: {markdown(switch.name)} = {markdown(switch.value)}" for switch in document.switches]
    return ["## Seeds and switches", "", *lines, ""] if lines else []


def _reproduce(document: Document) -> list[str]:
    reproduce = document.reproduce
    lines = ["## How to reproduce", "", *markdown_code([reproduce.command]), ""]
    facts = {"Folder": reproduce.folder, "Source": reproduce.source, "Run": document.created, **reproduce.environment}
    lines += [f"- {markdown(name)}: {markdown(clean(value))}" for name, value in facts.items() if value]
    return [*lines, f"- Written: {document.generated}"]
