"""Make the runs that a baseline needs, and those with which a change is kept or discarded, no more of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import Direction
from deviate.core.factors import parse_variants
from deviate.core.shell_words import typed_line
from deviate.facts.judged import (
    Judged,
    JudgedMetric,
    Loop,
    Values,
    judge_change,
    read_loop,
    same_as_baseline,
    set_floor,
    unable_to_judge,
    widen_floor,
)
from deviate.facts.samples import Sample
from deviate.facts.side import make_side
from deviate.facts.stored import Results, choose_variant, find_experiment, read_results
from deviate.lexicon.names import find_name
from deviate.lexicon.words import meaning_of
from deviate.observe.headline import main_first
from deviate.runs.experiment_events import StudyEvent
from deviate.runs.pipeline import run
from deviate.runs.request import Request
from deviate.stats.judging import DEFAULT_MOST, DEFAULT_TRIES
from deviate.store.folders import ExperimentFolder, Workspace

Observe = Callable[[StudyEvent], None]


class Measured(NamedTuple):
    """The runs of one variant of an experiment."""

    #: ``EXPERIMENT:VARIANT``.
    side: str
    results: Results
    variant: str

    @property
    def environment(self) -> dict[str, str]:
        """What its first completed run recorded of where it ran; empty where none completed."""
        completed = any(each.status == "completed" for each in self.results.runs_of(self.variant))
        return make_side(self.results, self.variant, self.side).environment if completed else {}

    def metric(self, name: str | None, better: Direction | None) -> JudgedMetric:
        """Return the metric that is judged; by default the one that leads the report.

        Raises BadOption if there is none of that name, or it is unknown which of its values are better.
        """
        samples = main_first(make_side(self.results, self.variant, self.side).samples)
        names = [sample.name for sample in samples]
        sample = samples[names.index(find_name(name, names)) if name else 0]
        direction = better or sample.direction
        if direction is None:
            raise BadOption(
                f"it is unknown whether higher or lower values of {sample.name!r} are better",
                hint="add --set better=higher or --set better=lower",
            )
        return JudgedMetric(name=sample.name, direction=direction, unit=sample.unit, decimals=sample.decimals)

    def values(self, metric: JudgedMetric) -> Values:
        """Return the value of each run that has ended, by index; None where it failed or gave no finite one."""
        sample = self._sample(metric)
        known = dict(zip(sample.runs, sample.values, strict=True)) if sample else {}
        return [known.get(each.index) for each in self.results.runs_of(self.variant)]

    def _sample(self, metric: JudgedMetric) -> Sample | None:
        samples = self.results.samples.get(self.variant, [])
        return next((each for each in samples if each.name == metric.name), None)


def measured(folder: ExperimentFolder, variant: str = "") -> Measured:
    """Read the runs of a variant; by default of the only one."""
    results = read_results(folder, partial=True)
    chosen = choose_variant(folder, results.variants, variant)
    return Measured(f"{folder.name}:{chosen}", results, chosen)


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks of a baseline."""

    metric: str | None = None
    better: Direction | None = None
    tries: int = DEFAULT_TRIES
    most: int = DEFAULT_MOST


def choose_baseline(
    workspace: Workspace,
    words: Sequence[str],
    values: Sequence[float],
    floor: Floor,
    runs: int,
    train: Callable[[], Loop],
) -> Loop:
    """Make the baseline of what is given: values, an experiment that is there, or a command that `train` runs."""
    if bool(words) == bool(values):
        raise BadOption(
            "a baseline is a command, an experiment or values", hint="type deviate baseline -- python train.py"
        )
    if values:
        return _typed_baseline(workspace, _finite(values), floor, runs)
    return take_baseline(workspace, words[0], floor, runs) if _is_experiment(words, workspace) else train()


def choose_judged(
    workspace: Workspace, words: Sequence[str], values: Sequence[float], train: Callable[[], Judged]
) -> Judged:
    """Judge what is given: values, an experiment that is there, or a command, whose runs `train` makes and judges."""
    if bool(words) == bool(values):
        raise BadOption("a change is a command, an experiment or values", hint="type deviate judge -- python train.py")
    if values:
        return judge_change(workspace, "", _finite(values))
    return judge_experiment(workspace, words[0]) if _is_experiment(words, workspace) else train()


def _finite(values: Sequence[float]) -> Values:
    """Return what was typed; None for what is no finite number."""
    return [value if math.isfinite(value) else None for value in values]


def _is_experiment(words: Sequence[str], workspace: Workspace) -> bool:
    """Tell whether one word is typed, and names an experiment or a variant of it."""
    names = workspace.names()
    return len(words) == 1 and (words[0] in names or words[0].rpartition(":")[0] in names)


def _typed_baseline(workspace: Workspace, values: Values, floor: Floor, runs: int) -> Loop:
    meaning = meaning_of(floor.metric) if floor.metric else None
    direction = floor.better or (meaning.direction if meaning else None)
    if direction is None:
        raise BadOption(
            "it is unknown whether higher or lower values are better",
            hint="add --set better=higher or --set better=lower",
        )
    metric = JudgedMetric(name=floor.metric or "", direction=direction)
    return set_floor(workspace, metric, "", values, wanted=runs, tries=floor.tries, most=floor.most)


def measure_baseline(request: Request, floor: Floor, observe: Observe) -> Loop:
    """Make the runs of a baseline."""
    if len(parse_variants(request.variants)) > 1:
        raise BadOption("a baseline is one variant", hint="leave out all but one --vary")
    folder = run(request, observe)
    return _set(Workspace(folder.project), measured(folder), floor, request.runs)


def take_baseline(workspace: Workspace, side: str, floor: Floor, wanted: int) -> Loop:
    """Make an experiment that is there, or was imported, the baseline."""
    return _set(workspace, measured(*find_experiment(workspace, side)), floor, wanted)


def _set(workspace: Workspace, runs: Measured, floor: Floor, wanted: int) -> Loop:
    metric = runs.metric(floor.metric, floor.better)
    values = runs.values(metric)
    return set_floor(workspace, metric, runs.side, values, wanted=wanted, tries=floor.tries, most=floor.most)


def judge_experiment(workspace: Workspace, side: str) -> Judged:
    """Judge the runs of an experiment as they are."""
    loop = read_loop(workspace)
    runs = measured(*find_experiment(workspace, side))
    return same_as_baseline(loop) if runs.side == loop.side else _judged(workspace, loop, runs)


def judge_command(request: Request, workspace: Workspace, observe: Observe) -> Judged:
    """Run the project as it is now, once and again, until it is kept or discarded.

    The runs have the seeds of the baseline's, so that what is held fixed is the same on both sides. Runs whose random
    numbers agree differ less, which makes false keeps rarer.

    Raises BadOption if the baseline was not made by Deviate, or in another environment.
    """
    loop = read_loop(workspace)
    if not loop.side:
        raise BadOption(
            "the values of the baseline were typed, so nothing says how to run a change",
            hint="type the change's values, --value 0.97, or measure a baseline: deviate baseline -- python train.py",
        )
    folder, variant = find_experiment(workspace, loop.side)
    baseline = folder.read_experiment()
    if baseline.imported:
        raise BadOption(
            f"the baseline {folder.name!r} was imported, so its runs cannot be made again",
            hint="import the change's results as well, and type deviate judge NAME",
        )
    loop = _with_whole_floor(workspace, loop, request, observe)
    if (unable := unable_to_judge(loop)) is not None:
        return unable
    request = msgspec.structs.replace(request, variants=(variant,), seed=baseline.seed)
    runs = 1
    while True:
        change = run(msgspec.structs.replace(request, runs=runs), observe)
        if change.name == folder.name:
            return same_as_baseline(loop)
        made = measured(change, variant)
        _check_environment(measured(folder, variant), made)
        judged = _judged(workspace, loop, made)
        if judged.decision != "run more" or judged.reason:
            return judged
        # Those that go on side by side end together.
        runs = judged.runs + min(request.jobs or 1, judged.most_more)


def _judged(workspace: Workspace, loop: Loop, runs: Measured) -> Judged:
    values = runs.values(loop.metric)
    if not values:
        raise BadOption(f"no run of {runs.side} has ended", hint="wait for its runs, or make some: deviate run")
    return judge_change(workspace, runs.side, values)


def _with_whole_floor(workspace: Workspace, loop: Loop, request: Request, observe: Observe) -> Loop:
    """Make the baseline's missing runs, from its copy of the project: those of a change that was kept are few."""
    folder, variant = find_experiment(workspace, loop.side)
    if len(loop.values) >= loop.wanted:
        return loop
    baseline = folder.read_experiment()
    wish = msgspec.structs.replace(
        request,
        command=baseline.command,
        name=folder.name,
        variants=(variant,),
        seed=baseline.seed,
        runs=loop.wanted,
        edited=True,
    )
    run(wish, observe)
    return widen_floor(workspace, loop, measured(folder, variant).values(loop.metric))


def _check_environment(baseline: Measured, change: Measured) -> None:
    """Refuse runs of another environment: the floor says nothing of them."""
    parts = [each.environment for each in (baseline, change)]
    differing = [name for name, text in parts[0].items() if name in parts[1] and parts[1][name] != text]
    if differing:
        name = differing[0]
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise BadOption(
            f"the environment is not that of the baseline: {name} was {parts[0][name]} and is {parts[1][name]}{more}",
            hint="measure the baseline again, on its own source: deviate baseline -- "
            f"{typed_line(baseline.results.experiment.command)}",
        )
