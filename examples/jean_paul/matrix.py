# Trained here, evaluated there: what deviate.toml lists, then one table beside the paper's.
#
#     python matrix.py                              2 runs of each of 15 trainings, each evaluated in 4 ways
#     python matrix.py --runs 1 --dimensions 2      a try
import argparse
import os
import subprocess
import sys
from pathlib import Path

import deviate

#: Error in % of the paper by dimensions and device: PyTorch, TensorFlow; the same whatever device evaluated.
PAPER = {
    2: {"CPU": (8.35, 8.80), "RTX 2080": (8.60, 8.85), "Tesla P40": (8.65, 8.90), "GTX 1070": (8.65, 8.90)},
    5: {"CPU": (36.53, 36.85), "RTX 2080": (36.79, 36.90), "Tesla P40": (36.77, 36.84), "GTX 1070": (36.69, 36.69)},
    26: {"CPU": (48.23, 48.83), "RTX 2080": (48.18, 48.52), "Tesla P40": (48.83, 48.74), "GTX 1070": (49.52, 49.83)},
}
ROWS = {"cpu": "CPU", "two-threads": "CPU, 2 threads", "old-cpu": "CPU, SSE4.2 at most", "gpu": "GPU"}
COLUMNS = {**ROWS, "keras": "CPU, by Keras"}
ON_GPU = "python evaluate_saved.py --on gpu"

parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=2)
parser.add_argument("--jobs", type=int, default=1)
parser.add_argument("--dimensions", type=int, nargs="+", choices=PAPER, default=list(PAPER))
parser.add_argument("--frameworks", nargs="+", choices=("torch", "keras"), default=["torch", "keras"])
parser.add_argument("--trained-on", nargs="+", choices=ROWS, default=list(ROWS))
args = parser.parse_args()

# The commands of deviate.toml start with python: this one.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"


def has_gpu():
    ask = "import torch; raise SystemExit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", ask], check=False).returncode == 0


def cell(dimensions, framework, row):
    # What deviate.toml calls it; None where it has no such cell.
    if row == "two-threads":
        return f"matrix-threads@dimensions={dimensions}" if framework == "torch" else None
    place = f"@dimensions={dimensions},framework={framework}"
    return f"matrix-gpu{place}" if row == "gpu" else f"matrix{place},on={row}"


def make(name):
    # A run that failed is left out of the table, so status 1 goes on.
    then = ["--then", ON_GPU] if gpu else []
    words = ["run", "-n", str(args.runs), "-j", str(args.jobs), "--name", name, *then]
    done = subprocess.run([sys.executable, "-m", "deviate", *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)


def errors(name):
    # By column: the error of each run; several where runs differ.
    frame = deviate.load(name).frame()
    found = {}
    for metric in frame.columns:
        where, _, what = metric.partition(": ")
        if what == "error":
            column = "gpu" if where == "evaluate_saved" else where
            found[column] = sorted(set(frame[metric].dropna()))
    return found


def show(values):
    return " to ".join(dict.fromkeys(f"{value:.2f}" for value in (values[0], values[-1]))) if values else "–"


gpu = has_gpu()
rows = [row for row in args.trained_on if row != "gpu" or gpu]
shown = [column for column in COLUMNS if column != "gpu" or gpu]
wanted = [(d, f, row) for d in args.dimensions for f in args.frameworks for row in rows if cell(d, f, row)]
for each in wanted:
    make(cell(*each))

for dimensions in args.dimensions:
    print(f"\n{dimensions}-D: error in % of runs with equal seeds, by where they were evaluated")
    print(f"| framework | trained on | {' | '.join(COLUMNS[column] for column in shown)} |")
    print("|" + "---|" * (2 + len(shown)))
    for _, framework, row in (each for each in wanted if each[0] == dimensions):
        found = errors(cell(dimensions, framework, row))
        print(f"| {framework} | {ROWS[row]} | {' | '.join(show(found.get(column)) for column in shown)} |")
    trained = ", ".join(f"{device} {torch:.2f} / {keras:.2f}" for device, (torch, keras) in PAPER[dimensions].items())
    print(f"paper, PyTorch / TensorFlow, wherever it was evaluated: {trained}")
if not gpu:
    print("\nNo GPU here: its row and its column are left out.")
