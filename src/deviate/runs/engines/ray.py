"""Start workers as tasks of a Ray cluster.

A detached actor, named after its submission, has the tasks (`deviate.runs.engines.ray_driver`): they go on when
this process ends, and any later one finds them by that name. Ray itself is spoken to by another process
(`deviate.runs.engines.ray`).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import select
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from deviate.core.errors import BadOption, ClusterRefused, NoCluster
from deviate.runs.engines import ray_driver
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
from deviate.runs.engines.ray import connect, submit

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
                hint="start Ray on this machine: ray start --head; or name another cluster: --address HOST:6379",
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
        words = [sys.executable, "-m", "deviate.runs.engines.ray", self.address, "--cancel"]
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
    words = [sys.executable, "-P", "-m", "deviate.runs.engines.ray", address]
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

    Raises
    ------
    BadOption
        If a number is missing or makes no sense.

    Examples
    --------
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
            raise BadOption(f"--gres must name resources of Ray with numbers, found {each!r}", hint="type --gres gpu:1")
    gpus = counts.pop("gpu", 0.0) + counts.pop("GPU", 0.0)
    return gpus, counts


# Speak with a Ray cluster, in a process of its own: Ray ends a process whose cluster goes, and takes over its signals.
#
# ``python -m deviate.runs.engines.ray ADDRESS`` reads one JSON object a line and answers with one each.
# ``... ADDRESS --cancel SUBMISSION...`` ends the workers of submissions.

#: How names of actors begin, and where they are known.
PREFIX = "deviate-"
NAMESPACE = "deviate"

#: A resource that Ray gives the head node alone.
HEAD = "node:__internal_head__"

#: Seconds that drivers may take to answer.
LINK_PATIENCE = 20.0

#: What workers get, before Ray adds to it.
VARIABLES = dict(os.environ)


def main() -> None:
    """Answer what is asked on standard input until it ends, or cancel submissions."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("address", help="of the cluster, as ray.init takes it")
    parser.add_argument("--cancel", nargs="+", metavar="SUBMISSION", help="end the workers of these submissions")
    options = parser.parse_args()
    if options.cancel:
        connect(options.address)
        for name in cancel(options.cancel):
            print(f"no task of {name} is there", file=sys.stderr)  # noqa: T201
        return
    # Whatever else is printed does not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(answer(options.address, json.loads(line))), file=answers, flush=True)


def answer(address: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Do what is asked: ``{"do": NAME, ...}``; return ``{"said": ...}``, or ``{"error": ...}``."""
    try:
        connect(address)
        return {"said": VERBS[asked["do"]](**{name: value for name, value in asked.items() if name != "do"})}
    except Exception as error:  # noqa: BLE001  # what Ray raises is anything
        lines = str(error).strip().splitlines()
        return {"error": lines[0] if lines else type(error).__name__}


def connect(address: str) -> None:
    """Connect to the cluster, unless that was done.

    Raises
    ------
    Exception
        Whatever Ray raises where there is none.
    """
    import ray

    if ray.is_initialized():
        return
    host, _, port = address.rpartition("/")[2].rpartition(":")
    if host and port.isdecimal():
        # Ray itself tries for a minute and longer.
        socket.create_connection((host, int(port)), LINK_PATIENCE).close()
    ray.init(address=address, namespace=NAMESPACE, log_to_driver=False)


def submit(
    folder: str,
    runs: Sequence[str],
    *,
    cpus: float,
    gpus: float,
    resources: Mapping[str, float],
    width: int | None,
) -> None:
    """Ask for a worker for each run; `folder` is that of the submission, `runs` are those of the runs."""
    import ray

    workers = [[sys.executable, "-P", "-m", "deviate.runs.worker", "--tied", run] for run in runs]
    wants = {"num_cpus": cpus, "num_gpus": gpus, "resources": dict(resources)}
    ray.cloudpickle.register_pickle_by_value(ray_driver)
    driver = ray.remote(ray_driver.Driver).options(
        name=PREFIX + Path(folder).name, lifetime="detached", num_cpus=0, max_restarts=0, max_task_retries=0,
        **_on_head(),
    )  # fmt: skip
    # Secrets may be among the variables: they are handed over, and stored nowhere.
    driver.remote(workers, folder, wants, width, VARIABLES)


def _on_head() -> dict[str, Any]:
    """Return options of an actor that is to live on the head node: with any other node only its own tasks are lost."""
    import ray

    heads = [node["NodeID"] for node in ray.nodes() if node["Alive"] and HEAD in node["Resources"]]
    if not heads:
        return {}
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(heads[0], soft=True)}


def states() -> list[tuple[str, int, str, str]]:
    """Return submission, task, word and reason to wait of all tasks that are known.

    Raises
    ------
    TimeoutError
        If a driver that lives does not answer.
    """
    import ray

    asked = {}
    for name in ray.util.list_named_actors():
        # It may go at any moment.
        with contextlib.suppress(ValueError):
            if name.startswith(PREFIX):
                asked[ray.get_actor(name).states.remote()] = name.removeprefix(PREFIX)
    answered, silent = ray.wait(list(asked), num_returns=len(asked), timeout=LINK_PATIENCE) if asked else ([], [])
    if silent:
        raise TimeoutError(f"{asked[silent[0]]} does not answer")
    found = []
    for each in answered:
        with contextlib.suppress(ray.exceptions.RayActorError):
            found += [(asked[each], task, word, reason) for task, (word, reason) in enumerate(ray.get(each))]
    return found


def cancel(submissions: Collection[str]) -> list[str]:
    """End the tasks of submissions; return those that are gone, and have no task."""
    import ray

    gone = []
    for name in submissions:
        try:
            ray.get(ray.get_actor(PREFIX + name).cancel.remote(), timeout=LINK_PATIENCE)
        except (ValueError, ray.exceptions.RayActorError):
            gone.append(name)
    return gone


VERBS: Mapping[str, Callable[..., Any]] = {"check": list, "submit": submit, "states": states, "cancel": cancel}


if __name__ == "__main__":
    main()
