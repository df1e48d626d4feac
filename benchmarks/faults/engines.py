"""Kill at random moments what makes runs on this machine, on a Slurm and on a Ray, and look what is lost.

    python benchmarks/faults/engines.py [--engines local,slurm,ray] [--kills 200] [--seed 0] > engines.json

Prints a table on standard error and one JSON object on standard output; it needs Debian's slurm-wlm and munge, root,
and the package ray. Each round starts ``deviate run`` in a fresh project and kills up to eight things while it goes on:
the tool, a training, a worker, and what starts workers (a job and the node's daemon of Slurm; the actor, a task and the
second node of Ray). A tool that has ended is started again with the same words, until it ends with status 0. Then each
value must be that of an undisturbed experiment, no training may have started while another one of its run lived,
nothing that had completed before a kill may have been started again or changed by a byte, and nothing may be left.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import cluster as slurm
import harness
import psutil

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
import one_node
import one_ray

RUNS = 6
WORDS = f"run -n {RUNS} --name e --vary algo --retry-failed --set even_so=true --set share=none"
COMMAND = f"-- {shlex.quote(sys.executable)} train.py"

#: Kills of a round, seconds between two of them, for which a victim is waited for, and that a round may take.
KILLS = 8
SEEKS = 5.0
WAITS = (0.2, 4.0)
PATIENCE = 300.0


class Engine(NamedTuple):
    """What makes runs."""

    words: str
    #: Returns what was killed; empty where there was none.
    victims: Mapping[str, Callable[[Path, random.Random], str]]


def main() -> None:
    """Run the rounds, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engines", default="local,slurm,ray")
    parser.add_argument("--kills", type=int, default=200, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # Clusters go with this process.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))
    names, rows = options.engines.split(","), []
    for name in names:
        rng = random.Random(f"{options.seed} {name}")
        with tempfile.TemporaryDirectory() as folder, ENGINES[name](Path(folder)) as engine:
            project = Path(folder) / "project"
            truth = undisturbed(project, engine)
            while sum(row["kills"] for row in rows if row["group"] == name) < options.kills / len(names):
                rows.append({"group": name, "name": str(len(rows)), **round_of(project, engine, truth, rng)})
                print(rows[-1], file=sys.stderr, flush=True)
    killed = Counter[str]()
    for row in rows:
        killed.update({f"{row['group']}: {victim}": count for victim, count in row["victims"].items()})
    print(f"{killed.total()} kills: {dict(killed)}", file=sys.stderr)
    harness.finish(rows, **vars(options), killed=dict(killed))


@contextmanager
def local_engine(folder: Path) -> Iterator[Engine]:
    """Yield this machine."""
    yield Engine("-j 2", {"training": kill_training})


@contextmanager
def slurm_engine(folder: Path) -> Iterator[Engine]:
    """Yield a Slurm of one node."""
    with one_node.Cluster(folder / "node").running() as node:
        os.environ.update(node.environment)

        def kill_node(project: Path, rng: random.Random) -> str:
            node.stop_node()
            time.sleep(rng.uniform(0, 2))
            node.start_node()
            return "slurmd"

        def cancel(project: Path, rng: random.Random) -> str:
            jobs = node.ask("squeue", "-h", "--me", "-r", "-o", "%i").split()
            if jobs:
                node.ask("scancel", rng.choice(jobs))
            return "job" if jobs else ""

        yield Engine(
            "--executor slurm",
            {"training": kill_training, "worker": kill_worker, "job": cancel, "slurmd": kill_node},
        )


@contextmanager
def ray_engine(folder: Path) -> Iterator[Engine]:
    """Yield a Ray of two nodes; the second one is what is killed."""
    with one_ray.Ray(folder / "ray").running(1) as ray:
        os.environ.update({**ray.environment, "RAY_ADDRESS": ray.address})
        nodes = [ray.add_node(1)]

        def kill_node(project: Path, rng: random.Random) -> str:
            ray.kill_node(nodes.pop())
            nodes.append(ray.add_node(1))
            return "raylet"

        def kill_task(project: Path, rng: random.Random) -> str:
            return kill_one(rng, "task", lambda process: "ray::work" in process.cmdline()[:1])

        def kill_actor(project: Path, rng: random.Random) -> str:
            return kill_one(rng, "actor", lambda process: "ray::Driver" in process.cmdline()[0])

        victims = {"training": kill_training, "worker": kill_worker, "task": kill_task, "actor": kill_actor}
        yield Engine("--executor ray", {**victims, "raylet": kill_node})


ENGINES = {"local": local_engine, "slurm": slurm_engine, "ray": ray_engine}


def kill_training(project: Path, rng: random.Random) -> str:
    """Kill a training."""
    return kill_one(rng, "training", lambda process: is_training(process, project))


def kill_worker(project: Path, rng: random.Random) -> str:
    """Kill a worker, not its training."""
    return kill_one(
        rng, "worker", lambda process: "deviate.runs.worker" in process.cmdline()
        and process.cmdline()[0] != "/bin/sh" and str(project) in process.cmdline()[-1],
    )  # fmt: skip


def is_training(process: psutil.Process, project: Path) -> bool:
    """Tell whether a process is a training of the project."""
    return "train.py" in process.cmdline()[1:2] and process.cwd().startswith(str(project / ".deviate"))


def kill_one(rng: random.Random, name: str, is_victim: Callable[[psutil.Process], bool]) -> str:
    """Kill one of the processes that are victims; return their name, empty where there is none."""
    victims = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, IndexError):
            victims += [process] if is_victim(process) else []
    with suppress(psutil.NoSuchProcess):
        if victims:
            rng.choice(victims).kill()
            return name
    return ""


def undisturbed(project: Path, engine: Engine) -> Any:
    """Return what the runs print and record where nothing is killed."""
    slurm.make(project)
    tool = start(project, engine)
    if tool.wait(PATIENCE):
        sys.exit(f"the command fails without any kill: status {tool.returncode}")
    return numbers(project)


def start(project: Path, engine: Engine) -> subprocess.Popen[bytes]:
    """Type the command."""
    with project.with_name("said").open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "deviate", *shlex.split(f"{WORDS} {engine.words} {COMMAND}")],
            cwd=project, env={**os.environ, "LOG": str(slurm.log(project))}, stdout=subprocess.DEVNULL, stderr=said,
        )  # fmt: skip


def numbers(project: Path) -> Any:
    """Return what the runs printed, and the values of their metrics but for times."""
    metrics = harness.values(project, "e")
    return slurm.values(project), {name: values for name, values in metrics.items() if "time" not in name}


def round_of(project: Path, engine: Engine, truth: Any, rng: random.Random) -> dict[str, Any]:
    """Kill one thing after another until the command has ended well, and look what is lost."""
    began = time.monotonic()
    slurm.make(project)
    tool, commands, victims, problem = start(project, engine), 1, Counter[str](), ""
    finished: dict[str, tuple[int, dict[str, bytes]]] = {}
    while not problem:
        if time.monotonic() - began > PATIENCE:
            problem = f"not done after {commands} commands and {PATIENCE:.0f} s"
        with suppress(subprocess.TimeoutExpired):
            if tool.wait(rng.uniform(*WAITS)) == 0:
                break
            tool, commands = start(project, engine), commands + 1
        if victims.total() == KILLS:
            continue
        victim = rng.choice(["tool", *engine.victims])
        note_finished(project, finished)
        if victim == "tool":
            tool.kill()
        else:
            kill, since, victim = engine.victims[victim], time.monotonic(), ""
            while not victim and tool.poll() is None and time.monotonic() - since < SEEKS:
                victim = kill(project, rng)
                time.sleep(0 if victim else 0.1)
        victims.update([victim] if victim else [])
    problem = problem or judged(project, truth, finished)
    return {"status": int(bool(problem)), "message": f"{victims.total()} kills, {commands} commands",
            "seconds": round(time.monotonic() - began, 1), "kills": victims.total(), "victims": dict(victims),
            "commands": commands, "starts": slurm.starts(project).total(), "problem": problem}  # fmt: skip


def note_finished(project: Path, finished: dict[str, tuple[int, dict[str, bytes]]]) -> None:
    """Note how often each completed run was started, and the bytes of its results."""
    for name in slurm.completed(project):
        if name not in finished:
            finished[name] = (slurm.starts(project)[name], results(project, name))


def results(project: Path, name: str) -> dict[str, bytes]:
    """Return the bytes of what a run recorded and printed, and how it ended."""
    files = (project / ".deviate/experiments/e/runs" / name).glob("*")
    return {path.name: path.read_bytes() for path in files
            if path.suffix in (".bin", ".jsonl", ".log") or path.name in ("outcome.json", "run.json")}  # fmt: skip


def judged(project: Path, truth: Any, finished: Mapping[str, tuple[int, dict[str, bytes]]]) -> str:
    """Return what is wrong; empty where nothing is."""
    if "TWICE" in (noted := slurm.log(project).read_text()):
        return f"a run was made twice: {noted}"
    if (found := numbers(project)) != truth:
        return f"WRONG NUMBER: {found}"
    for name, (starts, files) in finished.items():
        if slurm.starts(project)[name] != starts:
            return f"{name} had completed and was started again"
        if results(project, name) != files:
            return f"{name} had completed and was changed"
    left = 0
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            left += is_training(process, project)
    return f"{left} trainings are left running" if left else ""


if __name__ == "__main__":
    main()
