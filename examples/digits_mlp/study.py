# The measures of Pham et al. (ASE 2020) by Deviate's commands: trains, then prints one table in Markdown.
#
#     python study.py                        16 identical runs with fixed seeds, 16 with free ones: 32 trainings
#     python study.py --runs 2 --epochs 2    a try
import argparse
import json
import subprocess
import sys

KINDS = {"impl": "fixed seeds", "algo+impl": "free seeds"}

parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=16)
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--epochs", type=int, default=15)
parser.add_argument("--device", default="cpu", help="where the trainings compute, such as cuda")
parser.add_argument("--vary", nargs="+", choices=KINDS, default=list(KINDS))
parser.add_argument("--converged", type=float, default=94.0, help="test accuracy, in per cent")
parser.add_argument("--weak", type=float, default=80.0, help="runs below this test accuracy are left out")
args = parser.parse_args()
device = ["--device", args.device] if args.device != "cpu" else []


def deviate(*words):
    done = subprocess.run([sys.executable, "-m", "deviate", *words], stdout=subprocess.PIPE, text=True)
    # Status 1 says that some runs failed. The table has how many completed.
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return json.loads(done.stdout)


vary = [word for variant in args.vary for word in ("--vary", variant)]
program = [sys.executable, "train.py", "--epochs", str(args.epochs), *device]
deviate("run", "-n", str(args.runs), "-j", str(args.jobs), *vary, "--name", "identical", "--json", "--", *program)
asked = ["--set", "aggregate=test acc=last", "--set", f"reach=test acc>={args.converged}", "--set", f"weak=test acc<{args.weak}"]
report = deviate("report", "identical", "--format", "json", *asked)

print("\n| runs | n | accuracy (%) | difference | SD | largest difference of a class | first epoch of", end=" ")
print(f"{args.converged:g} % (from 0) | seconds to it | difference of the time of a run |")
print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
for variant in report["variants"]:
    metrics = {metric["name"]: metric for metric in variant["metrics"]}
    accuracy, time = metrics["test acc"], metrics["time per run"]
    last = ("test acc", "last", variant["variant"])
    predicted = next(p for p in report["predictions"] if (p["metric"], p["kept"], p["variant"]) == last)
    classes = predicted["classification"]["correctness"]["classes"]
    widest = max(classes, key=lambda each: each["range"])
    epochs, seconds = (metrics[f"{unit} to test acc>={args.converged:g}"] for unit in ("iterations", "seconds"))
    spans = [f"{m['min']:.3g} to {m['max']:.3g}" if m["n"] else "none" for m in (epochs, seconds)]
    print(
        f"| {KINDS[variant['variant']]} | {accuracy['n']} | {accuracy['mean']:.2f} | {accuracy['range']:.2f} "
        f"| {accuracy['sd']:.2f} | {100 * widest['range']:.1f} (class {widest['name']}) "
        f"| {spans[0]} | {spans[1]} | {100 * time['range'] / time['min']:.0f} % |"
    )
