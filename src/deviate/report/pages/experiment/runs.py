"""The runs one by one: how each ended, and the last lines of those that did not complete."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.metric import MetricSpread
from deviate.inference.variant import VariantFacts
from deviate.report.figures.experiment import Charts
from deviate.report.numbers import show, show_seconds
from deviate.report.page import Block, Cell, Code, Fold, Hint, Remark, Remarks, Row, RunCard, Section, Sentences, Table
from deviate.report.pages.cells import columns, number, telling
from deviate.report.text.command import command_text
from deviate.report.text.words import ENDED, count, ended_as, listed
from deviate.results.run import RunResult
from deviate.shell_words import typed_word

#: Ways of not completing that a brief page shows with the last lines of a run, and a full page opens.
FAILURES_SHOWN = 3

#: Last lines of a failed run on a brief page.
LINES_SHOWN = 4

#: Ways of not completing on a screen, and runs that are named of each.
WAYS_ON_SCREEN, NAMES_ON_SCREEN = 2, 2

#: Metrics of a run that is chosen in a chart, and last lines of its log.
CARD_METRICS, CARD_LINES = 4, 12

#: Significant digits of their values.
CARD_DIGITS = 5


def failures(variant: VariantFacts, facts: ExperimentFacts) -> list[Block]:
    """Show each way in which runs of a variant ended once, with the last lines of the first of them."""
    ended = [run for run in variant.runs if run.status != "completed"]
    ways = list(dict.fromkeys((run.status, run.reason) for run in ended))
    blocks: list[Block] = [
        _failure([run for run in ended if (run.status, run.reason) == way], facts.experiment)
        for way in ways[:FAILURES_SHOWN]
    ]
    if len(ways) > FAILURES_SHOWN:
        more = sum((run.status, run.reason) in ways[FAILURES_SHOWN:] for run in ended)
        blocks.append(Sentences(sentences=[f"and {count(more, 'more run')} that did not complete"], emphasis="quiet"))
    return blocks


def screen_failures(variants: Sequence[VariantFacts], facts: ExperimentFacts) -> list[Block]:
    """Show the ways in which most runs of any variant ended in a line each, and what shows the first of them."""
    ended = [run for variant in variants for run in variant.runs if run.status != "completed"]
    ways: dict[tuple[str, str], list[RunResult]] = {}
    for run in ended:
        # Behind a semicolon a reason says when the run reported last.
        ways.setdefault((run.status, run.reason.partition(";")[0]), []).append(run)
    ranked = sorted(ways.values(), key=len, reverse=True)
    lines = [_ended(runs, reason) for (_, reason), runs in ways.items() if runs in ranked[:WAYS_ON_SCREEN]]
    if not lines:
        return []
    more = sum(map(len, ranked[WAYS_ON_SCREEN:]))
    rest = [Sentences(sentences=[f"and {count(more, 'more run')} that did not complete"], emphasis="quiet")]
    command = f"deviate logs {typed_word(facts.experiment)} {ranked[0][0].name}"
    return [Remarks(remarks=lines), *(rest if more else []), Hint(text="", command=command)]


def _ended(runs: Sequence[RunResult], reason: str) -> Remark:
    how = f": {reason.removeprefix('it ')}" if reason else ""
    names = listed([run.called for run in runs], most=NAMES_ON_SCREEN)
    return Remark(message=f"{names} {ended_as(runs[0].status, len(runs))}{how}", severity="warning")


def _failure(runs: Sequence[RunResult], experiment: str) -> Fold:
    first = runs[0]
    after = f" after {show_seconds(first.seconds)}" if len(runs) == 1 else ""
    # Outcomes say "it ended with …", of each run alone.
    reason = f": {first.reason.removeprefix('it ')}" if first.reason else ""
    # Where a run was stopped tells nothing.
    stopped = first.status in ("cancelled", "interrupted")
    tail = [] if stopped else [line for line in first.stderr_tail if line.strip()][-LINES_SHOWN:]
    return Fold(
        title=listed([run.called for run in runs]),
        remark=f"{ended_as(first.status, len(runs))}{after}{reason}",
        emphasis="bad",
        blocks=[
            *([Code(lines=tail, output=True)] if tail else []),
            Hint(text="", command=f"deviate logs {typed_word(experiment)} {first.name}"),
        ],
    )


def full(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """List the runs that did not complete, then all runs."""
    runs = [run for variant in facts.variants for run in variant.runs]
    if not runs:
        return None
    unfinished = [run for run in runs if run.status != "completed"]
    # Where none completed, the answer has the last lines of each way.
    most = FAILURES_SHOWN if len(unfinished) < len(runs) else 0
    folds = [_unfinished(run, facts.experiment, open_=index < most) for index, run in enumerate(unfinished)]
    tables = [_table(runs), *_seed_table(runs)]
    return Section(slug="runs", title="Runs", blocks=[*folds, Fold(title="Every run", blocks=[*tables], open=False)])


def cards(facts: ExperimentFacts) -> list[RunCard]:
    """Return what is shown of each run whose mark in a chart is chosen."""
    return [_card(run, variant, facts) for variant in facts.variants for run in variant.runs]


def _card(run: RunResult, variant: VariantFacts, facts: ExperimentFacts) -> RunCard:
    reason = f": {run.reason}" if run.reason else ""
    values = [
        (metric.name, f"{show(_value(metric, run.index))} ({metric.aggregate})")
        for metric in variant.metrics
        if metric.kind != "speed" and run.index in metric.runs
    ]
    seeds = ", ".join(f"{name} {seed}" for name, seed in run.seeds.items())
    pairs = [
        ("Outcome", f"{ENDED[run.status]} after {show_seconds(run.seconds)}{reason}"),
        *values[:CARD_METRICS],
        ("Command", command_text(facts.command)),
        ("Whole log", "" if facts.definition.imported else f"deviate logs {typed_word(facts.experiment)} {run.name}"),
        ("Seeds", seeds),
    ]
    lines = run.stderr_tail or run.stdout_tail
    named = [] if run.called == run.name else [("Imported from", run.called)]
    return RunCard(
        name=run.name, facts=[(name, text) for name, text in [*named, *pairs] if text], lines=lines[-CARD_LINES:]
    )


def _value(metric: MetricSpread, run: int) -> float:
    return float(f"{metric.values[metric.runs.index(run)]:.{CARD_DIGITS}g}")


def _unfinished(run: RunResult, experiment: str, *, open_: bool) -> Fold:
    reason = f": {run.reason}" if run.reason else ""
    printed: list[Block] = [Code(lines=run.stderr_tail, output=True)] if run.stderr_tail else []
    return Fold(
        title=f"{run.called} {ENDED[run.status]} after {show_seconds(run.seconds)}{reason}",
        blocks=[*printed, Hint(text="", command=f"deviate logs {typed_word(experiment)} {run.name}")],
        open=open_,
    )


def _table(runs: Sequence[RunResult]) -> Table:
    taken = [head for head, attribute, _ in TAKEN if any(getattr(run, attribute) is not None for run in runs)]
    names = ["run", "ended", "time", *taken, "threads"]
    table = Table(
        caption="Every run",
        columns=columns(*names, words=2, last="remarks"),
        rows=[Row(cells=_cells(run, taken)) for run in runs],
    )
    return telling([table])[0]


def _seed_table(runs: Sequence[RunResult]) -> list[Table]:
    """List the seeds of every run: ten digits for each factor are too wide to stand beside the rest."""
    names = list(dict.fromkeys(name for run in runs for name in run.seeds))
    if not names:
        return []
    rows = [
        Row(cells=[Cell(run.called), *(number(str(run.seeds.get(name, "")), run.seeds.get(name)) for name in names)])
        for run in runs
    ]
    return [Table(caption="Seeds of every run, by factor", columns=columns("run", *names), rows=rows)]


def _cells(run: RunResult, taken: Sequence[str]) -> list[Cell]:
    return [
        Cell(run.called),
        Cell(run.status),
        number(show_seconds(run.seconds), run.seconds),
        *_taken(run, taken),
        number("" if run.threads is None else str(run.threads), run.threads),
        Cell(" ".join(run.warnings)),
    ]


def _taken(run: RunResult, heads: Sequence[str]) -> list[Cell]:
    values = [(getattr(run, attribute), shown) for head, attribute, shown in TAKEN if head in heads]
    return [number("" if value is None else shown(value), value) for value, shown in values]


def _mebibytes(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB"


#: What runs took of the machine: what it is called, its attribute, and how it is shown.
TAKEN: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("CPU time", "cpu_seconds", show_seconds),
    ("peak memory", "peak_memory", _mebibytes),
    ("GPU memory", "gpu_memory", _mebibytes),
)


def median_taken(runs: Sequence[RunResult]) -> str:
    """Return the medians of what completed runs took; empty where nothing was measured."""
    completed = [run for run in runs if run.status == "completed"]
    values = {
        head: [getattr(run, name) for run in completed if getattr(run, name) is not None] for head, name, _ in TAKEN
    }
    texts = [f"{head} {shown(statistics.median(values[head]))}" for head, _, shown in TAKEN if values[head]]
    return f"{', '.join(texts)} (medians)" if texts else ""
