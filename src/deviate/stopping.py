"""Make runs until there are enough of them: what ``deviate run --until`` does beside a fixed number of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from deviate.analyse.findings import Findings
from deviate.collect.measured import TIMES
from deviate.collect.tables import included_runs, recorded_names, samples
from deviate.contrast.stopping import Look, least_runs, look
from deviate.errors import BadOption, MetricNotRecorded
from deviate.experiment import Until
from deviate.factors import find_variant
from deviate.measure.fixed_width import FEWEST_PILOT
from deviate.replicate.events import Event, Looked, RunEnded, RunStarted
from deviate.replicate.outcome import Completed
from deviate.replicate.workspace import ExperimentFolder
from deviate.report.names import same_name
from deviate.report.until import progress_line
from deviate.request import Request
from deviate.until import parse_until

#: Runs of a variant after which it ends, where the user does not say.
DEFAULT_MOST = 30

#: The same where an SD is to be known, as a multiple of the runs that normal values take.
SD_MOST = 1.5

#: Makes the runs planned of each variant that are not made yet; the flag is true in the first round.
Make = Callable[[Mapping[str, int], bool], Iterator[Event]]


def settle_until(request: Request) -> Until | None:
    """Return what a request asks for with ``--until``; None where it asks for a number of runs.

    Raises
    ------
    BadOption
        If it cannot be met with the runs that are allowed.
    """
    if request.until is None:
        if request.most is not None:
            raise BadOption("--max says when to give up on --until", hint="type -n for a fixed number of runs")
        return None
    asked = parse_until(request.until)
    if request.runs < FEWEST_PILOT:
        raise BadOption(
            f"-n {request.runs} is too few for a first look with --until; expected {FEWEST_PILOT} or more",
            hint="with fewer runs the SD is too often far too small by chance; leave -n away for 10",
        )
    until = Until(
        metric=asked.metric,
        of=asked.of,
        width=asked.width,
        relative=asked.relative,
        least=request.runs,
        most=request.most or 0,
    )
    return _with_most(until, request.most)


def _with_most(until: Until, asked: int | None) -> Until:
    fewest = least_runs(until)
    if fewest is None:
        raise BadOption(f"--until {until.text!r} takes more than 100,000 runs", hint="ask for a larger width")
    default = math.ceil(SD_MOST * fewest) if until.of == "sd" else max(DEFAULT_MOST, fewest)
    most = default if asked is None else asked
    if most < fewest:
        raise BadOption(
            f"--until {until.text!r} takes {fewest} runs or more, and --max is {most}",
            hint=f"type --max {default}, or ask for less",
        )
    return msgspec.structs.replace(until, most=most)


def settle_metric(until: Until, findings: Findings) -> Until:
    """Write the metric as the program does; refuse one that no run can report, as far as that is known before one has.

    Names that are made while the program runs (keys of a mapping, of a framework's log) are not known before; with
    those the first run tells, see `settle_recorded`.

    Raises
    ------
    BadOption
        With the names found.
    """
    selected = [metric for metric in findings.metrics if metric.selected]
    names = [*(metric.name for metric in selected), *(time.name for time in TIMES)]
    unforeseen = any(
        metric.capture.how in ("mapping", "framework") or metric.capture.label or metric.capture.key
        for metric in selected
    )
    if unforeseen:
        return until
    name = same_name(until.metric, names)
    if name is None:
        raise BadOption(f"--until: no metric {until.metric!r} was found", hint=f"metrics: {', '.join(names)}")
    return msgspec.structs.replace(until, metric=name)


def until_enough(
    make: Make, folder: ExperimentFolder, until: Until, variants: Sequence[str], jobs: int
) -> Iterator[Event]:
    """Make runs round by round until each variant has enough; which is looked at after each round.

    Every run of a round has ended before the next one is planned, so what is looked at are always the first runs of a
    variant by their index, never those that happened to be quick.

    Raises
    ------
    MetricNotRecorded
        After the first completed run, where it did not record the metric.
    """
    if included_runs(folder):
        until = settle_recorded(folder, until)
    stored = folder.read_experiment().planned
    planned = {name: min(max(until.least, stored.get(name, 0)), max(until.most, until.least)) for name in variants}
    began, first = 0, True
    while planned:
        started = 0
        for event in make(planned, first):
            if isinstance(event, RunStarted):
                started = event.total
                yield msgspec.structs.replace(event, place=began + event.place, total=began + event.total)
            else:
                yield event
            if isinstance(event, RunEnded) and isinstance(event.outcome, Completed):
                until = settle_recorded(folder, until)
        began, first = began + started, False
        found = _looks(folder, until, list(planned))
        yield from (Looked(variant=name, text=progress_line(name, each, until)) for name, each in found.items())
        planned = _next_round(found, planned, until, jobs)


def settle_recorded(folder: ExperimentFolder, until: Until) -> Until:
    """Write the metric as it was recorded, in the experiment too, once a run has completed.

    Raises
    ------
    MetricNotRecorded
        With the names that were recorded.
    """
    names = [*(name for name, _ in recorded_names(folder)), *(time.name for time in TIMES)]
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


def _looks(folder: ExperimentFolder, until: Until, variants: Sequence[str]) -> dict[str, Look]:
    table = samples(folder)
    rows = table[table["metric"] == until.metric].sort_values("run")
    found = {}
    for name in variants:
        values = rows[rows["variant"] == name]["value"].to_numpy(dtype=float)
        found[name] = look(values[np.isfinite(values)], until)
    return found


def _next_round(found: Mapping[str, Look], planned: Mapping[str, int], until: Until, jobs: int) -> dict[str, int]:
    """Plan one run more of each variant that has not enough; with room for more side by side, as many as there is."""
    going = [name for name, each in found.items() if _goes_on(name, each, planned[name], until)]
    step = max(1, jobs // max(len(going), 1))
    return {name: min(planned[name] + step, until.most) for name in going}


def _goes_on(variant: str, found: Look, made: int, until: Until) -> bool:
    if found.met or made >= until.most or found.n == 0:
        return False
    return not (found.identical and _holds_everything(variant))


def _holds_everything(variant: str) -> bool:
    """Tell whether nothing varies between runs: equal values are then what is meant, and more of them tell nothing."""
    known = find_variant(variant)
    return known is not None and known.controlled and not known.varying and not known.disturbed
