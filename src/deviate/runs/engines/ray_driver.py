"""What lives in a Ray cluster: an actor for each submission, which has a task for each run.

It is sent there by value and needs Ray and the standard library alone: Ray's own Python need not have this package.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: What a task takes from Ray's variables: the devices it was given.
DEVICES = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR",
    "TPU_VISIBLE_CHIPS", "NEURON_RT_VISIBLE_CORES", "ASCEND_RT_VISIBLE_DEVICES",
)  # fmt: skip

#: Tells a worker what the engine calls it.
JOB = "DEVIATE_JOB"

#: How often a task starts its worker, which ends what a killed one before it left on the machine.
MOST_STARTS = 4

#: Seconds between two looks at tasks, and seconds for which the actor still answers how they ended.
LOOK_EVERY = 0.5
LINGER = 60.0

#: Seconds until it is said that resources are taken: Ray may be starting a process with them.
TAKEN_AFTER = 10.0

#: What is said of a task. Of one that ended without its worker it is the name of what Ray raised.
PENDING, RUNNING, ENDED = "PENDING", "RUNNING", "ENDED"

#: Ray kills the children of a process that it ends; the child of this shell then hears it from its standard input.
SHELL = ("/bin/sh", "-c", '"$@"; exit $?', "sh")


class Driver:
    """Has the tasks of a submission made, `width` at a time at most, and goes when they have ended."""

    def __init__(
        self,
        workers: Sequence[Sequence[str]],
        folder: str,
        wants: dict[str, Any],
        width: int | None,
        environment: Mapping[str, str],
    ) -> None:
        self._workers = list(workers)
        self._folder = folder
        self._environment = environment
        self._wants = wants
        self._width = width or len(workers)
        self._words = [PENDING] * len(workers)
        self._begun: set[int] = set()
        self._going: dict[Any, int] = {}
        self._is_cancelled = False
        self._since = time.monotonic()
        threading.Thread(target=self._run, daemon=True).start()

    def states(self) -> list[tuple[str, str]]:
        """Return the word of each task, and why it waits where it does."""
        # What a task says of its beginning may come after its end.
        words = [RUNNING if word == PENDING and task in self._begun else word for task, word in enumerate(self._words)]
        reason = ""
        if PENDING in words:
            reason = _lack(self._wants, whole=time.monotonic() - self._since < TAKEN_AFTER)
        return [(word, reason if word == PENDING else "") for word in words]

    def began(self, task: int) -> None:
        """Note that a task has its resources."""
        self._begun.add(task)
        self._since = time.monotonic()

    def cancel(self) -> None:
        """End all tasks."""
        self._is_cancelled = True

    def _run(self) -> None:
        import ray

        own = ray.get_runtime_context().current_actor
        try:
            self._make(own)
            time.sleep(LINGER)
        finally:
            # Its tasks, if it has any, go with it.
            ray.kill(own)

    def _make(self, own: Any) -> None:
        import ray

        # Whether a run is made again is decided from its files.
        task = ray.remote(work).options(**self._wants, max_retries=0)
        left, told = list(range(len(self._workers))), False
        while self._going or (left and not self._is_cancelled):
            while left and len(self._going) < self._width and not self._is_cancelled:
                number = left.pop(0)
                self._going[task.remote(*self._given(own, number))] = number
            ended, going = ray.wait(list(self._going), timeout=LOOK_EVERY)
            for each in ended:
                self._words[self._going.pop(each)] = _word(each)
            if self._is_cancelled and not told:
                told = True
                for each in going:
                    ray.cancel(each)
        self._words = [ENDED if word == PENDING else word for word in self._words]

    def _given(self, own: Any, number: int) -> tuple[Any, ...]:
        return own, number, self._workers[number], self._folder, self._environment


def _word(task: Any) -> str:
    import ray

    try:
        status = ray.get(task)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        return type(cause or error).__name__
    return ENDED if status == 0 else f"exit status {status}"


def _lack(wants: dict[str, Any], *, whole: bool) -> str:
    """Say what a task waits for: what no node has, or, unless only `whole` nodes count, has left."""
    import ray

    wanted = {"CPU": wants["num_cpus"], "GPU": wants["num_gpus"], **wants["resources"]}
    wanted = {name: count for name, count in wanted.items() if count}
    words = " and ".join(f"{count:g} {name}" for name, count in wanted.items())

    def fits(room: dict[str, float]) -> bool:
        return all(room.get(name, 0) >= count for name, count in wanted.items())

    if not any(fits(node["Resources"]) for node in ray.nodes() if node["Alive"]):
        return f"no node has {words}"
    return "" if whole or fits(ray.available_resources()) else f"no node has {words} left"


def work(driver: Any, number: int, worker: Sequence[str], folder: str, variables: Mapping[str, str]) -> int:
    """Start the worker of a run, and return its exit status; it ends in order where this task is ended.

    The worker has the variables of whoever submitted it, not those of Ray.
    """
    import ray

    driver.began.remote(number)
    environment = {**variables, **{name: os.environ[name] for name in DEVICES if name in os.environ}}
    environment[JOB] = ray.get_runtime_context().get_task_id()
    status = 0
    for _ in range(MOST_STARTS):
        status = _start(worker, Path(folder, f"job-{number}.log"), environment)
        if status <= 128:
            break
    return status


def _start(worker: Sequence[str], log: Path, environment: dict[str, str]) -> int:
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*SHELL, *worker],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            # Ray's request to end waits for the next line of Python.
            while (status := process.poll()) is None:
                time.sleep(LOOK_EVERY)
            return status
        finally:
            # The worker holds the other end, and ends its training in order when this one is closed, or gone.
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
