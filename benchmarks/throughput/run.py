"""Measure what it costs to make many runs: by Deviate, warm too, by a shell loop, by ``xargs`` and by GNU parallel.

    python benchmarks/throughput/run.py                        16 runs, 2 at a time, 3 repeats: a table, a JSON object
    python benchmarks/throughput/run.py --runs 4 --repeats 1   a short look
    python benchmarks/throughput/run.py --steps 600            trainings that take longer than their imports
    python benchmarks/throughput/run.py --forks 1000           as many runs forked by Deviate instead: does one hang?

The training is a small network of torch on the CPU, with one thread. In each repeat every way makes all runs once, in
an order that is drawn anew, and differences are taken within a repeat. Wall time says something only on a machine that
is idle otherwise: the load is printed. CPU time is that of all processes, those that Deviate needs itself included.
Both ways of Deviate must record the same values, or the benchmark fails. GNU parallel is left out where it is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

TRAIN = """\
import sys

import torch


def train(epochs, steps):
    torch.manual_seed(0)
    inputs = torch.randn(256, 16)
    targets = (inputs.sum(1) > 0).long()
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    for epoch in range(epochs):
        for step in range(steps):
            loss = torch.nn.functional.cross_entropy(net(inputs), targets)
            net.zero_grad()
            loss.backward()
            with torch.no_grad():
                for weights in net.parameters():
                    weights -= 0.5 * weights.grad
        print(f"epoch {epoch} loss {loss.item():.9f}", flush=True)


if __name__ == "__main__":
    train(30, int(sys.argv[1]))
"""

#: What each forked run computes: with several threads, which it would wait for without end if its parent had any.
FORKED = """\
import torch

torch.set_num_threads(2)
for epoch in range(2):
    loss = (torch.ones(300, 300) @ torch.ones(300, 300)).sum().item()
    print(f"loss {loss}")
"""

#: Seconds after which a forked run counts as one that hangs.
HANGS = 60


@dataclass
class Measured:
    """What one way took for all runs."""

    way: str
    wall_s: float
    cpu_s: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a table and a JSON object; return 1 where the recorded values differ."""
    options = parse(arguments)
    if options.forks:
        return forks(options.forks, options.jobs)
    load = os.getloadavg()[0]
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "train.py").write_text(TRAIN)
        rounds = [one_round(project, options, rng) for _ in range(options.repeats)]
        same = len({recorded(path) for path in (project / ".deviate" / "experiments").iterdir()}) == 1
        ideal = statistics.median(ideals(project, options.jobs))
    print_table(rounds, ideal)
    result = {
        "runs": options.runs,
        "jobs": options.jobs,
        "steps": options.steps,
        "cores": len(os.sched_getaffinity(0)),
        "load_before": load,
        "load_after": os.getloadavg()[0],
        "ideal_s": ideal,
        "same_values": same,
        "rounds": [[asdict(each) for each in measured] for measured in rounds],
    }
    print(json.dumps(result))
    return int(not same)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=1, help="training steps in each of 30 epochs: the longer runs are")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forks", type=int, default=0, help="fork as many runs, and nothing else")
    return parser.parse_args(arguments)


def one_round(project: Path, options: argparse.Namespace, rng: random.Random) -> list[Measured]:
    """Make all runs in every way, in an order of its own."""
    python, number = shlex.quote(sys.executable), str(options.runs)
    name = f"{rng.getrandbits(32):08x}"
    words = [sys.executable, "-m", "deviate", "run", "-n", number, "-j", str(options.jobs), "--set", "share=none"]
    words += ["--vary", "control"]
    steps = str(options.steps)
    train = ["--", sys.executable, "train.py", steps]
    bare = f"{python} train.py {steps} > /dev/null"
    ways = {
        "loop": ["sh", "-c", f"for i in $(seq {number}); do {bare}; done"],
        "xargs": ["sh", "-c", f"seq {number} | xargs -P {options.jobs} -I _ {bare}"],
        "parallel": ["sh", "-c", f"seq {number} | parallel --will-cite -j {options.jobs} -N0 {shlex.quote(bare)}"],
        "deviate": [*words, "--name", f"cold-{name}", *train],
        "warm": [*words, "--set", "warm=true", "--name", f"warm-{name}", *train],
    }
    if shutil.which("parallel") is None:
        del ways["parallel"]
    order = list(ways)
    rng.shuffle(order)
    measured = {way: measure(way, ways[way], project) for way in order}
    return [measured[way] for way in ways]


def measure(way: str, words: Sequence[str], project: Path) -> Measured:
    """Run a command with one thread a run, and return what it took."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        words, cwd=project, env={**os.environ, **threads}, capture_output=True, text=True, check=False
    )
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{way} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return Measured(way, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def recorded(experiment: Path) -> frozenset[bytes]:
    """Return what the runs of an experiment recorded, without times: the same for each run under ``control``."""
    found = set()
    for run in sorted((experiment / "runs").iterdir()):
        data = b"".join(path.read_bytes() for path in sorted(run.glob("records-*.bin")))
        slots = (data[at : at + 24] for at in range(0, len(data), 24))
        # A slot without a time is unused.
        found.add(b"".join(slot[:8] + slot[16:] for slot in slots if any(slot[8:16])))
    return frozenset(found)


def ideals(project: Path, jobs: int) -> list[float]:
    """Return, for each experiment that started its runs, their seconds divided by the number of runs side by side."""
    return [
        sum(json.loads(path.read_text())["seconds"] for path in experiment.glob("runs/*/outcome.json")) / jobs
        for experiment in (project / ".deviate" / "experiments").glob("cold-*")
    ]


def print_table(rounds: Sequence[Sequence[Measured]], ideal: float) -> None:
    """Print medians over the repeats, and those of ratios within a repeat."""
    print(f"{'way':8} {'wall s':>8} {'CPU s':>8} {'CPU / xargs':>12}")
    for place, way in enumerate(each.way for each in rounds[0]):
        mine, other = [row[place] for row in rounds], [row[1] for row in rounds]
        ratio = statistics.median(a.cpu_s / b.cpu_s for a, b in zip(mine, other, strict=True))
        wall, cpu = (statistics.median(getattr(each, name) for each in mine) for name in ("wall_s", "cpu_s"))
        print(f"{way:8} {wall:8.1f} {cpu:8.1f} {ratio:12.2f}")
    print(f"ideal    {ideal:8.1f}  (seconds of the runs that Deviate started, divided by runs side by side)")


def forks(number: int, jobs: int) -> int:
    """Have Deviate fork so many runs from a process that has imported torch; return 1 where not all ended well."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "train.py").write_text(FORKED)
        words = ["run", "-n", str(number), "-j", str(jobs), "--vary", "control"]
        words += ["--set", "warm=true", "--set", "share=none"]
        words += ["--set", f"timeout={HANGS}", "--set", "discard_work=true", "--name", "forks"]
        words += ["--", sys.executable, "train.py"]
        begun, load = time.monotonic(), os.getloadavg()[0]
        subprocess.run([sys.executable, "-m", "deviate", *words], cwd=project, capture_output=True, check=False)
        wall = time.monotonic() - begun
        runs = sorted((project / ".deviate" / "experiments" / "forks" / "runs").iterdir())
        ended = Counter(json.loads((run / "outcome.json").read_text())["status"] for run in runs)
        forked = sum("warm" in json.loads((run / "run.json").read_text()) for run in runs)
    print(f"{number} runs, {forked} of them forked: {dict(ended)}; {wall:.1f} s", file=sys.stderr)
    print(json.dumps({"runs": number, "forked": forked, "ended": ended, "wall_s": wall, "jobs": jobs, "load": load}))
    return int(forked < number or ended["completed"] < number)


if __name__ == "__main__":
    raise SystemExit(main())
