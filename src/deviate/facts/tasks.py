"""Two sides of a comparison over metrics that are tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import Direction
from deviate.facts.compared_metric import is_measured_time
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.metric import MetricSpread
from deviate.stats.tasks import OverTasks, over_tasks

#: Runs of each task that a resample of them can be drawn from.
FEWEST = 2


class TaskComparison(OverTasks, frozen=True, kw_only=True):
    """The same, with the names of the tasks."""

    tasks: list[str]
    #: What is better on every task; None where it is not known of all, and `improvement` is about higher values.
    direction: Direction | None


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
    tasks = [(a, b) for a, b in matches if not is_measured_time(a.name)]
    names = [a.name for a, _ in tasks]
    known = {directions[name] for name in names}
    if len(names) < 2 or {"higher", "lower"} <= known:
        raise BadOption(
            "--set tasks=true takes two metrics or more; higher values are better in all, or lower ones in all",
            hint="name the metrics that are tasks, each with --metric, or say --set direction=METRIC=higher",
        )
    few = next((each for match in tasks for each in match if len(each.values) < FEWEST), None)
    if few is not None:
        raise BadOption(f"task {few.name!r} has fewer than {FEWEST} runs", hint="name the other tasks with --metric")
    direction = known.pop() if len(known) == 1 else None
    first, second = ([match[side].values for match in tasks] for side in (0, 1))
    both = over_tasks(first, second, np.random.default_rng(options.seed), options.level)
    if direction == "lower":
        both = msgspec.structs.replace(both, improvement=both.improvement.complement)
    return TaskComparison(tasks=names, direction=direction, **msgspec.structs.asdict(both))
