"""The document as Markdown, for a repository or a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.report.escape import clean, markdown, markdown_code, markdown_prose
from deviate.report.order import ORDER
from deviate.report.parts import Answer, Document, MetricReport, RunReport, VariantReport, together
from deviate.report.shown import Shown, ShownSpread, show_level, show_seconds
from deviate.report.words import ENDED, count, listed, seed_text
from deviate.report.writers.variant_tables import LEGEND, mark


def render_markdown(document: Document) -> str:
    """Return the whole document, every metric included."""
    lines = [f"# {markdown(document.experiment)}", ""]
    lines += [line for variant in document.variants for line in _sentences(variant)]
    lines += _across(document)
    lines += _fingerprints(document)
    for variant in document.variants:
        lines += _variant(variant, document.level)
    lines += [*_warnings(document), *_control(document), *_methods(document), *_reproduce(document)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _sentences(variant: VariantReport) -> list[str]:
    return [" ".join(map(markdown, variant.headline)), ""]


def _variant(variant: VariantReport, level: float) -> list[str]:
    done = f"{variant.completed} of {count(variant.planned, 'run')} completed"
    lines = [f"## {markdown(variant.variant)}: {markdown(variant.factors.gloss)}", "", f"{done}.", ""]
    lines += [markdown(variant.statement), ""] if variant.statement else []
    if variant.completed and variant.metrics:
        lines += [*_table(variant.metrics, level), "", *([ORDER, ""] if len(variant.metrics) > 1 else [])]
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
    lines += [f"- {markdown(sentence)}" for sentence in variant.proven]
    lines += [f"- {markdown(f'{run.name} ran {run.disturbed}')}." for run in variant.runs if run.disturbed]
    return [*lines, *(f"- {markdown(caveat)}" for caveat in factors.caveats), ""]


def _across(document: Document) -> list[str]:
    """Return the spread of each metric by what varies."""
    lines = ["## How much runs differ, by what varies", ""] if document.across else []
    for table in document.across:
        whole = [f"SD, of {table.whole}"] if table.whole else []
        columns = ("variant", "n", "mean", "SD", f"{show_level(document.level)} CI of the SD", *whole)
        lines += [f"**{markdown(table.metric)}** ({markdown(table.aggregate)})", "", _row(columns)]
        lines += [_row(["---", *["---:"] * (len(columns) - 1)])]
        for row in table.rows:
            shown = ShownSpread(row)
            cells = [markdown(row.variant), shown.n, shown.mean, shown.sd, shown.ci_sd]
            lines.append(_row([*cells, shown.relative] if whole else cells))
        lines += ["", *(line for sentence in table.sentences for line in (markdown(sentence), ""))]
    return [*lines, *(line for note in document.across_notes for line in (markdown(note), ""))]


def _fingerprints(document: Document) -> list[str]:
    """Return what the fingerprints show, a row a variant."""
    told = [variant for variant in document.variants if variant.evidence and variant.completed > 1]
    if not told:
        return []
    names = [each.name for each in told[0].evidence]
    lines = ["## What fingerprints show", "", _row(["variant", *names]), _row(["---", *["---"] * len(names)])]
    lines += [_row([markdown(variant.variant), *map(mark, variant.evidence)]) for variant in told]
    return [*lines, "", markdown(LEGEND), ""]


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
    for warned, variants in together(document.warnings):
        about = f"{markdown(listed(variants))}: " if several and variants else ""
        lines.append(f"- {'**Warning.** ' if warned.severity == 'warning' else ''}{about}{markdown(warned.message)}")
    return [*lines, ""]


def _control(document: Document) -> list[str]:
    lines = [f"- Seed replaced: {markdown(seed_text(seed))}" for seed in document.seeds_replaced]
    lines += [f"- Seed of data kept: {markdown(seed_text(seed))}" for seed in document.seeds_kept]
    lines += [
        f"- Draw of `other`: {markdown(f'{draw.call} at {draw.file}:{draw.line}')}" for draw in document.draws_left
    ]
    lines += [f"- Switch set: {markdown(switch.name)} = {markdown(switch.value)}" for switch in document.switches]
    return ["## Seeds and switches", "", *lines, ""] if lines else []


def _methods(document: Document) -> list[str]:
    """Return the methods paragraph and the answers to checklists, for a paper."""
    lines = ["## Methods", "", " ".join(map(markdown_prose, document.methods)), ""] if document.methods else []
    if document.checklist:
        lines += ["## Reproducibility checklist", "", *map(_answer, document.checklist), ""]
    return lines


def _answer(answer: Answer) -> str:
    return f"- *{markdown(answer.question)}* {markdown_prose(answer.answer)} ({markdown(', '.join(answer.asked_by))})"


def _reproduce(document: Document) -> list[str]:
    reproduce = document.reproduce
    lines = ["## How to reproduce", "", *markdown_code([reproduce.command]), ""]
    facts = {"Folder": reproduce.folder, "Source": reproduce.source, "Run": document.created, **reproduce.environment}
    lines += [f"- {markdown(name)}: {markdown(clean(value))}" for name, value in facts.items() if value]
    return [*lines, f"- Written: {document.generated}"]
