"""Tables of groups of examples: how well runs do on each, and how much that varies."""

from __future__ import annotations

from deviate.collect.matching import Match
from deviate.inference.groups import GroupFacts, GroupStability
from deviate.report.numbers import Numbers
from deviate.report.page import Cell, Row, Table
from deviate.report.pages.cells import columns, number, plain_cell, points_cell, share_cell, telling
from deviate.report.text.stability import ALPHA

#: How rows of groups were matched with the examples.
MATCHED: dict[Match, str] = {
    "index": "by the number of each example",
    "digest": "by the id of each example",
    "position": "by position: row by row in the order of the examples",
}


def group_tables(facts: GroupFacts) -> list[Table]:
    """Return the rates of each group with their SD against that of all examples, then what else is known of it."""
    notes = [f"Groups of {source}, matched {MATCHED[by]}." for source, by in facts.sources.items()]
    if facts.positive is not None:
        notes.append(f"Positive: class {facts.positive}, against all others.")
    groups = [facts.overall, *facts.groups]
    spread = Table(
        caption="Rates by group of examples over the runs",
        slug="groups",
        columns=columns(
            *("group", "examples", "accuracy", "SD", "× all", "FPR", "SD of FPR", "× all"),
            *("FNR", "SD of FNR", "× all"),
        ),
        rows=[Row(cells=_spread_cells(each)) for each in groups],
        notes=[*notes, "SD: percentage points; × all: as a multiple of the SD on all examples."],
    )
    more = Table(
        caption="Groups against chance",
        slug="groups-chance",
        columns=columns("group", "range", "SD", "by chance", "p", "recall", "precision", "churn"),
        rows=[Row(cells=_chance_cells(each)) for each in groups],
        notes=[
            "Range, SD and by chance: of the accuracy, percentage points; by chance: the SD of runs that guess each "
            "example anew with this accuracy. p: by Holm over the groups, that runs differ no more than independent "
            "errors on the same examples make them."
        ],
    )
    return [*telling([spread]), *telling([more])]


def _spread_cells(group: GroupStability) -> list[Cell]:
    cells = [Cell(group.label), number(str(group.examples), group.examples)]
    for name in ("accuracy", "fpr", "fnr"):
        rate = group.rates.get(name)
        known = (None, None, None) if rate is None else (rate.mean, rate.sd, rate.ratio)
        cells += [share_cell(known[0]), points_cell(known[1]), plain_cell(known[2])]
    return cells


def _chance_cells(group: GroupStability) -> list[Cell]:
    accuracy = group.rates["accuracy"]
    recall, precision = (group.rates.get(name) for name in ("recall", "precision"))
    shares = [None if each is None else each.mean for each in (recall, precision)]
    return [
        Cell(group.label),
        points_cell(accuracy.range),
        points_cell(accuracy.sd),
        points_cell(accuracy.floor),
        number(Numbers(ALPHA).p(accuracy.p), accuracy.p),
        *(share_cell(share) for share in (*shares, None if group.churn is None else group.churn.value)),
    ]
