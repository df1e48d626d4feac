"""Where runs are made that are not made on this machine."""

from __future__ import annotations

import msgspec

from deviate.errors import BadOption
from deviate.project.config import read_config
from deviate.replicate.engines.engine import Engine
from deviate.replicate.engines.slurm import Slurm
from deviate.replicate.lease import live_holder
from deviate.replicate.orders import read_job, read_order
from deviate.replicate.workspace.folders import ExperimentFolder
from deviate.study.request import Request


def make_engine(request: Request, folder: ExperimentFolder) -> Engine | None:
    """Return what starts workers elsewhere; None where runs are made on this machine.

    Without a word of the user's, runs that were handed over before are followed there.
    """
    if (request.executor or handed_to(folder)) != Slurm.name:
        return None
    wishes = read_config(folder.project).slurm
    given = {"partition": request.partition, "time": request.time, "gres": request.gres, "cpus": request.cpus}
    wishes = msgspec.structs.replace(wishes, **{name: value for name, value in given.items() if value is not None})
    if wishes.cpus < 1:
        raise BadOption(f"cpus under [slurm] must be at least 1, found {wishes.cpus}", hint="write cpus = 4")
    return Slurm(wishes, request.jobs or wishes.width)


def handed_to(folder: ExperimentFolder) -> str | None:
    """Return the executor to which runs were handed that are not done; None where there is none."""
    for run in folder.runs():
        job = read_job(run)
        if job is not None and (not run.is_done or live_holder(run) is not None):
            return read_order(folder, job).executor
    return None
