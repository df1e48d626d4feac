"""Say what a user submits by hand to have runs made by workers elsewhere; nothing is started."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from deviate.core.errors import BadOption
from deviate.core.interrupts import StopRequests
from deviate.runs.engines.engine import MOST_AT_ONCE, Printer, hand_over
from deviate.runs.engines.ray_driver import JOB
from deviate.runs.engines.slurm import PREFIX
from deviate.runs.events import Event, Submitted
from deviate.runs.executors.local import LocalExecutor
from deviate.runs.lease import live_holder
from deviate.runs.orders import Order, Submission, read_job
from deviate.runs.prepare import Source
from deviate.runs.todo import Todo, end_leftovers
from deviate.runs.work import Job
from deviate.source.config import ExportEntry


class PrintStage:
    """The runs that are still to be made."""

    def __init__(self, source: Source, todo: Todo, printer: Printer, order: Order) -> None:
        self._source = source
        self._todo = todo
        self._printer = printer
        self._order = order

    def recover(self) -> Iterator[Event]:
        """Find out what is to be done and made by nobody; what was printed may be printed again.

        Of two workers of a run one makes it.
        """
        idle = [run for run in self._source.folder.runs() if live_holder(run) is None]
        yield from end_leftovers([run for run in idle if read_job(run) is None], LocalExecutor(1))
        self._todo.find()
        for job in [job for job in self._todo.jobs if live_holder(self._source.folder.run(job.run)) is not None]:
            self._todo.jobs.remove(job)

    def run_all(self, stop: StopRequests) -> Iterator[Event]:
        """Store what workers need, and say what starts them."""
        jobs: list[Job] = []
        while (job := (yield from self._todo.take({each.run for each in jobs}))) is not None:
            jobs.append(job)
        for start in range(0, len(jobs), MOST_AT_ONCE):
            submission = hand_over(self._source.folder, self._order, jobs[start : start + MOST_AT_ONCE])
            script = self._printer.script(submission) + submission.note
            yield Submitted(executor=self._printer.name, runs=len(submission.runs), script=script, sent=False)

    def abandon(self, stop: StopRequests) -> None:
        """Leave nothing behind: nothing was started."""


# Print a Job of Kubernetes that has a worker for each run; nothing here starts it, or follows it but by files.

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


# Print a task of SkyPilot that has a worker for each run; nothing here starts it, or follows it but by files.

#: Of two machines each makes every second run. SkyPilot ends all machines when the command of one fails; how a run
#: ended is in its files.
SCRIPT = """\
{scratch}runs=(
{runs}
)
for ((index = SKYPILOT_NODE_RANK; index < ${{#runs[@]}}; index += SKYPILOT_NUM_NODES)); do
    DEVIATE_JOB="$SKYPILOT_TASK_ID-$index" deviate-worker {folder}/"${{runs[index]}}" || true
done
"""


class Sky:
    """Says which task makes the runs in containers of an image, on `width` machines; None: on one."""

    name = "sky"
    address = ""

    def __init__(self, wishes: ExportEntry, image: str, width: int | None) -> None:
        if wishes.gres.lower().startswith("gpu:"):
            raise BadOption(
                f"--gres must name an accelerator of SkyPilot, found {wishes.gres!r}",
                hint="type --gres A100:1; `sky show-gpus` lists them",
            )
        self._wishes = wishes
        self._image = image
        self._width = width

    @property
    def threads(self) -> int:
        """Threads that a run is given."""
        return self._wishes.cpus

    @property
    def scratch(self) -> str:
        """Folder of each machine in which its runs are made; empty: in the experiment's."""
        return self._wishes.scratch

    def script(self, submission: Submission) -> str:
        """Return the task."""
        wishes, runs = self._wishes, [run.path.name for run in submission.runs]
        resources = {"image_id": f"docker:{self._image}", "cpus": f"{wishes.cpus}+"}
        task: dict[str, Any] = {
            "name": PREFIX + submission.name,
            "num_nodes": min(self._width or 1, len(runs)),
            "resources": {**resources, "accelerators": wishes.gres} if wishes.gres else resources,
        }
        if wishes.volume:
            task["volumes"] = {wishes.mount: wishes.volume}
        folder = shlex.quote(str(submission.runs[0].path.parent))
        # Where it cannot be made, the worker says so.
        scratch = f"mkdir -p {shlex.quote(self.scratch)} || true\n" if self.scratch else ""
        named = "\n".join(f"    {shlex.quote(run)}" for run in runs)
        script = SCRIPT.format(runs=named, folder=folder, scratch=scratch)
        head = yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=1000)
        return f"---\n{head}run: |\n{textwrap.indent(script, '  ')}"
