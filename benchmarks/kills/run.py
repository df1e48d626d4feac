"""Kill ``deviate run`` or one of its trainings at random moments, type the same command again, and look what is lost.

    python benchmarks/kills/run.py                        50 kills, prints a table and one JSON object
    python benchmarks/kills/run.py --kills 5 --seed 3 --out kills.json

Each round makes a fresh project, starts the command, sends SIGKILL to the tool or to one training at a random moment of
its life, types the same command again until one has ended by itself, and then checks that

- the command completes, and each planned run has one outcome: completed, or failed where its training was killed;
- what had finished before the kill is unchanged to the byte, and was not started again;
- each completed run has each of its records exactly once, from one training;
- nothing that was started still runs.

A kill that comes after the command has ended is no kill: the round is made again with another moment.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

ITERATIONS = 12

#: Each training notes outside its own folder that it began, so that a run made twice cannot hide.
TRAIN = """\
import os
import time

import numpy as np

with open("LOG", "a") as log:
    log.write(os.path.basename(os.path.dirname(os.environ["DEVIATE_RUNTIME"])) + "\\n")

rng = np.random.default_rng(1)
inputs = rng.normal(size=(64, 8))
targets = (inputs.sum(axis=1) > 0).astype(float)
weights = rng.normal(size=8)
for epoch in range(EPOCHS):
    predictions = 1 / (1 + np.exp(-inputs @ weights))
    loss = np.mean((predictions - targets) ** 2)
    accuracy = np.mean((predictions > 0.5) == targets)
    weights -= 0.5 * inputs.T @ (predictions - targets) / len(inputs)
    time.sleep(0.03)
    print(f"epoch {epoch} loss {loss:.6f} accuracy {accuracy:.4f}", flush=True)
"""

#: What is recorded is said, so that this benchmark does not depend on what the analysis finds.
CONFIG = """\
[main_loop]
file = "train.py"
line = 13

[[metric]]
name = "loss"
file = "train.py"
line = 19
expression = "loss"

[[metric]]
name = "accuracy"
file = "train.py"
line = 19
expression = "accuracy"
"""

RECORD = struct.Struct("<iidd")

#: Id of the first record of a file, which is no value.
HEAD = -4


@dataclass
class Round:
    """One kill and what followed."""

    number: int
    victim: str
    #: Seconds after the start of the command.
    moment: float
    #: Runs that had finished when the kill came.
    finished: int = 0
    #: Commands until one ended by itself, the killed one not counted.
    commands: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Setting:
    """How the command is typed."""

    tool: list[str]
    runs: int
    jobs: int

    def words(self) -> list[str]:
        """Return the whole command."""
        options = ["run", "-n", str(self.runs), "-j", str(self.jobs), "--json"]
        return [*self.tool, *options, "--", sys.executable, "train.py"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the rounds, print what was found, and return 1 if anything was lost."""
    options = parse(arguments)
    setting = Setting(shlex.split(options.tool), options.runs, options.jobs)
    rng = random.Random(options.seed)
    length = usual_length(setting)
    rounds = list(make_rounds(setting, options.kills, length, rng))
    print_table(rounds)
    result = summary(rounds, setting, options.seed, length)
    text = json.dumps(result, indent=1)
    print(text)
    if options.out:
        Path(options.out).write_text(text + "\n")
    return int(any(each.faults for each in rounds))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3, help="runs of each experiment")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side")
    parser.add_argument("--tool", default=f"{shlex.quote(sys.executable)} -m deviate", help="how deviate is started")
    parser.add_argument("--out", help="also write the JSON object to this file")
    return parser.parse_args(arguments)


def usual_length(setting: Setting) -> float:
    """Return how many seconds the command takes when nobody kills anything."""
    with tempfile.TemporaryDirectory() as scratch:
        project = make_project(Path(scratch))
        begun = time.monotonic()
        done = subprocess.run(setting.words(), cwd=project, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"the command fails without any kill:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return time.monotonic() - begun


def make_project(scratch: Path) -> Path:
    """Make a small training project."""
    project = scratch / "project"
    project.mkdir()
    (project / "train.py").write_text(
        TRAIN.replace("LOG", str(scratch / "started.log")).replace("EPOCHS", str(ITERATIONS))
    )
    (project / "deviate.toml").write_text(CONFIG)
    return project


def make_rounds(setting: Setting, kills: int, length: float, rng: random.Random) -> Iterator[Round]:
    """Yield `kills` rounds in which something was killed, tool and training in turn."""
    number = 0
    while number < kills:
        victim = ("tool", "training")[number % 2]
        with tempfile.TemporaryDirectory() as scratch:
            found = make_round(setting, Path(scratch), Round(number, victim, rng.uniform(0.0, length)))
        if found is None:
            continue
        print(f"{number + 1}/{kills} {victim} at {found.moment:.2f} s: {found.faults or 'ok'}", file=sys.stderr)
        number += 1
        yield found


def make_round(setting: Setting, scratch: Path, current: Round) -> Round | None:
    """Make one round; None where the kill came too late."""
    begun = time.monotonic()
    project = make_project(scratch)
    output = scratch / "first.txt"
    with output.open("w") as file:
        tool = subprocess.Popen(setting.words(), cwd=project, stdout=file, stderr=subprocess.STDOUT)
        time.sleep(current.moment)
        killed = kill(tool, project, current)
        if killed is None:
            tool.wait()
            return None
        before = finished_runs(project) if current.victim == "tool" else {}
        tool.wait()
    started = started_runs(scratch)
    current.finished = len(before)
    finish(setting, project, current)
    check(setting, project, scratch, current, before, started, killed)
    current.seconds = time.monotonic() - begun
    return current


def kill(tool: subprocess.Popen[bytes], project: Path, current: Round) -> str | None:
    """Kill the victim; return the name of the run whose training it was, None where nothing could be killed."""
    if tool.poll() is not None:
        return None
    if current.victim == "tool":
        tool.kill()
        # Only then nothing of it is still under way.
        tool.wait()
        return ""
    for process in trainings(project):
        with suppress(psutil.Error):
            name = Path(process.environ()["DEVIATE_RUNTIME"]).parent.name
            process.kill()
            return name
    return None


def trainings(project: Path) -> list[psutil.Process]:
    """Return the trainings of the project that run now."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            ours = str(project) in process.environ().get("DEVIATE_RUNTIME", "")
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def run_folders(project: Path) -> list[Path]:
    """Return the folders of the runs of the project's only experiment."""
    return sorted(path for path in project.glob(".deviate/experiments/*/runs/*") if not path.name.startswith("."))


def finished_runs(project: Path) -> dict[str, dict[str, bytes]]:
    """Return the bytes of what finished runs hold, by run and file."""
    return {
        run.name: {path.name: path.read_bytes() for path in sorted(run.glob("*")) if is_result(path)}
        for run in run_folders(project)
        if (run / "outcome.json").exists()
    }


def is_result(path: Path) -> bool:
    """Tell whether a file is a result, and not derived from one."""
    return path.suffix in (".bin", ".jsonl", ".log") or path.name in ("outcome.json", "run.json")


def started_runs(scratch: Path) -> Counter[str]:
    """Return how often the training of each run was begun."""
    path = scratch / "started.log"
    return Counter(path.read_text().split()) if path.exists() else Counter()


def finish(setting: Setting, project: Path, current: Round) -> None:
    """Type the same command until it ends by itself with all runs made."""
    for _ in range(3):
        current.commands += 1
        done = subprocess.run(setting.words(), cwd=project, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode not in (0, 1):
            current.faults.append(f"the command ended with {done.returncode}: {done.stderr[-500:]}")
            return
        if len(finished_runs(project)) == setting.runs:
            check_output(setting, done.stdout, current)
            return
    current.faults.append(f"only {len(finished_runs(project))} of {setting.runs} runs after three commands")


def check_output(setting: Setting, text: str, current: Round) -> None:
    """Check that the command printed one JSON object with every run."""
    try:
        runs = [run["index"] for variant in json.loads(text)["variants"] for run in variant["runs"]]
    except (ValueError, KeyError) as error:
        current.faults.append(f"no JSON object as promised ({error!r}): {text[:200]}")
        return
    if sorted(runs) != list(range(setting.runs)):
        current.faults.append(f"the report has runs {runs}")


def check(
    setting: Setting,
    project: Path,
    scratch: Path,
    current: Round,
    before: dict[str, dict[str, bytes]],
    started: Counter[str],
    killed: str,
) -> None:
    """Add to the round's faults what was lost or made twice."""
    after = finished_runs(project)
    folders = run_folders(project)
    if len(folders) != setting.runs:
        current.faults.append(f"{len(folders)} run folders for {setting.runs} runs")
    for name, files in before.items():
        if after.get(name) != files:
            current.faults.append(f"{name} had finished before the kill and was changed")
        if started_runs(scratch)[name] != started[name]:
            current.faults.append(f"{name} had finished before the kill and was started again")
    for folder in folders:
        current.faults += run_faults(folder, killed)
    if left := trainings(project):
        current.faults.append(f"{len(left)} processes still run")


def run_faults(folder: Path, killed: str) -> Iterator[str]:
    """Yield what is wrong with one run at the end."""
    outcome = json.loads((folder / "outcome.json").read_text())
    expected = ["completed", "failed"] if folder.name == killed else ["completed"]
    if outcome["status"] not in expected:
        yield f"{folder.name} is {outcome['status']}"
    elif outcome["status"] == "failed" and outcome["signal"] != signal.Signals(signal.SIGKILL).name:
        yield f"{folder.name} failed by itself: {outcome['reason']}"
    elif outcome["status"] == "completed":
        yield from record_faults(folder)


def record_faults(folder: Path) -> Iterator[str]:
    """Yield what is wrong with the records of a completed run."""
    files = sorted(folder.glob("records-*.bin"))
    if len(files) != 1:
        yield f"{folder.name} has {len(files)} record files"
        return
    data = files[0].read_bytes()
    slots = RECORD.iter_unpack(data[: len(data) // RECORD.size * RECORD.size])
    # A slot without a time is unused; the first record says so.
    records = [record for record in slots if record[2] and record[0] != HEAD]
    for metric in {record[0] for record in records} or {0}:
        iterations = [record[1] for record in records if record[0] == metric]
        if iterations != list(range(ITERATIONS)):
            yield f"{folder.name} has records of metric {metric} for iterations {iterations}"


def print_table(rounds: Sequence[Round]) -> None:
    """Print what happened to each victim."""
    print(f"{'victim':<10}{'kills':>7}{'finished before':>17}{'commands after':>16}{'with faults':>13}")
    for victim in ("tool", "training"):
        chosen = [each for each in rounds if each.victim == victim]
        finished = sum(each.finished for each in chosen)
        commands = sum(each.commands for each in chosen)
        faulty = sum(bool(each.faults) for each in chosen)
        print(f"{victim:<10}{len(chosen):>7}{finished:>17}{commands:>16}{faulty:>13}")


def summary(rounds: Sequence[Round], setting: Setting, seed: int, length: float) -> dict[str, object]:
    """Return all that was found, as one JSON object."""
    return {
        "schema": 1,
        "command": setting.words(),
        "seed": seed,
        "usual_seconds": round(length, 2),
        "kills": dict(Counter(each.victim for each in rounds)),
        "rounds_with_faults": sum(bool(each.faults) for each in rounds),
        "rounds": [asdict(each) for each in rounds],
    }


if __name__ == "__main__":
    sys.exit(main())
