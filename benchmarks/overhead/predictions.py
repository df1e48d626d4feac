"""Measure what capturing predictions costs: processor time with it over processor time without, in pairs.

    python benchmarks/overhead/predictions.py [--pairs N] [FOLDER COMMAND]...

Both runs of a pair draw from the factors' streams and are instrumented alike; one has ``--predictions none``. Prints
for each training the median ratio with its interval (95 %, from order statistics) and the files that were left behind,
as one JSON object.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from costs import INJECTED
from scipy.stats import binom
from trainings import Training, prepare, time_command

#: The most that the median may be.
BAR = 1.02

EXAMPLES = (
    ("examples/digits_mlp", "python train.py"),
    ("examples/digits_cnn", "python main.py"),
    ("examples/keras_fit", "python train_keras.py"),
)
FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description="Measure what capturing predictions costs.")
    parser.add_argument("trainings", nargs="*", metavar="FOLDER COMMAND", help="trainings (default: three examples)")
    parser.add_argument("--pairs", type=int, default=15, help="pairs of runs (default 15)")
    options = parser.parse_args()
    pairs = list(zip(options.trainings[::2], options.trainings[1::2], strict=True)) or list(EXAMPLES)
    compileall.compile_dir(INJECTED, quiet=1)
    report = {"benchmark": "predictions", "bar": BAR, "trainings": {}}
    with tempfile.TemporaryDirectory() as name:
        for project, command in pairs:
            training = prepare(Path(project).resolve(), command)
            report["trainings"][f"{project}: {command}"] = compare(training, Path(name), options.pairs)
            print(json.dumps(report, indent=2), file=sys.stderr, flush=True)
    print(json.dumps(report, indent=2))


def compare(training: Training, folder: Path, pairs: int) -> dict[str, object]:
    """Return the ratios of processor times of `pairs` pairs, run one after the other in alternating order."""
    run_once(training, folder, "labels")  # disk caches
    ratios, files = [], []
    for pair in range(pairs):
        times = {}
        for keep in ("none", "labels") if pair % 2 == 0 else ("labels", "none"):
            times[keep], written = run_once(training, folder, keep)
            files = written or files
        ratios.append(times["labels"] / times["none"])
        print(f"{ratios[-1]:.4f}", file=sys.stderr, flush=True)
    low, high = interval(sorted(ratios))
    return {"pairs": pairs, "median": statistics.median(ratios), "low": low, "high": high, "files": files}


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return the interval of the median that covers it with at least 95 %, from order statistics."""
    rank = int(binom.ppf(0.025, len(ratios), 0.5))
    return ratios[max(rank - 1, 0)], ratios[min(len(ratios) - rank, len(ratios) - 1)]


def run_once(training: Training, folder: Path, keep: str) -> tuple[float, list[str]]:
    """Run the training in a fresh copy of its project; return its processor time and the files of predictions."""
    copy, records = folder / "copy", folder / "run-records"
    for path in (copy, records):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(training.project, copy, ignore=shutil.ignore_patterns(".deviate", "__pycache__", ".venv"))
    records.mkdir()
    for file, data in training.overlay.items():
        (copy / file).write_bytes(data)
    order = {
        "schema": 1, "records": str(records), "original": str(training.project), "overlay": str(copy), "kept": [],
        "control": "streams", "seeds": dict.fromkeys(FACTORS, 1), "varying": list(FACTORS), "hold_impl": False,
        "threads": 1, "metrics": training.metrics, "draws": [], "predictions": keep,
        "comparisons": training.comparisons,
    }  # fmt: skip
    (folder / "runtime.json").write_text(json.dumps(order))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(INJECTED), "DEVIATE_RUNTIME": str(folder / "runtime.json")}
    usage = time_command(training.words, copy, {**inherited, **fixed})
    return usage.cpu_s, sorted(path.name.rpartition("-")[0] for path in records.glob("predictions-*.bin"))


if __name__ == "__main__":
    main()
