"""How many runs go on side by side on this machine, and which GPUs they share."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from deviate.errors import BadOption
from deviate.replicate.environment.hardware import Gpus, chosen_gpus
from deviate.replicate.workspace.folders import ExperimentFolder
from deviate.study.request import Request


class Slots(msgspec.Struct, frozen=True, kw_only=True):
    """Room for runs."""

    jobs: int
    #: None: the user does not say, see `LocalExecutor`.
    gpus: Gpus | None = None

    @property
    def per_gpu(self) -> int:
        """Runs that share a GPU at most, of those that the user shares out; else 1."""
        return -(-self.jobs // len(self.gpus.names)) if self.gpus else 1


def make_slots(request: Request, folder: ExperimentFolder, environment: Mapping[str, str] | None = None) -> Slots:
    """Return the room that a request asks for; what it does not say is as in the latest runs of `folder`.

    Raises
    ------
    BadOption
        If the GPUs are not there, or more runs are asked for than may share them.
    """
    gpus = shared_gpus(request, os.environ if environment is None else environment)
    if gpus is None:
        return Slots(jobs=request.jobs or latest_jobs(folder))
    return Slots(jobs=request.jobs or len(gpus.names) * (request.per_gpu or 1), gpus=gpus)


def shared_gpus(request: Request, environment: Mapping[str, str]) -> Gpus | None:
    """Return the GPUs that runs share out; None where the user does not say.

    Raises
    ------
    BadOption
        As `make_slots` does.
    """
    if request.gpus is None and request.per_gpu is None:
        return None
    gpus = chosen_gpus(request.gpus or "all", environment)
    most = len(gpus.names) * (request.per_gpu or 1)
    if request.jobs is not None and request.jobs > most:
        raise BadOption(
            f"-j {request.jobs} is more than {len(gpus.names)} GPUs have room for",
            hint=f"type -j {most}, or --per-gpu {-(-request.jobs // len(gpus.names))}",
        )
    return gpus


def latest_jobs(folder: ExperimentFolder) -> int:
    """Return how many runs went on side by side so far: with another number each gets another share of the cores."""
    infos = [info for run in folder.runs() if run.is_done and (info := run.read_info()) is not None]
    return max(infos, key=lambda info: info.started).jobs if infos else 1
