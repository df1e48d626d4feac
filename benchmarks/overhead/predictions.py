"""Measure what keeping predictions and weights costs: processor time with it over processor time without, in rounds.

    python benchmarks/overhead/predictions.py [--rounds N] [--setting NAME]... [FOLDER COMMAND]...

A round has one run of the bare program and one of each setting, all at once on one core: they take turns there within
milliseconds, so that what else the machine does meets all of them alike. Run one after the other, on a busy machine,
single ratios range from 0.94 to 1.09. Each round starts another one first. All but the bare runs draw from the factors'
streams and are instrumented alike; what the others are divided by is the run of their round with ``--predictions
none``, and the bare program's. Prints for each training and setting the median ratio with its interval (95 %, from
order statistics) and the files that were left behind, and the load of the machine, as one JSON object.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from costs import INJECTED
from scipy.stats import binom
from trainings import Training, given_code, prepare

#: The most that the median may be with labels, which are kept by default.
BAR = 1.02

#: The program without Deviate.
BARE = "bare"

#: What is given to `deviate run`, and what the runtime is told by it.
NOTHING = "--predictions none"
SETTINGS = {
    NOTHING: {"predictions": "none"},
    "--predictions labels": {"predictions": "labels"},
    "--predictions scores": {"predictions": "scores"},
    "--predictions labels:every": {"predictions": "labels:every"},
    "--predictions none --weights every:5": {"predictions": "none", "weights": "every:5", "weights_limit": 2**31},
}

EXAMPLES = (
    ("examples/digits_mlp", "python train.py"),
    ("examples/digits_cnn", "python main.py"),
    ("examples/keras_fit", "python train_keras.py"),
)
FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description="Measure what keeping predictions and weights costs.")
    parser.add_argument("trainings", nargs="*", metavar="FOLDER COMMAND", help="trainings (default: three examples)")
    parser.add_argument("--rounds", type=int, default=30, help="runs of each setting (default 30)")
    parser.add_argument(
        "--setting", action="append", choices=list(SETTINGS)[1:], help="one of the settings; by default all"
    )
    options = parser.parse_args()
    chosen = [BARE, NOTHING, *(options.setting or list(SETTINGS)[1:])]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the runs inherit it
    trainings = list(zip(options.trainings[::2], options.trainings[1::2], strict=True)) or list(EXAMPLES)
    compileall.compile_dir(INJECTED, quiet=1)
    report = {"benchmark": "predictions", "bar": BAR, "trainings": {}}
    with tempfile.TemporaryDirectory() as name:
        for project, command in trainings:
            training = prepare(Path(project).resolve(), command)
            report["trainings"][f"{project}: {command}"] = compare(training, Path(name), options.rounds, chosen)
            print(json.dumps(report, indent=2), file=sys.stderr, flush=True)
    print(json.dumps(report, indent=2))


def compare(training: Training, folder: Path, rounds: int, names: Sequence[str]) -> dict[str, object]:
    """Return the ratios of processor times of each setting over `rounds` rounds, after one that fills disk caches."""
    times: dict[str, list[float]] = {name: [] for name in names}
    files: dict[str, list[str]] = {}
    loads = []
    for first in range(-1, rounds):
        turn = first % len(names)
        taken = run_round(training, folder, [*names[turn:], *names[:turn]])
        for name in names if first >= 0 else ():
            times[name].append(taken[name])
        files = {name: kept_files(folder / name) for name in names}
        loads.append(os.getloadavg()[0])
        print(f"{first}: {', '.join(f'{taken[name] / taken[NOTHING]:.4f}' for name in names)}", file=sys.stderr)
    return {
        "rounds": rounds,
        "load": {"median": statistics.median(loads), "low": min(loads), "high": max(loads)},
        "seconds": {name: statistics.median(times[name]) for name in (BARE, NOTHING)},
        "settings": {
            name: {
                **summary(times[name], times[NOTHING]),
                "to_bare": summary(times[name], times[BARE]),
                "files": files[name],
            }
            for name in names
        },
    }


def summary(times: list[float], plain: list[float]) -> dict[str, float]:
    """Return the median of the ratios of each round, and its interval."""
    ratios = sorted(time / other for time, other in zip(times, plain, strict=True))
    low, high = interval(ratios)
    return {"median": statistics.median(ratios), "low": low, "high": high}


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return the interval of the median that covers it with at least 95 %, from order statistics."""
    rank = int(binom.ppf(0.025, len(ratios), 0.5))
    return ratios[max(rank - 1, 0)], ratios[min(len(ratios) - rank, len(ratios) - 1)]


def run_round(training: Training, folder: Path, names: Sequence[str]) -> dict[str, float]:
    """Run the training once in each setting, all at once; return the processor time of each."""
    running = {name: start(training, folder / name, SETTINGS.get(name)) for name in names}
    taken = {}
    for name, process in running.items():
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{name}: {shlex.join(training.words)} failed")
        taken[name] = used.ru_utime + used.ru_stime
    return taken


def start(training: Training, folder: Path, setting: Mapping[str, object] | None) -> subprocess.Popen[bytes]:
    """Start the training in a fresh copy of its project; without a setting, the bare program."""
    copy, records = folder / "copy", folder / "run-records"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(training.project, copy, ignore=shutil.ignore_patterns(".deviate", "__pycache__", ".venv"))
    records.mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**inherited, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    if setting is not None:
        order = {
            "schema": 1, "records": str(records), "original": str(training.project), "overlay": str(copy), "kept": [],
            "control": "streams", "seeds": dict.fromkeys(FACTORS, 1), "varying": list(FACTORS), "hold_impl": False,
            "threads": 1, "metrics": training.metrics, "draws": [],
            "comparisons": training.comparisons, "instrumented": given_code(training, folder, copy), **setting,
        }  # fmt: skip
        (folder / "runtime.json").write_text(json.dumps(order))
        environment |= {"PYTHONPATH": str(INJECTED), "DEVIATE_RUNTIME": str(folder / "runtime.json")}
    return subprocess.Popen(training.words, cwd=copy, env=environment, stdout=subprocess.DEVNULL)


def kept_files(folder: Path) -> list[str]:
    """Return what was kept of predictions and weights."""
    records = folder / "run-records"
    kept = [*records.glob("predictions-*.bin"), *records.glob("weights-*")]
    return sorted(path.name.rpartition("-")[0] for path in kept)


if __name__ == "__main__":
    main()
