"""``deviate-worker RUN_DIR``: make one run where an engine has started this process, whatever the engine is.

What is to be done is in the run's folder, and so is all that is done; nothing else is read or returned. A run that
another worker makes, or that is done, is left alone. With ``--tied`` the worker is asked to stop when its standard
input ends: whoever started it is gone, or wants it gone.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import MutableMapping
from functools import partial
from pathlib import Path

import msgspec

from deviate.core.errors import DeviateError, RunElsewhere
from deviate.core.experiment import Run
from deviate.core.interrupts import StopRequests, listening
from deviate.runs.engines.ray_driver import JOB
from deviate.runs.executors.local import LocalExecutor
from deviate.runs.lease import BEAT_EVERY, Lease, LeaseHeld, acquire, beating
from deviate.runs.orders import Order, ordered_source, read_job, read_order
from deviate.runs.scratch import Scratch, opened
from deviate.runs.work import Job, Means, Worker, end_leftover, evaluating_job, training_job
from deviate.store.folders import ExperimentFolder, RunFolder

#: Seconds between two looks at the command.
LOOK_EVERY = 0.2

#: Engines signal all processes of a job one after another.
HEARS_WITHIN = 0.2

CANCELLED = "its job was ended by the cluster or by its owner"


def main() -> int:
    """Make the run of the folder that is named on the command line."""
    tied, paths = "--tied" in sys.argv[1:-1], sys.argv[1:]
    if len(paths) != 1 + tied:
        print("usage: deviate-worker [--tied] RUN_DIR", file=sys.stderr)  # noqa: T201
        return 2
    if tied:
        threading.Thread(target=_stop_at_end, name="tie", daemon=True).start()
    try:
        print(make_run(Path(paths[-1]).resolve()), flush=True)  # noqa: T201
    except DeviateError as error:
        print(f"{error.slug}: {error.message}\n{error.hint}", file=sys.stderr)  # noqa: T201
        return error.exit_status
    except OSError as error:
        print(f"{paths[-1]} was not made: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _stop_at_end() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def make_run(path: Path) -> str:
    """Do what the job in a run's folder says; return what was done, in words."""
    variant, _, index = path.name.rpartition("-")
    run, folder = RunFolder(path, Run(variant=variant, index=int(index))), ExperimentFolder(path.parents[1])
    if not run.job_file.is_file():
        return f"{path.name}: nothing is to be done"
    try:
        lease = acquire(run)
    except LeaseHeld as held:
        return f"{path.name} is being made by {held}"
    job_file = read_job(run)
    if job_file is None:
        # Another worker was done in between.
        lease.release()
        return f"{path.name}: nothing is to be done"
    order = read_order(folder, job_file)
    with beating(lease):
        return _work(folder, order, run, lease)


def _work(folder: ExperimentFolder, order: Order, run: RunFolder, lease: Lease) -> str:
    executor = LocalExecutor(1, threads=order.threads)
    for each in (run, *run.steps()):
        if not each.is_done:
            end_leftover(each, executor)
    worker = partial(_worker, folder, lease=lease, executor=executor, name=_job(os.environ))
    with listening() as stop:
        job = _left(run, order)
        # What was trained before is evaluated where it is.
        if order.scratch and job.trains:
            try:
                with opened(order.scratch, folder, run.run, lease) as scratch:
                    return _make(worker(order, job, scratch), stop, scratch)
            except OSError as problem:
                order, job = _without_scratch(order, problem), _left(run, order)
        return _make(worker(order, job), stop)


def _left(run: RunFolder, order: Order) -> Job:
    """Return what is to be done of a run."""
    if not run.is_done:
        return training_job(run.run, order.experiment.steps)
    return evaluating_job(run, order.experiment.steps, retry_failed=False) or Job(run.run, deque())


def _make(worker: Worker, stop: StopRequests, scratch: Scratch | None = None) -> str:
    """Do the job of a worker; return what was done, in words.

    Raises RunElsewhere if another worker took the run over. Raises OSError if a disk is full, or away; nothing goes on
    then.
    """
    job = worker.job
    try:
        worker.prepare()
        if stop.count:
            worker.lease.release()
            return f"{job.run.folder} was not begun: {CANCELLED}"
        deque(worker.next(), maxlen=0)
        looked = time.monotonic()
        while not worker.is_over:
            deque(worker.look(stop), maxlen=0)
            worker.wait(LOOK_EVERY)
            if time.monotonic() - looked >= BEAT_EVERY:
                looked = time.monotonic()
                if not worker.lease.is_held():
                    raise RunElsewhere(f"{job.run.folder} was taken over", hint="wait until that worker has ended")
                if scratch is not None:
                    scratch.show(job.run)
    except (OSError, RunElsewhere):
        worker.kill()
        raise
    return f"{job.run.folder}: {job.outcome.status if job.outcome else 'done'}"


def _worker(
    folder: ExperimentFolder,
    order: Order,
    job: Job,
    scratch: Scratch | None = None,
    *,
    lease: Lease,
    executor: LocalExecutor,
    name: str,
) -> Worker:
    mirror, disk = (scratch.mirror, scratch.disk) if scratch else (None, None)
    source, steps = ordered_source(folder, order, dict(os.environ), mirror, disk)
    means = Means(
        source=source,
        steps=steps,
        executor=executor,
        options=order.options,
        hears_within=HEARS_WITHIN,
        cancelled=CANCELLED,
        job=name,
        scratch=scratch,
    )
    return Worker(means, job, 0, lease)


def _without_scratch(order: Order, problem: OSError) -> Order:
    """Return the order of a run that is made in its own folder, because the disk of its machine does not take it."""
    # Of a folder that could not be copied, the first file says why.
    reason = problem.args[0][0][-1] if isinstance(problem, shutil.Error) else problem.strerror or problem
    where = f"scratch = {order.scratch} was not used on {socket.gethostname()}: {reason}"
    options = msgspec.structs.replace(order.options, warnings=(*order.options.warnings, where))
    return msgspec.structs.replace(order, options=options, scratch="")


def _job(environment: MutableMapping[str, str]) -> str:
    """Return what the engine calls this worker: a task of an array as ``JOB_TASK``; empty where it does not say."""
    if (said := environment.pop(JOB, None)) is not None:
        return said
    task = environment.get("SLURM_ARRAY_TASK_ID")
    if task is not None:
        return f"{environment.get('SLURM_ARRAY_JOB_ID', '')}_{task}"
    return environment.get("SLURM_JOB_ID", "")


if __name__ == "__main__":
    sys.exit(main())
