"""Measure what a run under Deviate costs beside the bare program: processor time, at the start and in each epoch.

    python benchmarks/overhead/control.py [--pairs N] [--minutes M] [--variant V] [FOLDER COMMAND MARK]...

Without trainings, three examples as they ship and at more epochs. A run is prepared as `deviate run` prepares it: the
instrumented copy, the runtime, a stream for each factor, capture of predictions, digests of weights. The bare program
has the same environment less the runtime: the same threads, on the same core, the same hash seed. The two of a pair
follow each other, in an order that changes from pair to pair. The trainings take turns, so that another load of the
machine meets all of them; after M minutes no further pair is begun.

MARK is a regular expression of the line that ends an epoch. Where it is written the process's clock is read from
outside, so that one run tells what an epoch costs, from its first mark to its last, and what is paid once: everything
else. Training that stops early makes runs of unequal length; the ratio of whole processes is that at the bare program's
number of epochs. Prints a table on standard error and one JSON object with the same figures on
standard output; intervals are of the median, from order statistics, with at least 95 %.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from intervals import summary

from deviate.core.experiment import Run
from deviate.core.factors import DEFAULT_VARIANT
from deviate.runs.environment import RUNTIME_VARIABLE
from deviate.runs.executors.executor import Launch
from deviate.runs.executors.local import divide
from deviate.runs.hardware import Gpus, usable_cores
from deviate.runs.prepare import Source, prepare_run
from deviate.runs.prepared import prepare_request
from deviate.runs.request import Request
from deviate.runs.snapshot.manifest import take
from deviate.source.overlay import file_codes, instrument_experiment
from deviate.store.folders import Workspace

#: The most that the median ratio may be.
BAR = 1.03

#: Seconds of a training for which the ratio is computed from the costs of the start and of an epoch.
HOUR = 3600

#: Seconds between two looks at what was written: each look disturbs what it looks at.
LOOK_EVERY = 0.02

MLP, CNN, KERAS = r"^Epoch +\d+/", r" Epoch \d+: lr", r"^\d+/\d+ - "
EXAMPLES = (
    ("examples/digits_mlp", "python train.py", MLP),
    ("examples/digits_cnn", "python main.py", CNN),
    ("examples/keras_fit", "python train_keras.py", KERAS),
    ("examples/digits_mlp", "python train.py --epochs 40", MLP),
    ("examples/digits_cnn", "python main.py --epochs 30", CNN),
    # Learns so slowly that it does not stop early.
    ("examples/keras_fit", "python train_keras.py --epochs 100 --learning_rate 1e-4", KERAS),
)

ARMS = ("bare", "deviate")


@dataclass(frozen=True)
class Cost:
    """Processor seconds of one process."""

    total: float
    #: As the marks were written.
    marks: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.total:.3f} s: {self.fixed:.3f} s + {len(self.marks)} x {1000 * self.epoch:.2f} ms"

    @property
    def epoch(self) -> float:
        """Of an epoch, the first one left out."""
        return (self.marks[-1] - self.marks[0]) / (len(self.marks) - 1)

    @property
    def fixed(self) -> float:
        """Of what is paid once: all that is not an epoch."""
        return self.total - self.epoch * len(self.marks)


def main() -> None:
    """Measure, and print table and JSON."""
    parser = argparse.ArgumentParser(description="Measure what a run under Deviate costs.")
    parser.add_argument(
        "trainings", nargs="*", metavar="FOLDER COMMAND MARK", help="trainings (default: three examples)"
    )
    parser.add_argument("--pairs", type=int, default=30, help="pairs of runs (default 30)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="minutes to measure (default no limit)")
    parser.add_argument("--variant", default=DEFAULT_VARIANT, help=f"what varies (default {DEFAULT_VARIANT})")
    options = parser.parse_args()
    if len(options.trainings) % 3:
        parser.error("each FOLDER needs a COMMAND and a MARK")
    asked = options.trainings
    trainings = list(zip(asked[::3], asked[1::3], asked[2::3], strict=True)) or EXAMPLES
    report: dict[str, Any] = {
        "benchmark": "control",
        "bar": BAR,
        "python": platform.python_version(),
        "machine": platform.processor() or platform.machine(),
        "variant": options.variant,
        "trainings": {},
    }
    for name, pairs in measure(trainings, options.variant, options.pairs, 60 * options.minutes).items():
        figures = report["trainings"][name] = figures_of(*zip(*pairs, strict=True))
        print_figures(name, figures)
    print(json.dumps(report, indent=2))


def measure(
    trainings: Sequence[tuple[str, str, str]], variant: str, pairs: int, seconds: float
) -> dict[str, list[tuple[Cost, Cost]]]:
    """Return the costs of both arms in `pairs` pairs of each training, or in as many as fit into `seconds`."""
    order, started = random.Random(0), time.monotonic()
    measured: dict[str, list[tuple[Cost, Cost]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        sources = {}
        for number, (project, command, mark) in enumerate(trainings):
            copy = Path(folder) / str(number) / Path(project).name
            shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".deviate", "__pycache__", ".venv"))
            sources[f"{project}: {command}"] = prepare(copy, command.split(), variant), re.compile(mark)
        for pair in range(-1, pairs):  # The first one fills the disk's caches.
            for name, (source, ends_epoch) in sources.items():
                if time.monotonic() - started > seconds:
                    return measured
                costs = run_pair(source, variant, max(pair, 0), order, ends_epoch)
                if pair >= 0:
                    measured.setdefault(name, []).append(costs)
                    load = os.getloadavg()[0]
                    print(f"{name}, load {load:.0f}:", *map(str, costs), sep="  |  ", file=sys.stderr, flush=True)
    return measured


def run_pair(
    source: Source, variant: str, index: int, order: random.Random, mark: re.Pattern[str]
) -> tuple[Cost, Cost]:
    """Return the costs of both arms, which run in an order that is drawn."""
    layout = {"PADDING": "." * order.randrange(4096)}
    costs = {arm: run_once(source, variant, index, arm, layout, mark) for arm in order.sample(ARMS, 2)}
    return costs["bare"], costs["deviate"]


def prepare(project: Path, words: list[str], variant: str) -> Source:
    """Return what all runs are made from, as `deviate run` has it, with one core for each."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment["PYTHONUNBUFFERED"] = "1"  # When a line is written tells when an epoch ended.
    os.environ["PATH"] = environment["PATH"]  # The command is looked for there.
    prepared = prepare_request(Request(command=words, here=project, project=project))
    folder = Workspace(project).experiment("measured")
    experiment = prepared.experiment("measured", {variant: 1}, datetime.now().astimezone(), seed=0)
    snapshot = take(prepared.snapshot, folder)
    instrumented = instrument_experiment(folder.snapshot, experiment)
    return Source(
        experiment=experiment,
        folder=folder,
        snapshot=snapshot,
        overlay=file_codes(instrumented),
        environment=environment,
        program=prepared.program,
        executor="local",
        jobs=len(usable_cores()),
    )


def run_once(
    source: Source, variant: str, index: int, arm: str, layout: Mapping[str, str], mark: re.Pattern[str]
) -> Cost:
    """Run the program once, in a fresh copy.

    `layout` are variables that move what lies where in memory: its cost is not to be taken for that of one arm.
    """
    slot = divide(usable_cores(), source.jobs, Gpus())[0]
    ready = prepare_run(source, Run(variant=variant, index=index), slot)
    launch = ready.launch
    environment = {**launch.environment, **layout}
    if arm == "bare":
        for name in (RUNTIME_VARIABLE, "PYTHONPATH"):
            del environment[name]
        for name in source.inside:
            (ready.copy / name).write_bytes((source.folder.snapshot / name).read_bytes())
    return time_launch(launch, environment, mark)


def time_launch(launch: Launch, environment: Mapping[str, str], mark: re.Pattern[str]) -> Cost:
    """Start a command and return what it cost."""
    with launch.stdout.open("wb") as stdout, launch.stderr.open("wb") as stderr:
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, launch.slot.cores or before)
        process = subprocess.Popen(launch.argv, cwd=launch.cwd, env=dict(environment), stdout=stdout, stderr=stderr)
        os.sched_setaffinity(0, before)
    clock = (~process.pid << 3) | 2  # of all threads of that process, see clock_getcpuclockid(3)
    seen, looks = 0, []
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        size = launch.stdout.stat().st_size
        if size > seen:
            looks.append((size, time.clock_gettime(clock)))
            seen = size
        time.sleep(LOOK_EVERY)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{launch.argv} failed:\n{launch.stderr.read_text()[-2000:]}")
    return Cost(used.ru_utime + used.ru_stime, tuple(times_of(launch.stdout.read_bytes(), looks, mark)))


def times_of(output: bytes, looks: Sequence[tuple[int, float]], mark: re.Pattern[str]) -> list[float]:
    """Return the times at which the lines were seen that end an epoch."""
    times, position = [], 0
    for line in output.splitlines(keepends=True):
        position += len(line)
        if mark.search(line.decode()):
            times.append(next((at for size, at in looks if size >= position), looks[-1][1]))
    return times


def figures_of(bare: Sequence[Cost], under: Sequence[Cost]) -> dict[str, Any]:
    """Return the figures of one training."""
    pairs = list(zip(bare, under, strict=True))
    fixed, epoch = [b.fixed - a.fixed for a, b in pairs], [b.epoch / a.epoch for a, b in pairs]
    hour = [1 + (b.fixed - a.fixed + (b.epoch / a.epoch - 1) * (HOUR - a.fixed)) / HOUR for a, b in pairs]
    return {
        "pairs": len(pairs),
        "epochs": statistics.median(len(cost.marks) for cost in bare),
        "bare": {
            "total_s": statistics.median(cost.total for cost in bare),
            "fixed_s": statistics.median(cost.fixed for cost in bare),
            "epoch_s": statistics.median(cost.epoch for cost in bare),
        },
        "equal_pairs": sum(len(a.marks) == len(b.marks) for a, b in pairs),
        "process_ratio": summary([(b.fixed + b.epoch * len(a.marks)) / a.total for a, b in pairs]),
        "fixed_more_s": summary(fixed),
        "epoch_ratio": summary(epoch),
        "hour_ratio": summary(hour),
    }


def print_figures(name: str, figures: dict[str, Any]) -> None:
    """Print the figures of one training for people."""
    bare = figures["bare"]
    print(
        f"{name}: {figures['epochs']:.0f} epochs; bare {bare['total_s']:.2f} s, {bare['fixed_s']:.2f} s once, "
        f"{1000 * bare['epoch_s']:.1f} ms an epoch; {figures['equal_pairs']} of {figures['pairs']} pairs equally long",
        file=sys.stderr,
    )
    for key in ("process_ratio", "fixed_more_s", "epoch_ratio", "hour_ratio"):
        row = figures[key]
        print(f"  {key:<16}{row['median']:>8.4f} ({row['low']:.4f} to {row['high']:.4f})", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
