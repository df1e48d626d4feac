"""A project whose workspace holds experiments of every kind, written file by file.

Nothing of Deviate is imported here: the files below ``.deviate/experiments`` are written as a ``deviate run`` leaves
them. When the layout of these files changes, this module is the only one to edit.
"""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

Values = float | Sequence[float] | None
Json = dict[str, Any]

COMMAND = ["python", "train.py", "--epochs", "10"]
CREATED = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")

#: What varies between the runs of a variant; the other factors are held fixed.
VARYING: Mapping[str, tuple[str, ...]] = {
    "algo+impl": FACTORS[:5],
    "algo": FACTORS[:5],
    "impl": (),
    "control": (),
    "platform": (),
    "bit": (),
    **{factor: (factor,) for factor in FACTORS},
}
#: Variants in which the implementation (kernels, order of parallel sums) may vary too.
LOOSE = ("algo+impl", "impl", "as-is")


# ---------------------------------------------------------------------------------------------------- one run


@dataclass
class Run:
    """One run: its values by metric, how it ended, and what its process wrote beside the records."""

    values: Mapping[str, Values] = field(default_factory=dict)
    seconds: float | None = 3.0
    #: Fields of ``outcome.json`` of a run that did not complete.
    unfinished: Json | None = None
    warnings: Sequence[str] = ()
    events: Sequence[Json] = ()
    environment: Json = field(default_factory=dict)
    info: Json = field(default_factory=dict)
    #: Names that are drawn for; each gives a fingerprint.
    draws: Sequence[str] = ()
    #: Digests that are not what the variant promises.
    digests: Mapping[str, str] = field(default_factory=dict)


def failed(**changes: Any) -> Run:
    """A run that ended with an error after a second."""
    outcome = {
        "status": "failed",
        "reason": "exit status 1",
        "hint": "",
        "exit_code": 1,
        "signal": None,
        "stderr": [
            "Traceback (most recent call last):",
            '  File "train.py", line 31, in <module>',
            "RuntimeError: the loader lost its worker",
        ],
    }
    return Run(seconds=1.25, unfinished={**outcome, **changes})


def timed_out() -> Run:
    return failed(
        status="timed-out",
        reason="longer than 60 s",
        hint="a larger timeout lets it go on",
        exit_code=None,
        signal="SIGKILL",
        stderr=["\x1b[31mstep\x1b[0m 3\r4"],
    )


def seed_event(call: str, line: int, given: str, **changes: Any) -> Json:
    fields = {"file": "train.py", "library": False, "replaced": True}
    return {"event": "seed", "call": call, "line": line, "given": given, **fields, **changes}


# ------------------------------------------------------------------------------------------------- one metric


def metric(name: str, **changes: Any) -> Json:
    loss = "loss" in name
    fields = {
        "name": name,
        "variable": "x",
        "expression": "x",
        "file": "train.py",
        "line": 12,
        "end_line": 12,
        "function": "main",
        "sink": "print",
        "kind": "loss" if loss else "quality",
        "direction": "lower" if loss else "higher",
        "aggregate": "last",
        "confidence": 0.9,
        "why": "printed in the main loop",
        "selected": True,
        "capture": {"how": "value", "span": None, "beside": "", "reads": "", "label": "", "key": ""},
    }
    return {**fields, **changes}


# --------------------------------------------------------------------------------------------- one experiment


def write_experiment(
    project: Path, name: str, runs: Mapping[str, Sequence[Run]], metrics: Sequence[str | Json], **changes: Any
) -> None:
    """Write an experiment; `runs` are by variant, `changes` are fields of ``experiment.json``."""
    folder = project / ".deviate" / "experiments" / name
    descriptions = [each if isinstance(each, dict) else metric(each) for each in metrics]
    experiment = {
        "schema": 1,
        "name": name,
        "command": COMMAND,
        "folder": ".",
        "entry": "train.py",
        "metrics": descriptions,
        "main_loop": {
            "file": "train.py", "line": 6, "variable": "epoch", "kind": "for",
            "why": "the outermost loop that trains (weight update)", "span": None,
        },
        "draws": [],
        "source": "5f2a9c",
        "seed": 0,
        "planned": {variant: len(made) for variant, made in runs.items()},
        "created": CREATED.isoformat(),
        "notes": [],
        "imported": None,
        "until": None,
    }  # fmt: skip
    _write_json(folder / "experiment.json", {**experiment, **changes})
    _write_json(folder / "snapshot.json", _snapshot())
    started = CREATED + timedelta(minutes=1)
    for variant, made in runs.items():
        for index, run in enumerate(made):
            write_run(folder, variant, index, run, [each["name"] for each in descriptions], started)
            started += timedelta(seconds=(run.seconds or 0.0) + 1.0)


def write_run(folder: Path, variant: str, index: int, run: Run, metrics: Sequence[str], started: datetime) -> None:
    path = folder / "runs" / f"{variant}-{index}"
    path.mkdir(parents=True)
    _write_json(path / "run.json", _run_info(variant, index, started, run.info))
    ended = started + timedelta(seconds=run.seconds or 0.0)
    common = {"schema": 1, "seconds": run.seconds, "ended": ended.isoformat(), "warnings": list(run.warnings)}
    _write_json(path / "outcome.json", {"status": "completed", **common, **(run.unfinished or {})})
    (path / "stdout.log").write_text("")
    (path / "stderr.log").write_text("")
    lines = [*_start_events(started), *run.events, *_fingerprints(variant, index, run), _environment(run)]
    ends = [] if run.unfinished else [{"event": "end", "reason": "exit"}]
    text = "".join(json.dumps(line) + "\n" for line in [*lines, *ends])
    (path / f"events-{100 + index}-1.jsonl").write_text(text)
    (path / f"records-{100 + index}-1.bin").write_bytes(_records(run, metrics))


def _records(run: Run, metrics: Sequence[str]) -> bytes:
    """Return ticks of the main loop and the values, each as id, iteration, elapsed seconds, value."""
    series = {
        metrics.index(name): [values] if isinstance(values, float | int) else list(values)
        for name, values in run.values.items()
        if values is not None
    }
    length = max(map(len, series.values()), default=0)
    step = (run.seconds or 1.0) / (length + 1)
    rows = []
    for iteration in range(length):
        rows.append((-1, iteration, iteration * step, 0.0))
        rows += [
            (key, iteration, (iteration + 0.9) * step, values[iteration])
            for key, values in series.items()
            if iteration < len(values)
        ]
    return b"".join(struct.pack("<iidd", *row) for row in rows)


def _start_events(started: datetime) -> list[Json]:
    return [{"event": "start", "pid": 100, "ppid": 1, "python": "3.11.7", "rank": None, "time": started.timestamp()}]


def _fingerprints(variant: str, index: int, run: Run) -> list[Json]:
    varying = VARYING.get(variant, FACTORS)
    events = []
    for name in run.draws:
        follows = {"weights": FACTORS, "batches": ("shuffle", "augment", "data")}.get(name, (name,))
        moves = bool(set(follows) & set(varying) & set(run.draws))
        digest = run.digests.get(name, f"{crc32(f'{name} {index if moves else 0}'.encode()):08x}")
        source = {"generator": "torch", "call": "torch.manual_seed", "file": "train.py", "line": 3, "given": "0"}
        events += [
            {"event": "fingerprint", "name": name, "digest": digest, "count": 8, "moment": moment, "sources": [source]}
            for moment in ("first", "end")
        ]
    return events


def _environment(run: Run) -> Json:
    fields = {
        "event": "environment",
        "libraries": {"torch": "2.13.0+cpu", "numpy": "2.4.0"},
        "variables": {"OMP_NUM_THREADS": "2"},
        "cpu": "AMD EPYC",
        "cpu_capability": "AVX2",
        "cores": 2,
        "threads": 2,
        "torch": "2.13.0+cpu",
        "gpu": None,
    }
    return {**fields, **run.environment}


def _run_info(variant: str, index: int, started: datetime, changes: Json) -> Json:
    varying = VARYING.get(variant, FACTORS)
    fields = {
        "schema": 1,
        "variant": variant,
        "index": index,
        "seeds": {factor: 1000 + (index if factor in varying else 0) for factor in FACTORS},
        "hold_impl": variant not in LOOSE,
        "strict": False,
        "platform": None,
        "argv": ["/usr/bin/python", *COMMAND[1:]],
        "cwd": "/work/copy",
        "environment": {},
        "executor": "local",
        "host": "here",
        "slot": 0,
        "jobs": 1,
        "cores": [0, 1],
        "threads": 2,
        "gpus": None,
        "variables": {"OMP_NUM_THREADS": "2"},
        "git": "0123456",
        "installed_gpus": [],
        "system": "Linux-6.1-x86_64",
        "started": started.isoformat(timespec="milliseconds"),
        "pid": 100 + index,
        "created": started.timestamp(),
    }
    return {**fields, **changes}


def _snapshot() -> Json:
    return {
        "schema": 1,
        "project": "/project",
        "source": "5f2a9c",
        "items": [
            {"path": "train.py", "kind": "copy", "reason": "", "target": "", "size": 470, "mtime_ns": 1},
            {"path": "big.bin", "kind": "link", "reason": "larger than 50 MB", "target": "", "size": 99, "mtime_ns": 1},
        ],
        "digests": {"train.py": "7b063a52"},
        "outside": [],
        "written": [],
        "pinned": [],
    }


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


# ------------------------------------------------------------------------------------------------- the values


def curve(last: float, start: float, noise: random.Random, length: int = 6) -> list[float]:
    """Return a learning curve from `start` that ends exactly at `last`."""
    way = [last + (start - last) * math.exp(-1.2 * step) for step in range(length - 1)]
    return [*(round(value + 0.01 * abs(start - last) * noise.gauss(0, 1), 6) for value in way), last]


def good_runs(count: int, seed: int, *, mean: float = 96.9, sd: float = 0.5, **fields: Any) -> list[Run]:
    """Runs with curves of an accuracy and a loss, and a test accuracy at the end."""
    noise = random.Random(seed)
    runs = []
    for _ in range(count):
        accuracy = round(mean + sd * noise.gauss(0, 1), 2)
        loss = round(0.031 + 0.004 * (sd / 0.5) * noise.gauss(0, 1), 5)
        values: dict[str, Values] = {
            "train loss": curve(loss, 2.3, noise),
            "val acc": curve(round(accuracy - 0.4 + 0.2 * sd * noise.gauss(0, 1), 2), 55.0, noise),
            "test acc": accuracy,
        }
        runs.append(Run(values=values, seconds=round(3.0 + 0.2 * noise.random(), 3), **fields))
    return runs


GOOD = ("train loss", "val acc", metric("test acc", line=40, why="printed after the main loop"))
DRAWN = ("init", "shuffle", "layers", "data", "batches", "weights")


# ----------------------------------------------------------------------------------------------- the experiments


def write_single(project: Path) -> None:
    write_experiment(project, "single", {"algo+impl": good_runs(1, 1)}, GOOD)


def write_usual(project: Path) -> None:
    """Eight good runs of one variant."""
    events = [seed_event("torch.manual_seed", 3, "0")]
    runs = good_runs(8, 2, events=events, draws=DRAWN)
    write_experiment(project, "usual", {"algo+impl": runs}, GOOD)


def write_sources(project: Path) -> None:
    """Each source alone, with fingerprints; dropout leaks where only the data order varies."""
    spread = {"algo+impl": 0.5, "init": 0.4, "shuffle": 0.3, "augment": 0.0, "impl": 0.0, "control": 0.0}
    events = [
        seed_event("torch.manual_seed", 3, "0"),
        seed_event("set_seed", 400, "42", file="transformers/trainer.py", library=True, through="train.py:15"),
        {"event": "draw", "site": 0},
        {"event": "nondeterministic", "operation": "scatter_add_cuda_kernel"},
        {"event": "switch", "name": "torch.use_deterministic_algorithms", "value": "warn_only"},
    ]
    runs = {
        variant: _spread_runs(sd, seed, events=events, draws=DRAWN) for seed, (variant, sd) in enumerate(spread.items())
    }
    runs["shuffle"][3].digests = {"layers": "deadbeef"}
    draw = {
        "file": "noise.py", "line": 3, "function": "jitter", "call": "numpy.random.rand", "factor": "other",
        "why": "a value drawn while it trains", "span": None,
    }  # fmt: skip
    write_experiment(project, "sources", runs, GOOD, draws=[draw])


def _spread_runs(sd: float, seed: int, **fields: Any) -> list[Run]:
    """Return four runs; without spread, the first one four times over but for its time."""
    runs = good_runs(4, 10 + seed, sd=sd, **fields)
    if not sd:
        for run in runs:
            run.values = runs[0].values
    return runs


def write_arms(project: Path) -> None:
    """The three arms and the control, six runs each, none of them with fingerprints."""
    spread = {"algo+impl": 0.5, "algo": 0.45, "impl": 0.1, "control": 0.0}
    runs = {variant: good_runs(6, 30 + seed, sd=sd) for seed, (variant, sd) in enumerate(spread.items())}
    for run in runs["control"]:
        run.values = runs["control"][0].values
    write_experiment(project, "arms", runs, GOOD)


def write_disturbed(project: Path) -> None:
    """Emulated platforms and turned bits beside the control."""
    bit = {"event": "bit", "tensor": "fc.weight", "index": "[3, 4]", "before": "0.25", "after": "0.25000003"}
    platform = good_runs(4, 41, sd=0.02, draws=DRAWN)
    for run, name in zip(platform, ("AVX2 (this machine), 2 threads", "AVX, 2 threads") * 2, strict=True):
        run.info = {"platform": name}
    control = _spread_runs(0.0, 42, draws=DRAWN)
    runs = {"platform": platform, "bit": good_runs(4, 43, sd=0.05, draws=DRAWN, events=[bit]), "control": control}
    write_experiment(project, "disturbed", runs, GOOD)


def write_troubled(project: Path) -> None:
    """Failures, a NaN, a silent metric, a difference between machines, names that need escaping, few runs."""
    values: list[dict[str, Values]] = [
        {"train loss": 0.03, "val_acc|top-1 [bold]": 0.91, "вал точность": 0.5, "reward": -1.5},
        {"train loss": 0.05, "val_acc|top-1 [bold]": 0.93, "вал точность": 0.5, "reward": 2.5},
        {"train loss": math.nan, "val_acc|top-1 [bold]": 0.92, "вал точность": 0.5, "reward": 0.5},
        {"train loss": 0.04, "val_acc|top-1 [bold]": 0.92, "вал точность": 0.5, "reward": 1.0},
    ]
    note = {"event": "note", "slug": "value-unreadable", "message": "a value of reward could not be read"}
    runs = [Run(values=each, seconds=3.0 + 0.1 * index) for index, each in enumerate(values)]
    runs[1].events = [note]
    runs[2].environment = {"torch": "2.12.0", "libraries": {"torch": "2.12.0", "numpy": "2.4.0"}}
    runs[3].warnings = ["the run wrote to big.bin, which is linked into it"]
    control = [Run(values=values[0], seconds=2.5), Run(values=values[0], seconds=2.6)]
    metrics = [
        "train loss", "val_acc|top-1 [bold]", "вал точность", metric("reward", direction=None),
        metric("test <b>f1</b>", file="engine.py", line=88),
    ]  # fmt: skip
    notes = ["engine.py: cannot be parsed (line 3), so nothing in it is recorded"]
    made = {"algo+impl": [*runs, failed(), timed_out()], "control": control}
    write_experiment(project, "troubled", made, metrics, notes=notes)


def write_lost(project: Path) -> None:
    """No run completed."""
    write_experiment(project, "lost", {"algo+impl": [failed(), failed()]}, GOOD)


def write_unstarted(project: Path) -> None:
    """No run was started."""
    write_experiment(project, "unstarted", {"algo+impl": []}, GOOD, planned={"algo+impl": 4})


def write_collapsed(project: Path) -> None:
    """Ten runs, two of which did not converge, one of them to NaN."""
    runs = good_runs(10, 50)
    runs[3].values = {"train loss": [2.3, 2.3, 2.3], "val acc": [10.0, 10.0, 10.0], "test acc": 10.0}
    runs[7].values = {"train loss": [2.3, math.nan, math.nan], "val acc": [30.0, 10.0, 10.0], "test acc": math.nan}
    write_experiment(project, "collapsed", {"algo+impl": runs}, GOOD)


def write_until(project: Path) -> None:
    """Experiments whose numbers of runs were settled by a precision, once reached and once not."""
    until = {
        "metric": "test acc", "of": "mean", "width": 0.5, "relative": False, "least": 5, "most": 12, "level": 0.95,
    }  # fmt: skip
    write_experiment(project, "reached", {"algo+impl": good_runs(9, 60)}, GOOD, until=until)
    wide = {**until, "of": "sd", "width": 0.2, "relative": True, "most": 6}
    write_experiment(project, "unreached", {"algo+impl": good_runs(6, 61)}, GOOD, until=wide)


def write_compared(project: Path) -> None:
    """Sides of comparisons: better, noisier, alike, too few, paired, of unknown direction."""
    write_experiment(project, "baseline", {"algo+impl": good_runs(7, 70)}, GOOD)
    write_experiment(project, "proposed", {"algo+impl": good_runs(6, 71, mean=97.9)}, GOOD)
    write_experiment(project, "noisy", {"algo+impl": good_runs(7, 72, mean=96.5, sd=2.5)}, GOOD)
    write_experiment(project, "worse", {"algo+impl": good_runs(7, 73, mean=95.5)}, GOOD)
    write_experiment(project, "few", {"algo+impl": good_runs(2, 74)}, GOOD)
    _write_paired(project)
    for name, seed in (("agent", 80), ("agent2", 81)):
        noise = random.Random(seed)
        runs = [Run(values={"reward": round(noise.gauss(seed - 75, 2), 3)}) for _ in range(7)]
        write_experiment(project, name, {"algo+impl": runs}, [metric("reward", direction=None)])


def _write_paired(project: Path) -> None:
    """Two experiments whose runs of one index draw the same, and differ by little more than a constant."""
    first, noise = good_runs(7, 75, draws=DRAWN), random.Random(76)
    second = good_runs(7, 75, draws=DRAWN)
    for run in second:
        accuracy = run.values["test acc"]
        assert isinstance(accuracy, float)
        run.values = {**run.values, "test acc": round(accuracy + 0.15 + 0.05 * noise.gauss(0, 1), 3)}
        run.digests = {"weights": f"{noise.randrange(2**32):08x}"}
    write_experiment(project, "pair-a", {"algo+impl": first}, GOOD)
    write_experiment(project, "pair-b", {"algo+impl": second}, GOOD)


WRITERS: Sequence[Callable[[Path], None]] = (
    write_single,
    write_usual,
    write_sources,
    write_arms,
    write_disturbed,
    write_troubled,
    write_lost,
    write_unstarted,
    write_collapsed,
    write_until,
    write_compared,
)


def write_project(project: Path) -> None:
    """Write a project with all experiments of this module, and files to import."""
    write_training(project)
    for write in WRITERS:
        write(project)
    noise = random.Random(90)
    rows = [
        f"{seed},{epoch},{0.9 - 0.1 * epoch + 0.01 * noise.gauss(0, 1):.4f},{80 + 5 * epoch + noise.gauss(0, 1):.2f}"
        for seed in range(5)
        for epoch in range(3)
    ]
    (project / "results.csv").write_text("\n".join(["seed,epoch,val loss,val acc", *rows]) + "\n")
    (project / "finals.csv").write_text("seed,top1\n" + "".join(f"{k},{70 + k % 4}\n" for k in range(6)))


def write_grid(project: Path) -> None:
    """Six cells of a grid, two of which train worse, beside one experiment that is none."""
    write_training(project)
    (project / "deviate.toml").write_text(
        '[[experiment]]\nname = "digits"\ncommand = "python train.py --lr {lr} --batch {batch}"\n'
        "grid = {lr = [0.001, 0.003, 0.01], batch = [32, 128]}\n"
    )
    means = {("0.001", "32"): 95.6, ("0.001", "128"): 92.8, ("0.003", "32"): 97.7, ("0.003", "128"): 96.5}
    for seed, (rate, batch) in enumerate(product(("0.001", "0.003", "0.01"), ("32", "128")), 100):
        runs = good_runs(5, seed, mean=means.get((rate, batch), 96.8))
        words = ["python", "train.py", "--lr", rate, "--batch", batch]
        write_experiment(project, f"digits@lr={rate},batch={batch}", {"algo+impl": runs}, GOOD, command=words)
    write_experiment(project, "baseline", {"algo+impl": good_runs(8, 110)}, GOOD)


def write_training(project: Path) -> None:
    """Write a training that can be run, and one that fails."""
    project.mkdir(parents=True, exist_ok=True)
    (project / "train.py").write_text(TRAIN)
    (project / "fails.py").write_text(TRAIN + 'raise RuntimeError("the loader lost its worker")\n')


#: A training in plain Python with a data order; one metric is reported only if a second argument gives it.
TRAIN = """\
import random
import sys

random.seed(0)
data = [(x / 10, 0.3 * x) for x in range(-10, 11)]
weight = random.gauss(0, 1)
for epoch in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
    random.shuffle(data)
    loss = 0.0
    for x, y in data:
        error = weight * x - y
        weight -= 0.1 * error * x
        loss += error**2 / len(data)
    accuracy = 100 / (1 + abs(weight - 3))
    print(f"epoch {epoch} train loss {loss:.4f} test accuracy {accuracy:.2f}%")
if len(sys.argv) > 2:
    bonus = float(sys.argv[2])
    print(f"bonus score {bonus:.3f}")
"""
