"""Experiments of a project as a table, the best first: mean and SD of each, its interval to scale, and its recipe."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from rich.cells import cell_len

from deviate.cli.printing import columns_of, cut, folded, terminal_width
from deviate.core.errors import DeviateError
from deviate.core.experiment import AT, IMPORTED
from deviate.core.factors import DEFAULT_VARIANT, plain_name
from deviate.core.shell_words import typed_line
from deviate.facts.overview import Standing, Summary, summary_of
from deviate.report.escape import clean
from deviate.report.numbers import mean_and_sd, metric_place, show
from deviate.store.folders import Workspace

#: Cells of the scale: the first that have room; where none have, it is left out.
SCALES = (26, 16, 8)

#: Columns from which on a cell has a row of its own.
CELLS_FROM = 80

#: Columns of a table that no terminal shows.
FULL_WIDTH = 100


def project_board(workspace: Workspace, overviews: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the experiments as lines below a head, the best first."""
    summaries = {}
    for facts in overviews:
        # `deviate report NAME` names what is wrong with its files or with deviate.toml.
        with suppress(DeviateError):
            if any(facts["completed"].values()):
                summaries[facts["name"]] = summary_of(workspace.seen_experiment(facts["name"]))
    name = leading_metric(summaries)
    found = entries(overviews, summaries, name)
    head = head_text(name, found)
    lines = board_lines(found, terminal_width() or FULL_WIDTH, head, datetime.now().astimezone()) if found else []
    return [*lines, *compared_lines(found, overviews)]


def compared_lines(found: Sequence[Entry], overviews: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say which experiments were compared, each two once, in the order of the table; nothing where none were."""
    partners = {facts["name"]: set(facts["compared_with"]) for facts in overviews}
    said = []
    for each in found:
        if others := partners.pop(each.name):
            said.append(f"{clean(each.name)} with {', '.join(map(clean, sorted(others)))}")
        for left in partners.values():
            left.discard(each.name)
    return folded([("compared:", "; ".join(said))]) if said else []


def newest_first(overviews: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort experiments by when they were made."""
    return sorted(overviews, key=_moment, reverse=True)


def _moment(facts: Mapping[str, Any]) -> datetime:
    """Return when it was made; a moment without a zone is one of this machine's."""
    return datetime.fromisoformat(facts["created"]).astimezone()


class Entry(NamedTuple):
    """One experiment, or one cell of a grid."""

    name: str
    #: What tells its command from those of the others, or the settings of the cell.
    recipe: str
    #: What is said instead of a number.
    said: str
    #: An older experiment whose runs came out the same, and kinds of variation beside the one that is shown.
    same_as: str
    others: int
    standing: Standing | None
    runs: str
    made: datetime
    is_lost: bool = False

    @property
    def grid(self) -> str:
        """Name of the grid that it is a cell of; empty where it is none."""
        return self.name.partition(AT)[0] if AT in self.name else ""


def entries(overviews: Sequence[Mapping[str, Any]], summaries: Mapping[str, Summary], metric: str) -> list[Entry]:
    """Put together what is said of each experiment, the best first; those without a number come last."""
    recipes = _recipes(overviews)
    found = [_entry(facts, summaries.get(facts["name"]), metric, recipes) for facts in overviews]
    found = _said_once(found, summaries)
    lower = any(each.standing.direction == "lower" for each in found if each.standing)
    best: dict[str, float] = {}
    for each in found:
        rank = _rank(each, lower=lower)
        best[each.grid or each.name] = min(rank, best.get(each.grid or each.name, math.inf))

    def place(each: Entry) -> tuple[float, bool, str, float]:
        block = each.grid or each.name
        return best[block], bool(each.same_as), block, _rank(each, lower=lower)

    return sorted(found, key=place)


def leading_metric(summaries: Mapping[str, Summary]) -> str:
    """Return the metric that is the main one of the most experiments; empty where none has one."""
    mains = [standings[0].name for each in summaries.values() if (standings := main_standings(each))]
    return Counter(mains).most_common(1)[0][0] if mains else ""


def head_text(metric: str, found: Sequence[Entry]) -> str:
    """Say which number stands for a run, and which ones are better."""
    standing = next((each.standing for each in found if each.standing), None)
    if standing is None:
        return "no number yet"
    better = f", {standing.direction} is better" if standing.direction else ""
    return f"{clean(metric)} ({standing.taken}{better})"


def main_standings(summary: Summary) -> list[Standing]:
    """Return the metrics of the variant that an experiment is compared by."""
    variants = summary.variants
    return variants.get(DEFAULT_VARIANT, next(iter(variants.values()), []))


def _rank(entry: Entry, *, lower: bool) -> float:
    mean = entry.standing.mean if entry.standing else None
    return math.inf if mean is None else mean if lower else -mean


def _entry(facts: Mapping[str, Any], summary: Summary | None, metric: str, recipes: Mapping[str, str]) -> Entry:
    done, planned = sum(facts["completed"].values()), sum(facts["planned"].values())
    made = _moment(facts)
    standings = main_standings(summary) if summary else []
    standing = next((each for each in standings if each.name == metric), None)
    said = f"running, {done} of {planned}" if facts.get("running") else ""
    if not done and not said:
        said = f"failed: {facts['problem'].rpartition(': ')[2]}" if facts.get("problem") else "no run has completed"
    several = len(facts["planned"]) > 1
    recipe = plain_name(DEFAULT_VARIANT) if several and DEFAULT_VARIANT in facts["planned"] else recipes[facts["name"]]
    return Entry(
        name=facts["name"],
        recipe=recipe,
        said=said,
        same_as="",
        others=len(facts["planned"]) - 1,
        standing=standing,
        runs=str(len(standing.values)) if standing else f"{done}/{planned}",
        made=made,
        is_lost=not done and bool(facts.get("problem")),
    )


def _said_once(found: Sequence[Entry], summaries: Mapping[str, Summary]) -> list[Entry]:
    """Say of an experiment whose runs came out as those of an older one that they are the same.

    A metric that never differs tells no runs apart.
    """
    first: dict[tuple[tuple[float, ...], ...], str] = {}
    said = []
    for each in sorted(found, key=lambda entry: entry.made):
        known = main_standings(summaries[each.name]) if each.standing else []
        values = tuple(tuple(metric.values) for metric in known if metric.kind != "speed")
        differing = any(len(set(runs)) > 1 for runs in values)
        if differing and (other := first.setdefault(values, each.name)) != each.name:
            said.append(each._replace(same_as=other))
            continue
        said.append(each)
    return said


def _recipes(overviews: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return of each command what others lack; of a cell its settings."""
    commands = [set(facts["command"]) for facts in overviews if IMPORTED not in facts["planned"]]
    shared = set.intersection(*commands) if commands else set()
    return {facts["name"]: _recipe_of(facts, shared) for facts in overviews}


def _recipe_of(facts: Mapping[str, Any], shared: Collection[str]) -> str:
    if IMPORTED in facts["planned"]:
        return IMPORTED
    if AT in facts["name"]:
        return str(facts["name"]).partition(AT)[2].replace("=", " ").replace(",", ", ")
    return typed_line(word for word in facts["command"] if word not in shared)


def board_lines(found: Sequence[Entry], width: int, head: str, now: datetime) -> list[str]:
    """Lay the table out; `head` is the metric."""
    is_narrow = width < CELLS_FROM
    found = _folded(found) if is_narrow else found
    names = [_name(each, before) for before, each in zip([None, *found[:-1]], found, strict=True)]
    place = _place(found)
    texts = [_text(each, _number(each.standing, _place([each])), is_narrow=is_narrow) for each in found]
    numbers = max((cell_len(text) for each, text in zip(found, texts, strict=True) if not _is_said(each)), default=0)
    columns = [names, [_recipe(each, is_narrow=is_narrow) for each in found]]
    begins = [" ".join(filter(None, cells)) if not any(columns[1]) else "  ".join(cells)
              for cells in zip(*columns_of(columns), strict=True)]  # fmt: skip
    made = [_made(each.made, now) for each in found]
    before = max(map(cell_len, begins), default=0) + 2 + numbers
    room = 0 if is_narrow else width - before - RUNS_WIDTH - max(map(len, made), default=0) - len("  ││  ")
    scale = next((cells for cells in SCALES if cells <= room), 0)
    ends = _ends(found) if scale else None
    middles = [
        text
        if _is_said(each)
        else f"{text.rjust(numbers)}{each.runs.rjust(RUNS_WIDTH)}{_drawn(each.standing, ends, scale)}"
        for each, text in zip(found, texts, strict=True)
    ]
    if is_narrow:
        lines = [f"{begin}  {middle}".rstrip() for begin, middle in zip(begins, middles, strict=True)]
    else:
        wide = max(room, 0) + numbers + RUNS_WIDTH + 4
        middles = columns_of([[cut(middle, wide) for middle in middles]])[0] if middles else []
        lines = ["  ".join(cells) for cells in zip(begins, middles, made, strict=True)]
    return [_head(head, before, ends, scale, place), *(cut(line, width) for line in lines)]


#: Cells of the number of runs, and of the longest recipe, also on a narrow screen.
RUNS_WIDTH, RECIPE, NARROW_RECIPE = 6, 32, 28


def _is_said(entry: Entry) -> bool:
    return bool(entry.said or entry.same_as)


def _text(entry: Entry, number: str, *, is_narrow: bool) -> str:
    if entry.said or not entry.same_as:
        return entry.said or number
    if is_narrow:
        return f"as {entry.same_as}"
    others = f"; and {entry.others} other kinds of variation" if entry.others else ""
    runs = len(entry.standing.values) if entry.standing else 0
    return f"same {runs} runs as {entry.same_as}{others}"


def _recipe(entry: Entry, *, is_narrow: bool) -> str:
    recipe = f"{entry.others + 1} kinds of variation" if is_narrow and entry.others else clean(entry.recipe)
    return cut(recipe, NARROW_RECIPE if is_narrow else RECIPE)


def _drawn(standing: Standing | None, ends: tuple[float, float] | None, scale: int) -> str:
    return f"  │{_scale(standing, ends, scale)}│" if ends and standing else ""


def _head(head: str, before: int, ends: tuple[float, float] | None, scale: int, place: int | None) -> str:
    text = f"{head.ljust(before)}{'runs'.rjust(RUNS_WIDTH)}"
    if ends is None:
        return text
    wide = ends[1] - ends[0] >= 0.1
    low, high = (show(end, max(place, -1) if wide and place is not None else place) for end in ends)
    labels = f"{low}{high.rjust(scale - len(low))}" if len(low) + len(high) < scale else " " * scale
    return f"{text}   {labels}   made"


def _folded(found: Sequence[Entry]) -> list[Entry]:
    folded: dict[str, Entry] = {}
    for each in found:
        if each.grid and each.grid not in folded:
            folded[each.grid] = each._replace(
                name=each.grid, recipe=f"best: {each.recipe}" if each.standing else each.recipe
            )
        elif not each.grid:
            folded[each.name] = each
    return list(folded.values())


def _name(entry: Entry, before: Entry | None) -> str:
    again = before is not None and bool(entry.grid) and before.grid == entry.grid
    return f"{'✗' if entry.is_lost else ' '} {'' if again else clean(entry.grid or entry.name)}"


def _place(found: Sequence[Entry]) -> int | None:
    standings = [each.standing for each in found if each.standing]
    decimals = next((each.decimals for each in standings if each.decimals is not None), None)
    return metric_place(decimals, *(each.sd for each in standings))


def _number(standing: Standing | None, place: int | None) -> str:
    return mean_and_sd(standing.mean, standing.sd, place) if standing else ""


def _made(made: datetime, now: datetime) -> str:
    return f"{made:%H:%M}" if made.date() == now.date() else f"{made:%Y-%m-%d}"


def _ends(found: Sequence[Entry]) -> tuple[float, float] | None:
    """Return round ends of a scale on which all intervals lie; None where there is nothing to draw."""
    standings = [each.standing for each in found if each.standing and each.standing.mean is not None]
    values = [value for each in standings for value in (each.low, each.mean, each.high) if value is not None]
    if len(standings) < 2 or not (length := max(values) - min(values)):
        return None
    step = 10.0 ** math.floor(math.log10(length)) / 2
    return math.floor(min(values) / step) * step, math.ceil(max(values) / step) * step


def _scale(standing: Standing, ends: tuple[float, float], cells: int) -> str:
    """Draw a mean with its interval between the ends of the scale.

    >>> one = Standing(name="acc", taken="last", kind="quality", direction="higher", values=[1.0, 3.0], mean=2.0,
    ...                sd=1.4, low=1.0, high=3.0)
    >>> _scale(one, (0.0, 4.0), 9)
    '  ──●──  '
    """
    low, high = ends
    mean = standing.mean if standing.mean is not None else low

    def at(value: float | None) -> int:
        return round(((mean if value is None else value) - low) / (high - low) * (cells - 1))

    drawn = ["─" if at(standing.low) <= cell <= at(standing.high) else " " for cell in range(cells)]
    drawn[at(mean)] = "●"
    return "".join(drawn)
