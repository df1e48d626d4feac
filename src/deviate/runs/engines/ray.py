"""Start workers as tasks of a Ray cluster.

A detached actor, named after its submission, has the tasks (`deviate.runs.engines.ray_driver`): they go on when
this process ends, and any later one finds them by that name. Ray itself is spoken to by another process
(`deviate.runs.engines.ray_link`).
"""

from __future__ import annotations

import importlib.util
import json
import select
import subprocess
import sys
import weakref
from collections.abc import Collection, Mapping
from typing import Any

from deviate.core.errors import BadOption, ClusterRefused, NoCluster
from deviate.runs.engines.engine import JobState, Place
from deviate.runs.engines.ray_driver import PENDING, RUNNING
from deviate.runs.orders import Submission
from deviate.source.config import RayEntry
from deviate.store.files import write_whole

#: Seconds that Ray may take to answer.
PATIENCE = 60.0

#: States in which a task is to come or goes on.
ACTIVE = frozenset({PENDING, RUNNING})

SCRIPT = """\
# Asks Ray for the workers of {count} runs: python THIS-FILE
from deviate.runs.engines.ray_link import connect, submit

connect({address!r})
submit(
    {folder!r},
    [
{runs}
    ],
    cpus={cpus}, gpus={gpus}, resources={resources}, width={width},
)
"""


class Ray:
    """Has tasks made by the cluster at an address, at most `width` of a submission at a time; None: as many as fit."""

    name = "ray"

    def __init__(self, wishes: RayEntry, width: int | None) -> None:
        self.address = wishes.address or "auto"
        self.wishes = wishes
        self._cpus = wishes.cpus
        self._gpus, self._resources = read_resources(wishes.gres)
        self.width = width
        self._link: subprocess.Popen[str] | None = None

    @property
    def threads(self) -> int:
        """Threads that a run is given."""
        return self._cpus

    @property
    def scratch(self) -> str:
        """Folder of each machine in which its runs are made; empty: in the experiment's."""
        return self.wishes.scratch

    def check(self) -> None:
        """Refuse to work where Ray is not."""
        if importlib.util.find_spec("ray") is None:
            raise NoCluster("the package ray is not installed", hint="type: pip install ray")
        said = self._ask("check")
        if "error" in said:
            raise NoCluster(
                f"no Ray at {self.address}: {said['error']}",
                hint="start Ray on this machine: ray start --head; or name another cluster: --set address=HOST:6379",
            )

    def script(self, submission: Submission) -> str:
        """Return a Python program that does what `submit` does."""
        asked = self._submission(submission)
        runs = "\n".join(f"        {run!r}," for run in asked.pop("runs"))
        return SCRIPT.format(address=self.address, count=len(submission.runs), **asked, runs=runs)

    def submit(self, submission: Submission) -> None:
        """Have the actor made."""
        write_whole(submission.folder / "job.py", self.script(submission).encode())
        said = self._ask("submit", **self._submission(submission))
        if "error" in said:
            raise ClusterRefused(
                f"Ray did not take the tasks: {said['error']}", hint=f"the script is {submission.folder / 'job.py'}"
            )

    def _submission(self, submission: Submission) -> dict[str, Any]:
        return {
            "folder": str(submission.folder),
            "runs": [str(run.path) for run in submission.runs],
            "cpus": self._cpus,
            "gpus": self._gpus,
            "resources": self._resources,
            "width": self.width,
        }

    def states(self) -> Mapping[Place, JobState] | None:
        """Return what the actors say of their tasks."""
        said = self._ask("states")
        if "error" in said:
            return None
        return {Place(name, task): JobState(word, word in ACTIVE, waits) for name, task, word, waits in said["said"]}

    def cancel(self, submissions: Collection[str]) -> None:
        """End all tasks."""
        self._ask("cancel", submissions=sorted(submissions))

    def cancel_words(self, submissions: Collection[str]) -> str:
        """Return what a user types to end all tasks."""
        words = [sys.executable, "-m", "deviate.runs.engines.ray_link", self.address, "--cancel"]
        return " ".join([*words, *sorted(submissions)])

    def _ask(self, do: str, **given: Any) -> dict[str, Any]:
        """Ask the process that speaks with Ray; one that is gone, or does not answer, is replaced the next time."""
        if self._link is None:
            self._link = _open(self.address)
            self._close = weakref.finalize(self, _close, self._link)
        link = self._link
        assert link.stdin is not None
        assert link.stdout is not None
        try:
            print(json.dumps({"do": do, **given}), file=link.stdin, flush=True)
            line = link.stdout.readline() if select.select([link.stdout], [], [], PATIENCE)[0] else ""
        except OSError:
            line = ""
        if not line:
            self._close()
            self._link = None
            return {"error": "it ended the connection, or did not answer"}
        said: dict[str, Any] = json.loads(line)
        return said


def _open(address: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-P", "-m", "deviate.runs.engines.ray_link", address]
    # It ends when its standard input does, not by the user's Ctrl-C.
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def _close(link: subprocess.Popen[str]) -> None:
    link.kill()
    link.communicate()


def read_resources(gres: str) -> tuple[float, dict[str, float]]:
    """Return the GPUs and the other resources that a list such as ``gpu:1,node_kind:0.1`` names.

    Raises BadOption if a number is missing or makes no sense.

    >>> read_resources("gpu:2,accelerator_type:A100:0.01")
    (2.0, {'accelerator_type:A100': 0.01})
    """
    counts: dict[str, float] = {}
    for each in filter(None, gres.split(",")):
        name, _, count = each.rpartition(":")
        try:
            counts[name] = float(count)
        except ValueError:
            counts[name] = 0
        if not name or not 0 < counts[name] < float("inf"):
            raise BadOption(
                f"gres must name resources of Ray and numbers, found {each!r}", hint="type --set gres=gpu:1"
            )
    gpus = counts.pop("gpu", 0.0) + counts.pop("GPU", 0.0)
    return gpus, counts
