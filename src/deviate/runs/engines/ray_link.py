"""Speak with a Ray cluster, in a process of its own: Ray ends a process whose cluster goes, and takes over its signals.

``python -m deviate.runs.engines.ray_link ADDRESS`` reads one JSON object a line and answers with one each.
``... ADDRESS --cancel SUBMISSION...`` ends the workers of submissions.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from deviate.runs.engines import ray_driver

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

    Raises Exception whatever Ray raises where there is none.
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

    Raises TimeoutError if a driver that lives does not answer.
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
