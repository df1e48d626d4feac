"""What spread is left when things are put together, in one table, and what that costs."""

from __future__ import annotations

from deviate.facts.experiment import ExperimentFacts
from deviate.facts.remedies import Remedies, Remedy, Way
from deviate.report.figures import slug
from deviate.report.numbers import UNKNOWN, metric_place, show, show_interval, significant
from deviate.report.page import Block, Cell, Column, Row, Section, Table
from deviate.report.topics.curves import Charts
from deviate.report.topics.metrics import number, share_cell
from deviate.report.words import listed
from deviate.stats.ensembles import Together
from deviate.stats.intervals import Interval

#: What a row of several is called.
_NAMES: dict[Way, str] = {
    "reports": "mean of the last {n} reports",
    "snapshots": "vote of the last {n} snapshots",
    "evaluations": "mean scores of {n} evaluations",
    "runs": "{by} of {n} runs",
}

#: Things that cannot be put together are named as follows.
_KINDS: dict[Way, str] = {
    "reports": "reports",
    "snapshots": "snapshots of a run",
    "evaluations": "evaluations of a run",
    "weights": "averaged weights",
    "runs": "runs",
}

_NOTES = (
    "× SD: beside one report, or one run. passes: at inference, for one answer. churn: between two such models.",
    "A mean of reports is a number, not a better model. Means and votes of labels and scores are of accuracy, in %.",
)


def table(facts: ExperimentFacts, charts: Charts, *, title: str = "Spread of means and votes") -> Section | None:
    """Show of each variant the spread of what can be put together; without title on screens."""
    several = len(facts.variants) > 1
    blocks: list[Block] = [remedies_table(each, each.variant if several else "") for each in facts.remedies]
    return Section(slug="remedies", title=title, blocks=blocks) if blocks else None


def remedies_table(facts: Remedies, about: str) -> Table:
    """Show the spread between the runs of one variant when things are put together."""
    heads = ("mean", "SD", "CI", "× SD", "CI", "churn", "CI", "passes", "trainings")
    sacrifice = (0, 0, 1, 0, 4, 2, 5, 0, 3)
    columns = [Column(head=head, sacrifice=lost) for head, lost in zip(heads, sacrifice, strict=True)]
    first = Column(head="put together", numeric=False, fold_at=32)
    predicted = [way for way in facts.ways if way.rows and way.way != "reports"]
    # Rows of one are all of the same labels.
    first_ways = [*(way for way in facts.ways if way.way == "reports"), *predicted[:1]]
    return Table(
        caption=f"Spread of means and votes: {facts.metric}{f', {about}' if about else ''}",
        slug=slug("remedies", facts.variant),
        titled=True,
        columns=[first, *columns],
        rows=[_row(way, each, facts) for way in facts.ways for each in way.rows if each.size > 1 or way in first_ways],
        folded=[(_KINDS[way.way], way.reason) for way in facts.ways if way.reason],
        notes=[*_NOTES, *(_places(way) for way in facts.ways if way.rows and way.places)],
    )


def _places(way: Remedy) -> str:
    return f"Evaluations: {listed([f'{metric} ({site.file}:{site.line})'.strip() for metric, site in way.places])}."


def _row(way: Remedy, each: Together, facts: Remedies) -> Row:
    of_reports = way.way == "reports"
    several = _NAMES[way.way].format(n=each.size, by="vote" if way.by == "vote" else "mean scores")
    one = "the last report" if of_reports else "labels of one run"
    scale = 1.0 if of_reports else 100.0
    sd = None if each.sd is None else scale * each.sd
    place = metric_place(facts.decimals, sd)
    ratio = UNKNOWN if each.size == 1 else _ratios(each.ratio.interval)
    cells = [
        number(show(scale * each.mean, place), each.mean),
        number(UNKNOWN if sd is None else show(sd, place), each.sd),
        number(show_interval(_scaled(each.ci_sd, scale), place), each.ci_sd.low),
        number(_ratio(each.ratio.value), each.ratio.value),
        number(ratio, each.ratio.interval.low),
        share_cell(None if each.churn is None else each.churn.value),
        number(UNKNOWN if each.churn is None else show_interval(_scaled(each.churn.interval, 100), -1)),
        *_cost(way, each.size),
    ]
    return Row(cells=[Cell(several if each.size > 1 else one), *cells])


def _cost(way: Remedy, size: int) -> list[Cell]:
    """Give the forward passes for one answer, none for a mean of numbers, and the trainings."""
    passes = UNKNOWN if way.way == "reports" and size > 1 else "1" if way.way == "reports" else str(size)
    return [number(passes), number(str(size if way.way == "runs" else 1))]


def _ratio(value: float | None) -> str:
    return UNKNOWN if value is None else significant(value, 2)


def _ratios(interval: Interval) -> str:
    return f"[{_ratio(interval.low)}, {_ratio(interval.high)}]" if interval.known else UNKNOWN


def _scaled(interval: Interval, scale: float) -> Interval:
    if interval.low is None or interval.high is None:
        return interval
    return Interval(low=scale * interval.low, high=scale * interval.high, level=interval.level, method=interval.method)
