"""End jobs, workers, the node's daemon and the tool at random moments of runs on a Slurm of one node.

    python benchmarks/faults/cluster.py [--rounds 24] [--seed 0] > cluster.json

Prints a table on standard error and one JSON object on standard output; it needs Debian's slurm-wlm and munge, and
root. Each round starts ``deviate run --executor slurm`` in a fresh project, does one of four things at a random moment,
and types the same command again where the tool was the victim. The command must complete; every value must be that of
an undisturbed experiment; no training may start while another one of its run lives, nor of a run that had completed;
and nothing may be left running.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import psutil
from harness import finish

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from one_node import Cluster, lacking

RUNS = 4
COMMAND = f"run -n {RUNS} --name e --vary algo --executor slurm -- {shlex.quote(sys.executable)} train.py"

#: Notes outside of its folder what it does, and whether another training of its run lives.
TRAIN = """\
import os, random, time

run = os.path.basename(os.path.dirname(os.environ["DEVIATE_RUNTIME"]))
def state(pid):
    try:
        with open("/proc/" + pid + "/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"
with open(os.environ["LOG"], "a+") as log:
    log.seek(0)
    for line in log.read().splitlines():
        what, name, pid = line.split()
        if name == run and state(pid) not in ("gone", "Z"):
            log.write("TWICE %s %s\\n" % (run, state(pid)))
    log.write("start %s %d\\n" % (run, os.getpid()))
for epoch in range(5):
    loss = random.random() / (epoch + 1)
    time.sleep(0.3)
    print("epoch", epoch, "loss", loss)
"""

#: Seconds within which the moment of a fault lies, also where there was no victim, and that a command may take.
MOMENTS = (0.5, 10.0)
AGAIN = (0.2, 4.0)
PATIENCE = 180.0


def main() -> None:
    """Run the rounds, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if reason := lacking():
        sys.exit(reason)
    rng = random.Random(options.seed)
    # The cluster goes with this process.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))
    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder) / "node").running() as cluster:
        os.environ.update(cluster.environment)
        project = Path(folder) / "project"
        make(project)
        if problem := wait(start(project)):
            sys.exit(problem)
        truth, rows = values(project), []
        for number in range(options.rounds):
            name, fault = FAULTS[number % len(FAULTS)]
            rows.append({"group": name, "name": str(number), **round_of(project, cluster, fault, truth, rng)})
            print(rows[-1], file=sys.stderr, flush=True)
    finish(rows, **vars(options))


def make(project: Path) -> None:
    """Make the project anew."""
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir()
    (project / "train.py").write_text(TRAIN)
    log(project).unlink(missing_ok=True)


def log(project: Path) -> Path:
    """Return where trainings note what they do."""
    return project.with_name("log")


def start(project: Path) -> subprocess.Popen[str]:
    """Type the command."""
    words = [sys.executable, "-m", "deviate", *shlex.split(COMMAND)]
    variables = {**os.environ, "LOG": str(log(project))}
    return subprocess.Popen(
        words, cwd=project, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def wait(process: subprocess.Popen[str]) -> str:
    """Return what is wrong with how a command ended; empty where nothing is."""
    try:
        said = process.communicate(timeout=PATIENCE)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return f"the command did not end within {PATIENCE:.0f} s"
    return f"status {process.returncode}: {said[-300:]}" if process.returncode else ""


def values(project: Path) -> dict[str, list[str]]:
    """Return what each run printed, bit for bit."""
    runs = sorted((project / ".deviate/experiments/e/runs").iterdir())
    return {run.name: (run / "stdout.log").read_text().splitlines() for run in runs}


Fault = Callable[[Path, Cluster, "subprocess.Popen[str]", random.Random], str]


def cancel(project: Path, cluster: Cluster, tool: subprocess.Popen[str], rng: random.Random) -> str:
    """Cancel a job."""
    jobs = cluster.ask("squeue", "-h", "--me", "-r", "-o", "%i").split()
    if not jobs:
        return "no job at that moment"
    cluster.ask("scancel", job := rng.choice(jobs))
    return f"job {job}"


def kill_worker(project: Path, cluster: Cluster, tool: subprocess.Popen[str], rng: random.Random) -> str:
    """Kill a worker, not its training."""
    workers = [process for process in psutil.process_iter(["cmdline"])
               if "deviate.runs.worker" in (process.info["cmdline"] or [])
               and str(project) in process.info["cmdline"][-1]]  # fmt: skip
    if not workers:
        return "no worker at that moment"
    worker = rng.choice(workers)
    worker.kill()
    return f"worker {worker.pid}"


def kill_node(project: Path, cluster: Cluster, tool: subprocess.Popen[str], rng: random.Random) -> str:
    """Kill the daemon of the node, and start it again."""
    cluster.stop_node()
    time.sleep(rng.uniform(0, 2))
    cluster.start_node()
    return "slurmd"


def kill_tool(project: Path, cluster: Cluster, tool: subprocess.Popen[str], rng: random.Random) -> str:
    """Kill the tool."""
    tool.kill()
    return "deviate"


FAULTS: list[tuple[str, Fault]] = [
    ("scancel of a job", cancel),
    ("kill -9 of a worker", kill_worker),
    ("kill -9 of the node's daemon", kill_node),
    ("kill -9 of the tool", kill_tool),
]


def round_of(
    project: Path, cluster: Cluster, fault: Fault, truth: dict[str, list[str]], rng: random.Random
) -> dict[str, Any]:
    """Do one thing at a random moment, and look what is lost; a moment that has no victim is tried again."""
    began = time.monotonic()
    make(project)
    tool = start(project)
    victim = "no"
    while victim.startswith("no") and tool.poll() is None:
        time.sleep(rng.uniform(*(MOMENTS if victim == "no" else AGAIN)))
        victim = fault(project, cluster, tool, rng) if tool.poll() is None else "no"
    moment, before = time.monotonic() - began, starts(project, completed(project))
    if fault is kill_tool and not victim.startswith("no"):
        tool.communicate()
        tool = start(project)
    problem = wait(tool) or judged(project, truth)
    if not problem and starts(project, before) != before:
        problem = f"what had completed was made again: {before}, then {starts(project, before)}"
    seconds = round(time.monotonic() - began, 1)
    return {"status": int(bool(problem)), "message": victim, "moment": round(moment, 2), "seconds": seconds,
            "starts": starts(project).total(), "problem": problem}  # fmt: skip


def starts(project: Path, among: Collection[str] | None = None) -> Counter[str]:
    """Return how often the training of each run was started, of those that are named."""
    noted = log(project).read_text().splitlines() if log(project).exists() else []
    started = Counter(line.split()[1] for line in noted if line.startswith("start"))
    return Counter({run: number for run, number in started.items() if among is None or run in among})


def completed(project: Path) -> list[str]:
    """Return the runs that have completed."""
    outcomes = (project / ".deviate").glob("experiments/e/runs/*/outcome.json")
    return [path.parent.name for path in outcomes if '"completed"' in path.read_text()]


def judged(project: Path, truth: dict[str, list[str]]) -> str:
    """Return what is wrong with the runs; empty where nothing is."""
    noted = log(project).read_text()
    if "TWICE" in noted:
        return f"a run was made twice: {noted}"
    if (found := values(project)) != truth:
        return f"WRONG NUMBER: {found}"
    if sorted(starts(project)) != sorted(truth):
        return f"runs are missing: {starts(project)}"
    left = [process.pid for process in psutil.process_iter(["cmdline"]) if "train.py" in (process.info["cmdline"] or [])
            and process.cwd().startswith(str(project))]  # fmt: skip
    return f"left running: {left}" if left else ""


if __name__ == "__main__":
    main()
