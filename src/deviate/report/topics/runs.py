"""The runs one by one: how each ended, and why there are as many."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from deviate.core.experiment import Decided, Until
from deviate.core.shell_words import typed_word
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread
from deviate.facts.run import RunResult
from deviate.facts.variant import Stopped, VariantFacts
from deviate.report.numbers import (
    Numbers,
    difference_unit,
    last_place,
    metric_place,
    show,
    show_interval,
    show_level,
    show_seconds,
    unit_text,
)
from deviate.report.page import Block, Cell, Code, Fold, Hint, Remark, Remarks, Row, RunCard, Section, Sentences, Table
from deviate.report.topics.caveat import Caveat
from deviate.report.topics.curves import Charts
from deviate.report.topics.metrics import columns, number, telling
from deviate.report.words import ENDED, command_text, count, ended_as, listed
from deviate.runs.events import Compared
from deviate.stats.intervals import EXTRA_RUNS
from deviate.stats.multiplicity import Look

#: Ways of not completing that a brief page shows with the last lines of a run, and a full page opens.
FAILURES_SHOWN = 3

#: Last lines of a failed run on a brief page.
LINES_SHOWN = 4

#: Ways of not completing on a screen, and runs that are named of each.
WAYS_ON_SCREEN, NAMES_ON_SCREEN = 2, 5

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
    total = sum(len(variant.runs) for variant in variants)
    lines = [_ended(runs, reason, total) for (_, reason), runs in ways.items() if runs in ranked[:WAYS_ON_SCREEN]]
    if not lines:
        return []
    more = sum(map(len, ranked[WAYS_ON_SCREEN:]))
    rest = [Sentences(sentences=[f"and {count(more, 'more run')} that did not complete"], emphasis="quiet")]
    first = ranked[0][0]
    typed = str(first.index) if len(facts.variants) == 1 else first.name
    command = f"deviate logs {typed_word(facts.experiment)} {typed}"
    return [Remarks(remarks=lines), *(rest if more else []), Hint(text="log:", command=command)]


def _ended(runs: Sequence[RunResult], reason: str, total: int) -> Remark:
    how = f": {reason.removeprefix('it ')}" if reason else ""
    names = listed([run.called for run in runs], most=NAMES_ON_SCREEN)
    if len({run.variant for run in runs}) == 1 and not any(run.label for run in runs):
        numbers = listed([str(run.index) for run in runs], most=NAMES_ON_SCREEN)
        names = f"{'run' if len(runs) == 1 else 'runs'} {numbers}"
    ended = ended_as(runs[0].status, len(runs))
    return Remark(message=f"{len(runs)} of {count(total, 'run')} {ended} ({names}){how}", severity="warning")


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
    return Section(slug="runs", blocks=[*folds, Fold(title="Every run", blocks=[*tables], open=False)])


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


# Why runs ended, where ``--until`` decided how many are made.

#: Significant digits of a half-width.
WIDTH_DIGITS = 3


def progress_line(variant: str, look: Look, until: Until) -> str:
    """Say in a line how far the runs of a variant are.

    >>> from deviate.stats.multiplicity import look
    >>> until = Until(metric="val acc", width=0.6, least=5, most=30)
    >>> progress_line("algo+impl", look([90.0, 91.0, 90.5, 89.5, 90.2], until), until)
    'algo+impl: val acc ± 0.695 after 5 runs, ± 0.6 wanted; about 8 runs in all'
    """
    about = f"{variant}: {until.metric}{' sd' if until.of == 'sd' else ''}"
    runs = f"after {count(look.n, 'run')}"
    if look.met:
        return f"{about} {_width(look.half_width, until.of)} {runs}: enough"
    if look.half_width is None:
        why = f"all {look.n} values are equal" if look.identical else look.interval.reason
        return f"{about}: no interval {runs} ({why}), {_width(look.wanted, until.of)} wanted"
    narrow = f"{about} {_width(look.half_width, until.of)} {runs}"
    if until.of == "mean" and look.half_width <= look.wanted:
        return f"{narrow}, narrow enough; {look.expected} runs keep the level"
    rest = "" if look.expected is None else f"; about {count(look.expected, 'run')} in all"
    allowed = f" ({until.most} allowed)" if look.expected is not None and look.expected > until.most else ""
    return f"{narrow}, {_width(look.wanted, until.of)} wanted{rest}{allowed}"


def until_sentences(stopped: Stopped | None) -> list[str]:
    """Say whether there were enough runs; nothing where the user decided their number."""
    if stopped is None:
        return []
    what = f"the {'SD' if stopped.of == 'sd' else 'mean'} of {stopped.metric}"
    criterion = f"(--until '{stopped.criterion}')"
    if stopped.met:
        return [f"Enough after {count(stopped.n, 'run')} {criterion}: {what} is {_known(stopped)}."]
    if stopped.half_width is None:
        why = "all gave exactly the same value" if stopped.identical else stopped.interval.reason
        return [f"Not met after {count(stopped.made, 'run')} {criterion}: {why}, so there is no interval."]
    more = "" if stopped.expected is None else f"; about {stopped.expected} runs would be enough"
    ended = f" (--max {stopped.most})" if stopped.made >= stopped.most else ""
    reached, wanted = (_width(width, stopped.of, stopped.unit) for width in (stopped.half_width, stopped.wanted))
    return [
        f"Not met {criterion}: after {count(stopped.n, 'run')}{ended} {what} is {_known(stopped)}, which is {reached}; "
        f"{wanted} was wanted{more}."
    ]


def _known(stopped: Stopped) -> str:
    place = metric_place(stopped.decimals, stopped.sd)
    # The interval of a mean is narrower than the SD; the digits of its ends follow the width.
    if stopped.of == "mean" and stopped.wanted:
        place = last_place(min(stopped.wanted, stopped.sd or stopped.wanted))
    unit = unit_text(stopped.unit)
    interval = show_interval(stopped.interval, place)
    return f"{show(stopped.value, place)}{unit}, {show_level(stopped.interval.level)} CI {interval}"


def until_caveats(until: Until | None, stopped: Stopped | None, variant: str) -> Iterable[Caveat]:
    """Say which interval keeps its level after runs were stopped by looking at them, and which do not."""
    if until is None or stopped is None or stopped.half_width is None:
        return
    if until.of == "sd":
        message = (
            f"The interval of the SD of {until.metric} is the wider of the chi-square interval and Bonett's, which "
            "allows for heavy tails: with values far from normal it still covers less than it says."
        )
    else:
        message = (
            f"How many runs were made depends on {until.metric}: the interval of its mean allows for that, and covers "
            "less than it says only where values are clearly skewed. Its SD is likely to look small, and the intervals "
            "of the SD and of the bootstrap are as for a fixed number of runs."
        )
    yield Caveat(slug="stopped-by-rule", message=message, severity="note", variant=variant)


def until_method(until: Until | None) -> Iterable[str]:
    """Say for a paper what decided how many runs were made."""
    if until is None:
        return
    level = show_level(until.level)
    width = f"± {100 * until.width:.10g}%" if until.relative else f"± {until.width:g}"
    if until.of == "sd":
        yield (
            f"Runs were made until the SD of {until.metric} was known to {width} at {level} confidence, at most "
            f"{until.most} of each variant; its interval is the wider of the chi-square interval and Bonett's."
        )
        return
    yield (
        f"Runs were made until the mean of {until.metric} was known to {width} at {level} confidence, at most "
        f"{until.most} of each variant: {EXTRA_RUNS} beyond the first look, from {until.least} runs on, at which the t "
        "interval was narrow enough (fixed-width sequential procedure); its interval is the one of that procedure."
    )


def _width(width: float | None, of: str, unit: str = "") -> str:
    if width is None:
        return "unknown"
    if of == "sd":
        return f"± {100 * width:.{WIDTH_DIGITS}g}%"
    return f"± {width:.{WIDTH_DIGITS}g}{difference_unit(unit)}"


# What decided how many runs were made, where that was a comparison with a stored experiment.


def compared_line(compared: Compared) -> str:
    """Say in a line how far a comparison is."""
    decided, (n, m) = compared.decided, compared.runs
    about = f"{decided.variant} against {decided.against}: {compared.metric}, {n} against {m} runs"
    if compared.hopeless:
        return f"{about}: no verdict however many runs, since {compared.hopeless}"
    p = f"p {Numbers(compared.limit).compared_p(compared.p)}"
    if compared.shown:
        better = {"a better": decided.variant, "b better": decided.against}.get(compared.verdict)
        what = f"{better} is better" if better else "they differ"
        return f"{about}, {p}: decided, {what}"
    open_ = f"{about}, {p}; below {compared.limit:.2g} decides at this look"
    return f"{open_}: not decided, and no more runs are allowed" if n >= decided.most else open_


def decided_caveats(decided: Decided | None, variant: str) -> Iterable[Caveat]:
    """Say what comparing after each round does to the numbers of a variant."""
    if decided is None or decided.variant != variant:
        return
    message = (
        f"Runs were added until a difference from {decided.against} was shown, or there were {decided.most}. `deviate "
        "compare` allows for that. The mean is likely to look a little farther from the other than it is, and its "
        "interval covers up to 2 points less than with a fixed number of runs."
    )
    yield Caveat(slug="stopped-by-comparison", message=message, severity="note", variant=variant)


def decided_method(decided: Decided | None) -> Iterable[str]:
    """Say for a paper what decided how many runs were made."""
    if decided is not None:
        yield (
            f"Runs of {decided.variant} were added round by round, from {decided.least} on, until a difference from "
            f"{decided.against} was shown, at most {decided.most}, with an alpha spending function like O'Brien and "
            "Fleming's (Lan and DeMets, 1983)."
        )
