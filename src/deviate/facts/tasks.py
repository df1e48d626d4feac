"""Two sides, or more, over metrics that are tasks of one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import Direction
from deviate.facts.compared_metric import is_measured_time
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.metric import MetricSpread
from deviate.stats.tasks import OverTasks, RankedTasks, SignedRank, over_tasks, ranked_tasks, signed_rank

#: Runs of each task that a resample of them can be drawn from.
FEWEST = 2

#: With fewer, the posterior of the Bayesian signed rank test is near 0 or 1 by chance.
FEWEST_TASKS = 5

#: The same metric on two sides, or on more.
Tasks = TypeVar("Tasks", bound=Sequence[MetricSpread])


class TaskComparison(OverTasks, frozen=True, kw_only=True):
    """The same, with the names of the tasks."""

    tasks: list[str]
    #: What is better on every task; None where it is known of none, and `improvement` is about higher values.
    direction: Direction | None
    #: The value from which gaps are counted; None where higher values are not better on every task.
    enough: float | None = None
    #: By the means of the tasks; `b`: that B is better, or higher where that is not known. None below `FEWEST_TASKS`.
    signed_rank: SignedRank | None = None


def compare_tasks(
    matches: Sequence[tuple[MetricSpread, MetricSpread]],
    directions: Mapping[str, Direction | None],
    options: ComparisonOptions,
) -> TaskComparison | None:
    """Compare two sides over the metrics that both have; None unless ``--set tasks=true``.

    Raises BadOption where metrics cannot be tasks of one scale.
    """
    if not options.tasks:
        return None
    tasks, direction = _tasks(matches, directions)
    first, second = ([match[side].values for match in tasks] for side in (0, 1))
    rng, enough = np.random.default_rng(options.seed), _enough(tasks) if direction == "higher" else None
    both = over_tasks(first, second, rng, options.level, enough=enough)
    if direction == "lower":
        both = msgspec.structs.replace(both, improvement=both.improvement.complement)
    names = [match[0].name for match in tasks]
    sign = -1 if direction == "lower" else 1
    means = [sign * (np.mean(b) - np.mean(a)) for a, b in zip(first, second, strict=True)]
    margins = {options.margins.get(name, 0.0) for name in names}
    margin = margins.pop() if len(margins) == 1 else 0.0
    ranked = signed_rank(means, rng, margin) if len(tasks) >= FEWEST_TASKS else None
    # Effects stay as they are: `asdict` is shallow.
    return TaskComparison(
        tasks=names, direction=direction, enough=enough, signed_rank=ranked, **msgspec.structs.asdict(both)
    )


def rank_tasks(
    matches: Sequence[Sequence[MetricSpread]], directions: Mapping[str, Direction | None], options: ComparisonOptions
) -> RankedTasks | None:
    """Rank three sides or more on each task; None where it is known of no task what is better.

    Raises BadOption where metrics cannot be tasks of one scale.
    """
    if not options.tasks:
        return None
    tasks, direction = _tasks(matches, directions)
    if direction is None:
        return None
    found = ranked_tasks([[np.mean(side.values) for side in match] for match in tasks], lower=direction == "lower")
    return found and msgspec.structs.replace(found, tasks=[match[0].name for match in tasks])


def _tasks(
    matches: Sequence[Tasks], directions: Mapping[str, Direction | None]
) -> tuple[list[Tasks], Direction | None]:
    """Return the metrics that are tasks, and what is better on all of them."""
    tasks = [match for match in matches if not is_measured_time(match[0].name)]
    # Tasks are on one scale: what is better on some of them is better on all.
    known = {directions[match[0].name] for match in tasks} - {None}
    if len(tasks) < 2 or len(known) > 1:
        raise BadOption(
            "--set tasks=true takes two metrics or more; higher values are better in all, or lower ones in all",
            hint="name the metrics that are tasks, each with --metric, or say --set direction=METRIC=higher",
        )
    few = next((each for match in tasks for each in match if len(each.values) < FEWEST), None)
    if few is not None:
        raise BadOption(f"task {few.name!r} has fewer than {FEWEST} runs", hint="name the other tasks with --metric")
    return tasks, known.pop() if known else None


def _enough(tasks: Sequence[Sequence[MetricSpread]]) -> float:
    """Return the value from which a gap is counted: 1, as of scores between random play and humans, or 100 %."""
    return 100.0 if all(each.unit == "%" for match in tasks for each in match) else 1.0
