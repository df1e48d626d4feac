# The whole study by Deviate's commands: trains, then prints one table.
#
#     python study.py               5 runs of each setting, some minutes on two cores
#     python study.py --runs 100    the size of the paper
#     KERAS_BACKEND=tensorflow python study.py --frameworks keras
import argparse
import json
import os
import subprocess
import sys

VARIANTS = {"algo": "seeds", "shuffle": "data orders"}

parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--frameworks", nargs="+", default=["torch", "keras"])
parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 5])
args = parser.parse_args()
# What Keras computes with, as in train_keras.py.
backend = os.environ.get("KERAS_BACKEND", "jax")


def deviate(*words):
    # A run that failed is counted in the table, so status 1 goes on.
    done = subprocess.run([sys.executable, "-m", "deviate", *words], stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def study(framework, dimensions):
    vary = [word for variant in VARIANTS for word in ("--vary", variant)]
    entry, name = f"train_{framework}.py", framework
    if framework == "keras" and backend != "jax":
        name = f"keras-{backend}"
    return deviate(
        "run", "-n", str(args.runs), "-j", str(args.jobs), *vary, "--name", f"{name}-{dimensions}d", "--json",
        "--", sys.executable, entry, "--dimensions", str(dimensions),
    )  # fmt: skip


rows = []
for framework in args.frameworks:
    for dimensions in args.dimensions:
        for variant in study(framework, dimensions)["variants"]:
            error = next(metric for metric in variant["metrics"] if metric["name"].startswith("test error"))
            rows.append((f"{dimensions}-D", framework, VARIANTS[variant["variant"]], error))

print("\ntest error in %")
print(f"{'data':<6}{'framework':<11}{'varied':<13}{'runs':>5}{'min':>8}{'max':>8}{'average':>9}{'SD':>7}   95% CI of SD")
for data, framework, varied, error in rows:
    numbers = f"{error['n']:>5}{error['min']:>8.2f}{error['max']:>8.2f}{error['mean']:>9.2f}{error['sd']:>7.3f}"
    low, high = error["ci_sd"] or (None, None)
    interval = "all equal" if low is None else f"{low:.3f}–{high:.3f}"
    print(f"{data:<6}{framework:<11}{varied:<13}{numbers}   {interval}")
