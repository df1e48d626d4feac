"""Where runs are made that are not made on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from deviate.core.errors import BadOption, RunElsewhere
from deviate.runs.engines.engine import Engine, Known, Printer, Workers
from deviate.runs.engines.ray import Ray
from deviate.runs.engines.slurm import Slurm
from deviate.runs.events import LeftToCluster
from deviate.runs.executors.executor import DEFAULT_EXECUTOR, EXPORTED, Executor, Places, make_executor
from deviate.runs.hardware import Gpus
from deviate.runs.lease import live_holder
from deviate.runs.orders import Order, read_job, read_order
from deviate.runs.request import Request
from deviate.runs.todo import schedule
from deviate.runs.work import evaluating_job, stays
from deviate.source.config import RayEntry, SlurmEntry, read_config
from deviate.store.folders import ExperimentFolder

Entry = TypeVar("Entry", SlurmEntry, RayEntry)


class Engines:
    """Where the runs of one command are made: experiments that want the same of a cluster share an engine."""

    def __init__(self, *, shared: bool = False) -> None:
        self._made: dict[bytes, Known] = {}
        #: On this machine, for all experiments of the command.
        self.places = Places(shared=shared)
        self._here: dict[bytes, Executor] = {}

    def here(self, jobs: int, gpus: Gpus | None) -> Executor:
        """Return what starts runs on this machine, `jobs` side by side that share `gpus`."""
        made = make_executor(DEFAULT_EXECUTOR, jobs, gpus)
        return self._here.setdefault(msgspec.json.encode((jobs, gpus)), made)

    def known(self, request: Request, folder: ExperimentFolder) -> Known | None:
        """Return the engine of `make_engine`, with what is known of its jobs; None where there is none."""
        engine = make_engine(request, folder)
        if engine is None:
            return None
        key = msgspec.json.encode((engine.name, engine.address, engine.wishes, engine.width))
        return self._made.setdefault(key, Known(engine))

    def join(self, left: Sequence[LeftToCluster], waiting: int) -> Iterator[LeftToCluster]:
        """Join what cells left to the same cluster; `waiting` are runs of cells that were not begun."""
        engines = {(known.engine.name, known.engine.address): known.engine for known in self._made.values()}
        for (name, address), engine in engines.items():
            mine = [each for each in left if (each.executor, each.address) == (name, address)]
            if not mine:
                continue
            submissions = frozenset().union(*(each.submissions for each in mine))
            yield LeftToCluster(
                executor=name,
                runs=sum(each.runs for each in mine),
                cancel=engine.cancel_words(submissions),
                waiting=sum(each.waiting for each in mine) + waiting,
                address=address,
                submissions=submissions,
                cells=len(mine),
            )
            waiting = 0


def make_engine(request: Request, folder: ExperimentFolder) -> Engine | None:
    """Return what starts workers elsewhere; None where runs are made on this machine.

    Without a word of where, runs that were handed over before are followed there.

    Raises RunElsewhere if some are not done, and those are for what nobody can ask.
    """
    handed = handed_to(folder)
    name = request.executor or (handed.executor if handed else None)
    if request.print_script:
        return None
    if name == EXPORTED:
        if not (request.until or lacks_runs(folder, retry_failed=request.retry_failed)):
            return None
        raise RunElsewhere(
            f"runs of {folder.name!r} are handed to {name}, and are not done",
            hint="type the same command once its jobs have ended; to print jobs of those that have none, add "
            f"--executor {name} --print; to make them on this machine, --executor local",
        )
    return _engine(request, folder, name, handed)


def make_printer(request: Request, folder: ExperimentFolder) -> Printer | None:
    """Return what says how workers are started; None where that is not asked for."""
    if not request.print_script:
        return None
    if request.executor == EXPORTED:
        return Workers(request.cpus or 1, request.scratch or "")
    return _engine(request, folder, request.executor, handed_to(folder))


def _engine(request: Request, folder: ExperimentFolder, name: str | None, handed: Order | None) -> Engine | None:
    config = read_config(folder.project)
    if name == Slurm.name:
        slurm = _asked(config.slurm, request)
        return Slurm(slurm, request.jobs or slurm.width)
    if name == Ray.name:
        ray = _asked(config.ray, request)
        before = handed.address if handed is not None and handed.executor == name else ""
        address = request.address or before or ray.address or os.environ.get("RAY_ADDRESS", "")
        return Ray(msgspec.structs.replace(ray, address=address), request.jobs or ray.width)
    return None


def _asked(wishes: Entry, request: Request) -> Entry:
    """Return what the file says of a cluster, but for what the user has typed."""
    typed = {name: getattr(request, name, None) for name in wishes.__struct_fields__}
    wishes = msgspec.structs.replace(wishes, **{name: value for name, value in typed.items() if value is not None})
    if wishes.cpus < 1:
        raise BadOption(f"cpus of a run must be at least 1, found {wishes.cpus}", hint="write cpus = 4 in deviate.toml")
    return wishes


def lacks_runs(folder: ExperimentFolder, *, retry_failed: bool) -> bool:
    """Tell whether a run that is planned is not done or was ended from outside, or lacks an evaluation."""
    experiment, again = folder.read_experiment(), {"retry_failed": retry_failed, "retry_killed": True}
    done = {run.run: run for run in folder.runs() if stays(run, **again)}
    if schedule(experiment.planned, done, experiment.seed):
        return True
    evaluating = (evaluating_job(run, experiment.steps, **again) for run in folder.completed_runs())
    return any(job is not None for job in evaluating)


def handed_to(folder: ExperimentFolder) -> Order | None:
    """Return what was handed over of runs that are not done; None where nothing was."""
    for run in folder.runs():
        job = read_job(run)
        if job is not None and (not run.is_done or live_holder(run) is not None):
            return read_order(folder, job)
    return None
