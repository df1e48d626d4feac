"""Print a Job of Kubernetes that has a worker for each run; nothing here starts it, or follows it but by files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from deviate.errors import BadOption
from deviate.project.cluster import ExportEntry
from deviate.replicate.engines.ray_driver import JOB
from deviate.replicate.engines.slurm import PREFIX
from deviate.replicate.orders import Submission

#: What ``--gres gpu:1`` asks for.
GPU = "nvidia.com/gpu"

#: The first process of the container is the worker, since that hears of the pod's end. Its words are the folder of the
#: runs, and their names.
WORKER = 'shift "$JOB_COMPLETION_INDEX" && exec deviate-worker "$0/$1"'


class Kubernetes:
    """Says which Job makes the runs in pods of an image, at most `width` at a time; None: all at once."""

    name = "kubernetes"
    address = ""

    def __init__(self, wishes: ExportEntry, image: str, width: int | None, project: Path) -> None:
        self._wishes = wishes
        self._image = image
        self._width = width
        self._project = project
        self._devices = read_devices(wishes.gres)

    @property
    def threads(self) -> int:
        """Threads that a run is given."""
        return self._wishes.cpus

    @property
    def scratch(self) -> str:
        """Folder of each pod in which its run is made; empty: in the experiment's."""
        return self._wishes.scratch

    def script(self, submission: Submission) -> str:
        """Return the manifest."""
        count = len(submission.runs)
        manifest = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": PREFIX + submission.name},
            "spec": {
                "completionMode": "Indexed",
                "completions": count,
                "parallelism": min(self._width or count, count),
                # Whether a run is made again is decided from its files.
                "backoffLimitPerIndex": 0,
                "template": {"spec": self._pod(submission)},
            },
        }
        return "---\n" + yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=1000)

    def _pod(self, submission: Submission) -> dict[str, Any]:
        path = self._wishes.mount or str(self._project)
        claim = self._wishes.volume
        volume = {"persistentVolumeClaim": {"claimName": claim}} if claim else {"hostPath": {"path": path}}
        mounts = {"project": path, **({"scratch": self.scratch} if self.scratch else {})}
        # The disk of the pod's machine, which goes with the pod.
        scratch = [{"name": "scratch", "emptyDir": {}}] if self.scratch else []
        return {
            "restartPolicy": "Never",
            # Of the files that a worker reads, some are for the eyes of their owner alone.
            "securityContext": {"runAsUser": os.getuid(), "runAsGroup": os.getgid()},
            "containers": [self._container(submission, mounts)],
            "volumes": [{"name": "project", **volume}, *scratch],
        }

    def _container(self, submission: Submission, mounts: Mapping[str, str]) -> dict[str, Any]:
        folder = str(submission.runs[0].path.parent)
        return {
            "name": "run",
            "image": self._image,
            # Kubernetes would put variables in the place of what looks like one.
            "command": [
                "/bin/sh",
                "-c",
                WORKER,
                folder.replace("$(", "$$("),
                *(run.path.name for run in submission.runs),
            ],
            "env": [
                {"name": "HOME", "value": "/tmp"},
                {"name": JOB, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
            # As much is reserved as is allowed.
            "resources": {"limits": {"cpu": str(self._wishes.cpus), **self._devices}},
            "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()],
        }


def read_devices(gres: str) -> dict[str, str]:
    """Return the resources that a list such as ``gpu:1,amd.com/gpu:2`` names, with their amounts.

    Raises
    ------
    BadOption
        If one is none that Kubernetes may have.

    Examples
    --------
    >>> read_devices("gpu:2,example.com/fpga:1")
    {'nvidia.com/gpu': '2', 'example.com/fpga': '1'}
    """
    devices = {}
    for each in filter(None, gres.split(",")):
        name, _, count = each.rpartition(":")
        if not (name == "gpu" or "/" in name) or not (count.isascii() and count.isdecimal() and int(count)):
            raise BadOption(
                f"--gres must name resources of Kubernetes with whole numbers, found {each!r}",
                hint="type --gres gpu:1, or --gres amd.com/gpu:1",
            )
        devices[GPU if name == "gpu" else name] = count
    return devices
