"""Make the runs that a baseline needs, and those with which a change is kept or discarded, no more of them.

Keep, discard or run more: the changes that were judged against one floor of baseline runs, and the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import DEFAULT_RUNS, SCHEMA, Direction
from deviate.core.factors import parse_variants
from deviate.core.shell_words import typed_line
from deviate.lexicon.words import find_name, meaning_of
from deviate.observe.headline import main_first
from deviate.stats.judging import (
    DEFAULT_ALPHA,
    DEFAULT_MOST,
    DEFAULT_TRIES,
    LARGEST_FLOOR,
    MOST_RUNS,
    MOST_TRIES,
    Counted,
    Decision,
    Judgement,
    Rule,
    first_to_decide,
    judge,
    make_rule,
)
from deviate.stats.spread import is_hundredfold
from deviate.store.files import read_json, write_json
from deviate.store.folders import ExperimentFolder, Workspace
from deviate.store.locks import locked_looks

# What is imported in functions takes most of a second, and values that are typed need none of it.
if TYPE_CHECKING:
    from deviate.facts.stored import Results
    from deviate.runs.events import StudyEvent
    from deviate.runs.request import Request

    Observe = Callable[[StudyEvent], None]

#: Why a change was answered without a test, or the floor cannot answer. ``same``: source, command and settings are
#: those of the baseline. ``floor``: with so few baseline runs nothing can be kept. ``spent``: all its tries were made.
Reason = Literal["", "same", "floor", "spent"]

#: Values of runs, in the order in which they were made; None: it failed, or gave no finite value.
Values = list[float | None]


class JudgedMetric(msgspec.Struct, frozen=True, kw_only=True):
    """What is judged."""

    #: Empty where values were typed and not named.
    name: str
    direction: Direction
    unit: str = ""
    #: Digits behind the point, as the program writes it; None where that is not known.
    decimals: int | None = None


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks of a baseline."""

    metric: str | None = None
    better: Direction | None = None
    tries: int = DEFAULT_TRIES
    most: int = DEFAULT_MOST
    #: Changes whose runs differ less are kept, too.
    spread: bool = False


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One try: a change that was judged."""

    #: ``EXPERIMENT:VARIANT``; empty where its values were typed.
    side: str
    values: Values
    decision: Decision


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """The baseline, its floor, and the changes that were judged against it."""

    schema: int = SCHEMA
    metric: JudgedMetric
    #: ``EXPERIMENT:VARIANT`` of the baseline; empty where its values were typed.
    side: str
    values: Values
    #: Runs that the floor is to have.
    wanted: int
    rule: Rule
    #: The tries against this floor.
    changes: list[Change] = []
    #: Floors until now, this one included, and tries against those before.
    floors: int = 1
    before: int = 0
    #: By which a change is also kept, where that was asked for: its runs differ less.
    spread: Rule | None = None

    @property
    def settings(self) -> tuple[int, int, bool]:
        """Tries, most runs of a change, and whether spread is judged, as they were asked for."""
        return self.rule.tries, self.rule.most, self.spread is not None

    @property
    def rules(self) -> list[Rule]:
        """The rules that can keep a change; that of values if none can."""
        return [self.rule, *(each for each in (self.spread,) if each is not None and each.level is not None)]


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of one change."""

    schema: int = SCHEMA
    decision: Decision
    reason: Reason
    #: ``EXPERIMENT:VARIANT``; empty where values were typed.
    baseline: str
    change: str
    metric: JudgedMetric
    floor: Values
    values: Values
    mean_floor: float | None
    sd_floor: float | None
    mean: float | None
    #: Runs that decided, and pairs of one of them and one of the floor in which it is better; see `counted`.
    runs: int
    beaten: int
    pairs: int
    #: Of the exact one-sided test; it must not exceed `level`. None where nothing was tested.
    p: float | None
    level: float | None
    #: Further runs of the change at the fewest and at the most, and of the baseline.
    fewest_more: int
    most_more: int
    floor_more: int
    #: Which try against this floor it is, of how many, and which floor.
    attempt: int
    tries: int
    floors: int
    #: Tries against all floors.
    tries_in_all: int
    #: Probability that any change without effect is kept against one floor: what is promised, and what the rule has.
    alpha: float
    false_keeps: float
    #: What decided, values or their spread.
    counted: Counted = "value"
    #: Of the runs that decided.
    sd: float | None = None

    @property
    def status(self) -> int:
        """The exit status."""
        return {"keep": 0, "discard": 1, "run more": 3}[self.decision]


def set_floor(
    workspace: Workspace, metric: JudgedMetric, side: str, values: Sequence[float | None], asked: Floor, wanted: int
) -> Loop:
    """Make these runs the baseline that changes are judged against from now on; the same runs again are no new floor.

    Raises BadOption if there are too few or too many, the numbers make no sense, or the rule would be another for the
    tries to come than for those that were made.
    """
    for option, number, largest in (("tries", asked.tries, MOST_TRIES), ("max", asked.most, MOST_RUNS)):
        if not 1 <= number <= largest:
            raise BadOption(f"{option} {number}: expected 1 to {largest}", hint=f"type for example --set {option}=20")
    if not sum(value is not None for value in values):
        raise BadOption("no run of the baseline has a value", hint="`deviate show NAME` says how each run went")
    loop = Loop(
        metric=metric,
        side=side,
        values=list(values)[:LARGEST_FLOOR],
        wanted=min(max(wanted, len(values)), LARGEST_FLOOR),
        **_rules(len(values), asked.tries, asked.most, asked.spread),
    )
    workspace.prepare()
    with locked_looks(workspace):
        known = read_loop(workspace) if workspace.judge_file.is_file() else None
        return _write(workspace, msgspec.structs.replace(loop, **_counts(known, loop)))


def _counts(known: Loop | None, loop: Loop) -> dict[str, Any]:
    """Return what goes on of an earlier baseline: the number of its floor, and its tries."""
    if known is None:
        return {}
    if (known.metric, known.side, known.values) != (loop.metric, loop.side, loop.values):
        return {"floors": known.floors + 1, "before": known.before + len(known.changes)}
    if known.changes and known.settings != loop.settings:
        raise BadOption(
            "changes were judged against these runs with other tries, max or spread",
            hint=f"leave these, or make further runs: deviate baseline -n {2 * len(loop.values)} -- COMMAND",
        )
    return {"floors": known.floors, "before": known.before, "changes": known.changes}


def _rules(floor: int, tries: int, most: int, spread: bool) -> dict[str, Any]:
    """Return the rules of a floor: two share alpha, unless the floor is too small for that of the spread."""

    def find(counted: Counted, alpha: float) -> Rule:
        # One state for all: a rule is a matter of its numbers.
        rng = np.random.default_rng(0)
        return make_rule(min(floor, LARGEST_FLOOR), rng, tries=tries, most=most, alpha=alpha, counted=counted)

    second = find("spread", DEFAULT_ALPHA / 2) if spread else None
    is_shared = second is not None and second.level is not None
    return {"rule": find("value", DEFAULT_ALPHA / 2 if is_shared else DEFAULT_ALPHA), "spread": second}


def _write(workspace: Workspace, loop: Loop) -> Loop:
    write_json(workspace.judge_file, loop, durable=True)
    return loop


def read_loop(workspace: Workspace) -> Loop:
    """Return the baseline and what was judged against it.

    Raises BadOption if there is no baseline yet.
    """
    if not workspace.judge_file.is_file():
        raise BadOption(
            "there is no baseline to judge against",
            hint="measure one before the first change: deviate baseline -- python train.py",
        )
    loop: Loop = read_json(workspace.judge_file, Loop)
    return loop


def widen_floor(workspace: Workspace, side: str, values: Sequence[float | None]) -> Loop:
    """Give the floor of a baseline its further runs; changes that were judged before count on."""
    with locked_looks(workspace):
        loop = read_loop(workspace)
        if loop.side != side or len(values) <= len(loop.values):
            return loop
        rules = _rules(len(values), *loop.settings)
        return _write(workspace, msgspec.structs.replace(loop, values=list(values)[:LARGEST_FLOOR], **rules))


def judge_change(workspace: Workspace, side: str, values: Sequence[float | None]) -> Judged:
    """Judge a change by all its runs until now, and record the try; one that is kept becomes the baseline.

    Values that begin with those of the last try belong to that, unless an experiment has them.
    """
    with locked_looks(workspace):
        return _judge_change(workspace, read_loop(workspace), side, values)


def _judge_change(workspace: Workspace, loop: Loop, side: str, values: Sequence[float | None]) -> Judged:
    _check_units(loop, values)
    known = _try_of(loop, side, values)
    unable = unable_to_judge(loop, side, values) if known is None else None
    if unable is not None:
        return unable
    verdict = first_to_decide([judge(rule, loop.values, values, loop.metric.direction) for rule in loop.rules])
    place = len(loop.changes) if known is None else known
    change = Change(side=side, values=list(values), decision=verdict.decision)
    tried = msgspec.structs.replace(loop, changes=[*loop.changes[:place], change, *loop.changes[place + 1 :]])
    _write(workspace, _successor(tried, change, verdict) if verdict.decision == "keep" else tried)
    return _judged_of(tried, side, values, verdict, "", place + 1)


def _check_units(loop: Loop, values: Sequence[float | None]) -> None:
    """Refuse fractions beside percent, as `compare` does."""
    meant = meaning_of(loop.metric.name)
    if (meant.kind != "quality") if meant else loop.metric.direction == "lower":
        return
    floor, change = ([each for each in side if each is not None] for side in (loop.values, values))
    if is_hundredfold(floor, change) or is_hundredfold(change, floor):
        raise BadOption(
            f"one looks like a fraction and the other like percent: {floor[0]:.6g} in the baseline, {change[0]:.6g}",
            hint=f"bring it into the unit of the baseline, for example: deviate judge --value {floor[0]:.6g}",
        )


def unable_to_judge(loop: Loop, side: str = "", values: Sequence[float | None] = ()) -> Judged | None:
    """Say that the floor cannot judge a further change, and why; None where it can."""
    reason: Reason = "floor" if loop.rule.level is None else "spent" if len(loop.changes) >= loop.rule.tries else ""
    return _judged_of(loop, side, values, None, reason, len(loop.changes)) if reason else None


def _try_of(loop: Loop, side: str, values: Sequence[float | None]) -> int | None:
    if side:
        return next((place for place, each in enumerate(loop.changes) if each.side == side), None)
    last = loop.changes[-1] if loop.changes else None
    goes_on = last is not None and not last.side and list(values[: len(last.values)]) == last.values
    return len(loop.changes) - 1 if goes_on else None


def same_as_baseline(loop: Loop) -> Judged:
    """Say of a change that is none that there is nothing to judge; it is no try."""
    return _judged_of(loop, loop.side, [], None, "same", len(loop.changes))


def _successor(loop: Loop, change: Change, verdict: Judgement) -> Loop:
    """Return the loop whose baseline is a change that was kept: the runs that decided begin its floor."""
    values = change.values if change.side else change.values[: verdict.runs]
    return msgspec.structs.replace(
        loop,
        side=change.side,
        values=values[:LARGEST_FLOOR],
        **_rules(len(values), *loop.settings),
        changes=[],
        floors=loop.floors + 1,
        before=loop.before + len(loop.changes),
    )


def _judged_of(
    loop: Loop, side: str, values: Sequence[float | None], verdict: Judgement | None, reason: Reason, attempt: int
) -> Judged:
    decided: Decision = "discard" if reason == "same" else "run more"
    wanted = loop.wanted if reason == "spent" else max(max(loop.wanted, DEFAULT_RUNS) - len(loop.values), 0)
    about = verdict or Judgement(decision=decided, runs=0, beaten=0, pairs=0, p=math.nan)
    mean_floor, sd_floor = mean_sd(loop.values)
    mean, sd = mean_sd(values[: about.runs] if verdict else values)
    return Judged(
        decision=about.decision,
        reason=reason,
        baseline=loop.side,
        change=side,
        metric=loop.metric,
        floor=loop.values,
        values=list(values),
        mean_floor=mean_floor,
        sd_floor=sd_floor,
        mean=mean,
        p=about.p if verdict else None,
        level=next(rule.level for rule in loop.rules if rule.counted == about.counted),
        floor_more=wanted if reason in ("floor", "spent") else 0,
        attempt=attempt,
        tries=loop.rule.tries,
        floors=loop.floors,
        tries_in_all=loop.before + len(loop.changes),
        alpha=sum(rule.alpha for rule in loop.rules),
        false_keeps=sum(rule.false_keeps for rule in loop.rules),
        sd=sd,
        **{name: getattr(about, name) for name in ("runs", "beaten", "pairs", "fewest_more", "most_more", "counted")},
    )


def mean_sd(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return mean and SD of the values there are; None where they are too few, or no number is as large."""
    finite: Any = np.array([value for value in values if value is not None], float)
    with np.errstate(over="ignore", invalid="ignore"):
        found = [finite.mean() if len(finite) else math.nan, finite.std(ddof=1) if len(finite) > 1 else math.nan]
    mean, sd = (float(value) if math.isfinite(value) else None for value in found)
    return mean, sd


class Measured(NamedTuple):
    """The runs of one variant of an experiment."""

    #: ``EXPERIMENT:VARIANT``.
    side: str
    results: Results
    variant: str

    @property
    def environment(self) -> dict[str, str]:
        """What its first completed run recorded of where it ran; empty where none completed."""
        from deviate.facts.side import make_side

        completed = any(each.status == "completed" for each in self.results.runs_of(self.variant))
        return make_side(self.results, self.variant, self.side).environment if completed else {}

    def metric(self, name: str | None, better: Direction | None) -> JudgedMetric:
        """Return the metric that is judged; by default the one that leads the report.

        Raises BadOption if there is none of that name, or it is unknown which of its values are better.
        """
        from deviate.facts.side import make_side

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
        samples = [each for each in self.results.samples.get(self.variant, []) if each.name == metric.name]
        known = {run: value for each in samples for run, value in zip(each.runs, each.values, strict=True)}
        return [known.get(each.index) for each in self.results.runs_of(self.variant)]


def measured(folder: ExperimentFolder, variant: str = "") -> Measured:
    """Read the runs of a variant; by default of the only one."""
    from deviate.facts.stored import choose_variant, read_results

    results = read_results(folder, partial=True)
    chosen = choose_variant(folder, results.variants, variant)
    return Measured(f"{folder.name}:{chosen}", results, chosen)


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
    return set_floor(workspace, metric, "", values, floor, runs)


def measure_baseline(request: Request, floor: Floor, observe: Observe) -> Loop:
    """Make the runs of a baseline."""
    from deviate.runs.pipeline import run

    if len(parse_variants(request.variants)) > 1:
        raise BadOption("a baseline is one variant", hint="leave out all but one --vary")
    folder = run(request, observe)
    return take_baseline(Workspace(folder.project), folder.name, floor, request.runs)


def take_baseline(workspace: Workspace, side: str, floor: Floor, wanted: int) -> Loop:
    """Make an experiment that is there, or was imported, the baseline."""
    from deviate.facts.stored import find_experiment

    runs = measured(*find_experiment(workspace, side))
    metric = runs.metric(floor.metric, floor.better)
    return set_floor(workspace, metric, runs.side, runs.values(metric), floor, wanted)


def judge_experiment(workspace: Workspace, side: str) -> Judged:
    """Judge the runs of an experiment as they are."""
    from deviate.facts.stored import find_experiment

    loop = read_loop(workspace)
    runs = measured(*find_experiment(workspace, side))
    return same_as_baseline(loop) if runs.side == loop.side else _judged(workspace, loop, runs)


def judge_command(request: Request, workspace: Workspace, observe: Observe) -> Judged:
    """Run the project as it is now, once and again, until it is kept or discarded.

    The runs have the seeds of the baseline's, so that what is held fixed is the same on both sides. Runs whose random
    numbers agree differ less, which makes false keeps rarer.

    Raises BadOption if the baseline was not made by Deviate, or in another environment.
    """
    from deviate.facts.stored import find_experiment
    from deviate.runs.pipeline import run

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
    request = msgspec.structs.replace(request, variants=(variant,), seed=baseline.seed)
    loop = _with_whole_floor(folder, loop, request, observe)
    if (unable := unable_to_judge(loop)) is not None:
        return unable
    runs = 1
    while True:
        change = run(msgspec.structs.replace(request, runs=runs), observe)
        if change.name == folder.name:
            return same_as_baseline(loop)
        judged = _judged(workspace, loop, measured(change, variant))
        if judged.decision != "run more" or judged.reason:
            return judged
        # Those that go on side by side end together.
        runs = judged.runs + min(request.jobs or 1, judged.most_more)


def _judged(workspace: Workspace, loop: Loop, runs: Measured) -> Judged:
    from deviate.facts.stored import find_experiment

    if _is_experiment([loop.side], workspace):
        _check_environment(measured(*find_experiment(workspace, loop.side)), runs)
    if not (values := runs.values(loop.metric)):
        raise BadOption(f"no run of {runs.side} has ended", hint="wait for its runs, or make some: deviate run")
    return judge_change(workspace, runs.side, values)


def _with_whole_floor(folder: ExperimentFolder, loop: Loop, request: Request, observe: Observe) -> Loop:
    """Make the baseline's missing runs, from its copy of the project: those of a change that was kept are few."""
    from deviate.runs.pipeline import run

    if len(loop.values) >= loop.wanted:
        return loop
    command = folder.read_experiment().command
    run(msgspec.structs.replace(request, command=command, name=folder.name, runs=loop.wanted, edited=True), observe)
    made = measured(folder, *request.variants)
    return widen_floor(Workspace(folder.project), loop.side, made.values(loop.metric))


def _check_environment(baseline: Measured, change: Measured) -> None:
    """Refuse runs of another environment: the floor says nothing of them."""
    was, now = baseline.environment, change.environment
    differing = [f"{name} was {text} and is {now[name]}" for name, text in was.items() if now.get(name, text) != text]
    if differing:
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise BadOption(
            f"the environment is not that of the baseline: {differing[0]}{more}",
            hint="measure the baseline again, on its own source: deviate baseline -- "
            f"{typed_line(baseline.results.experiment.command)}",
        )
