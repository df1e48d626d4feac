"""Make runs round by round until there are enough of them: ``deviate run --until``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from deviate.core.errors import BadOption, MetricNotRecorded
from deviate.core.experiment import Decided, Findings, Until
from deviate.core.factors import find_variant, parse_variants
from deviate.lexicon.words import missing_name, same_name
from deviate.observe.metrics import with_times
from deviate.runs.events import Compared, Looked, RunEnded, RunStarted, StudyEvent
from deviate.runs.request import Request
from deviate.store.folders import ExperimentFolder, Workspace
from deviate.store.run_files import Completed

if TYPE_CHECKING:
    from deviate.stats.multiplicity import Look

_CRITERION = re.compile(
    r"(?P<metric>.+?)(?:\s+(?P<of>mean|sd))?\s*(?:±|\+/?-)\s*(?P<width>\d*\.?\d+(?:e[-+]?\d+)?)\s*(?P<percent>%?)",
    re.IGNORECASE,
)

_DECIDED = re.compile(r"(?:(?P<metric>.+?)\s+)?decided\s+against\s+(?P<against>.+)", re.IGNORECASE)

#: What to type, for hints.
EXAMPLES = (
    "type for example --until 'val acc ±0.3', 'val acc ±2%', 'val acc sd ±25%' or 'decided against B'; +- may stand "
    "for ±"
)

#: Runs of a variant after which it ends, where the user does not say.
DEFAULT_MOST = 30

#: The same where an SD is to be known, as a multiple of the runs that normal values take.
SD_MOST = 1.5


class Criterion(msgspec.Struct, frozen=True):
    """What is to be known, and how well."""

    metric: str
    of: Literal["mean", "sd"]
    #: Half-width; a share where `relative`.
    width: float
    relative: bool


def parse_until(text: str) -> Criterion:
    """Read ``METRIC [mean|sd] ±WIDTH[%]``.

    Raises BadOption if it is not written so, or the width of an SD is no percentage.

    >>> parse_until("val acc ±0.3")
    Criterion(metric='val acc', of='mean', width=0.3, relative=False)
    >>> parse_until("val acc sd +-25%")
    Criterion(metric='val acc', of='sd', width=0.25, relative=True)
    """
    match = _CRITERION.fullmatch(text.strip())
    if match is None:
        raise BadOption(f"--until {text!r} is neither METRIC ±WIDTH nor 'decided against B'", hint=EXAMPLES)
    width, relative = float(match["width"]), bool(match["percent"])
    width = width / 100 if relative else width
    if not (width > 0 and math.isfinite(width)):
        raise BadOption(f"--until {text!r}: a width is above 0", hint=EXAMPLES)
    of: Literal["mean", "sd"] = "sd" if (match["of"] or "").lower() == "sd" else "mean"
    if of == "sd" and not relative:
        raise BadOption(
            f"--until {text!r}: the width of an SD is a percentage of it",
            hint=f"how many runs it takes depends on the share only; {EXAMPLES}",
        )
    return Criterion(match["metric"].strip(), of, width, relative)


def settle_until(request: Request) -> Until | Decided | None:
    """Return what a request asks for with ``--until``; None where it asks for a number of runs.

    Raises BadOption if it cannot be met with the runs that are allowed.
    """
    if request.until is None:
        if request.most is not None:
            raise BadOption("--max says when to give up on --until", hint="type -n for a fixed number of runs")
        return None
    if match := _DECIDED.fullmatch(request.until.strip()):
        return _settle_decided(match["metric"] or "", match["against"].strip(), request)
    from deviate.stats.intervals import FEWEST_PILOT

    criterion = parse_until(request.until)
    if request.runs < FEWEST_PILOT:
        raise BadOption(
            f"-n {request.runs} is too few for a first look with --until; expected {FEWEST_PILOT} or more",
            hint="with fewer runs the SD is too often far too small by chance; leave -n out for 10",
        )
    until = Until(**msgspec.structs.asdict(criterion), least=request.runs, most=request.most or 0)
    return _with_most(until, request.most)


def _settle_decided(metric: str, against: str, request: Request) -> Decided:
    from deviate.stats.results import VERDICT_RUNS

    variant, *others = parse_variants(request.variants)
    if others:
        raise BadOption(
            f"--until {request.until!r} compares one variant, found {', '.join(request.variants)}",
            hint="type one --vary",
        )
    most = DEFAULT_MOST if request.most is None else request.most
    if request.runs < VERDICT_RUNS or most < request.runs:
        raise BadOption(
            f"--until {request.until!r}: -n {request.runs} runs before the first look and --max {most} in all",
            hint=f"-n must be {VERDICT_RUNS} or more, and --max no less; leave both out for 10 and {DEFAULT_MOST}",
        )
    return Decided(against=against, metric=metric.strip(), variant=variant.name, least=request.runs, most=most)


def _with_most(until: Until, most: int | None) -> Until:
    from deviate.stats.multiplicity import least_runs

    fewest = least_runs(until)
    if fewest is None:
        raise BadOption(f"--until {until.text!r} takes more than 100,000 runs", hint="ask for a larger width")
    default = math.ceil(SD_MOST * fewest) if until.of == "sd" else max(DEFAULT_MOST, fewest)
    most = default if most is None else most
    if most < fewest:
        raise BadOption(
            f"--until {until.text!r} takes {fewest} runs or more, and --max is {most}",
            hint=f"type --max {default}, or ask for less",
        )
    return msgspec.structs.replace(until, most=most)


def settle_metric(rule: Until | Decided, findings: Findings, evaluated: Sequence[str] = ()) -> Until | Decided:
    """Write the metric as the program does; refuse one that no run can report, as far as that is known before one has.

    Names that are made while the program runs (keys of a mapping, of a framework's log) are not known before; with
    those the first run tells, see `settle_recorded`. `evaluated` are the names of metrics of evaluations.

    Raises BadOption with the names found.
    """
    selected = [metric for metric in findings.metrics if metric.selected]
    names = with_times([*(metric.name for metric in selected), *evaluated])
    unforeseen = any(
        metric.capture.how in ("mapping", "framework") or metric.capture.label or metric.capture.key
        for metric in selected
    )
    if unforeseen or not rule.metric:
        return rule
    name = same_name(rule.metric, names)
    if name is None:
        raise BadOption(*missing_name(rule.metric, names, f"--until: no metric {rule.metric!r} was found"))
    return msgspec.structs.replace(rule, metric=name)


def settle_recorded(folder: ExperimentFolder, until: Until) -> Until:
    """Write the metric as it was recorded, in the experiment too, once a run has completed.

    Raises MetricNotRecorded with the names that were recorded.
    """
    from deviate.observe.tables import open_tables

    with open_tables(folder) as tables:
        names = with_times(name for name, _ in tables.names)
    name = same_name(until.metric, names)
    if name is None:
        raise MetricNotRecorded(
            f"--until: no run of {folder.name!r} recorded {until.metric!r}",
            hint=f"recorded were: {', '.join(dict.fromkeys(names))}; type the same command with one of these",
        )
    if name != until.metric:
        until = msgspec.structs.replace(until, metric=name)
        folder.write_experiment(msgspec.structs.replace(folder.read_experiment(), until=until))
    return until


#: Makes the runs planned of each variant that are not made yet; the flag is true in the first round.
Make = Callable[[Mapping[str, int], bool], Iterator[StudyEvent]]


class Numbered:
    """Makes rounds of runs, whose events are numbered as if they were one."""

    def __init__(self, make: Make) -> None:
        self._make, self._began, self._first = make, 0, True

    def made(self, planned: Mapping[str, int]) -> Iterator[StudyEvent]:
        """Make the runs of a round."""
        started = 0
        for event in self._make(planned, self._first):
            if isinstance(event, RunStarted):
                started = event.total
                numbers = {"number": self._began + event.number, "total": self._began + event.total}
                yield msgspec.structs.replace(event, **numbers)
            else:
                yield event
        self._began, self._first = self._began + started, False


def until_enough(
    make: Make, folder: ExperimentFolder, until: Until, variants: Sequence[str], jobs: int
) -> Generator[StudyEvent, None, None]:
    """Make runs round by round until each variant has enough; which is looked at after each round.

    Every run of a round has ended before the next one is planned, so what is looked at are always the first runs of a
    variant by their index, never those that happened to be quick.

    Raises MetricNotRecorded after the first completed run, where it did not record the metric.
    """
    if folder.completed_runs():
        until = settle_recorded(folder, until)
    already = folder.read_experiment().planned
    planned = {name: min(max(until.least, already.get(name, 0)), max(until.most, until.least)) for name in variants}
    rounds = Numbered(make)
    while planned:
        for event in rounds.made(planned):
            yield event
            if isinstance(event, RunEnded) and isinstance(event.outcome, Completed):
                until = settle_recorded(folder, until)
        looks = _looks(folder, until, list(planned))
        yield from (Looked(variant=name, look=each, until=until) for name, each in looks.items())
        planned = _next_round(looks, planned, until, jobs)


def _looks(folder: ExperimentFolder, until: Until, variants: Sequence[str]) -> dict[str, Look]:
    import numpy as np

    from deviate.observe.tables import open_tables
    from deviate.stats.multiplicity import look

    with open_tables(folder) as tables:
        rows = sorted((row for row in tables.samples() if row.metric == until.metric), key=lambda row: row.run)
    values = {name: np.array([row.value for row in rows if row.variant == name]) for name in variants}
    return {name: look(listed[np.isfinite(listed)], until) for name, listed in values.items()}


def _next_round(looks: Mapping[str, Look], planned: Mapping[str, int], until: Until, jobs: int) -> dict[str, int]:
    """Plan one run more of each variant that has not enough; with room for more side by side, as many as there is."""
    going = [name for name, each in looks.items() if _goes_on(name, each, planned[name], until)]
    step = max(1, jobs // max(len(going), 1))
    return {name: min(planned[name] + step, until.most) for name in going}


def _goes_on(variant: str, latest: Look, made: int, until: Until) -> bool:
    if latest.met or made >= until.most or latest.n == 0:
        return False
    known = find_variant(variant)
    # Where nothing varies between runs, equal values are what is meant, and more of them tell nothing.
    return not (latest.identical and known is not None and known.is_fixed)


# Make runs round by round until a comparison with a stored experiment is decided: ``deviate run --until``.


class Referee(Protocol):
    """Compares growing runs with a stored experiment; the layers above know how."""

    def check(self, workspace: Workspace, decided: Decided, side: str | None = None) -> None:
        """Refuse what cannot be decided; `side` is the ``EXPERIMENT:VARIANT`` that grows, once a run of it is there."""

    def look(self, workspace: Workspace, decided: Decided, side: str) -> Compared:
        """Compare once more, and record it."""


def until_decided(
    make: Make, folder: ExperimentFolder, decided: Decided, jobs: int, referee: Referee
) -> Generator[StudyEvent, None, None]:
    """Make runs of a variant round by round until it is decided which is better, or it has all that are allowed.

    Every run of a round has ended before it is looked at, so that what is compared are always the first runs by index.
    """
    variant = decided.variant
    workspace, side = Workspace(folder.project), f"{folder.name}:{variant}"
    checked = bool(folder.completed_runs())
    if checked:
        referee.check(workspace, decided, side)
    already = folder.read_experiment().planned.get(variant, 0)
    planned = min(max(decided.least, already), max(decided.most, decided.least))
    rounds = Numbered(make)
    while True:
        for event in rounds.made({variant: planned}):
            yield event
            if not checked and isinstance(event, RunEnded) and isinstance(event.outcome, Completed):
                referee.check(workspace, decided, side)
                checked = True
        if not checked:
            return
        compared = referee.look(workspace, decided, side)
        yield compared
        if compared.shown or compared.hopeless or planned >= decided.most:
            return
        planned = min(planned + max(1, jobs), decided.most)
