# The study of Summers and Dinneen by Deviate's commands: trains, then prints its tables in Markdown.
#
#     python study.py                                             10 runs of each source: 110 trainings
#     python study.py --runs 2 --vary bit --epochs 1 --long 2     a try
import argparse
import glob
import itertools
import json
import subprocess
import sys

import numpy as np
import torch
from safetensors.torch import load_file

from deviate.stats.weights import linear_cka
from network import make_network
from train import load_data

SOURCES = ["init", "shuffle", "augment", "layers", "impl", "platform", "bit", "algo+impl"]

parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=10)
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--epochs", type=int, default=16)
parser.add_argument("--long", type=int, default=120, help="epochs in which one bit has time to grow")
parser.add_argument("--vary", nargs="+", default=SOURCES)
parser.add_argument("--device", default="cpu", help="where the trainings compute, such as cuda")
args = parser.parse_args()
device = ["--device", args.device] if args.device != "cpu" else []


def run(name, variants, epochs, *options):
    vary = [word for variant in variants for word in ("--vary", variant)]
    words = [
        "run", "-n", str(args.runs), "-j", str(args.jobs), *vary, "--name", name, "--predictions", "scores",
        "--weights", "final", "--json", "--", sys.executable, "train.py", "--epochs", str(epochs), *options, *device,
    ]  # fmt: skip
    # Status 1 says that some runs failed. The tables have how many completed.
    if subprocess.run([sys.executable, "-m", "deviate", *words], stdout=subprocess.DEVNULL).returncode not in (0, 1):
        sys.exit(f"{name} was not run")
    words = [sys.executable, "-m", "deviate", "report", name, "--format", "json"]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)


def measures(report, variant, metric="test acc"):
    """SD of accuracy and loss, churn and correlation of correctness, gain of two runs, as the report has them."""
    metrics = next(each for each in report["variants"] if each["variant"] == variant)["metrics"]
    accuracy = next(each for each in metrics if each["name"] == metric)
    loss = next(each for each in metrics if each["name"] == metric.replace("acc", "loss"))
    predicted = next(each for each in report["predictions"] if (each["variant"], each["metric"]) == (variant, metric))
    labels = predicted["classification"]
    right = labels["correctness"]
    return [
        str(accuracy["n"]),
        f"{accuracy['mean']:.2f} ± {accuracy['sd']:.2f}",
        f"{loss['sd']:.2g}",
        f"{100 * labels['churn']['value']:.2f}",
        known(right["correlation"]["value"], "{:.3f}"),
        # Without scores two models can only vote, and where they differ the smaller label would win.
        known(right["ensembles"][0]["gain"] if right["calibration"] else None, "{:.2f}", 100),
    ]


def known(value, form, times=1):
    return "–" if value is None else form.format(times * value)


def representations(name, variant, images):
    """Probabilities and last hidden layer of each run, computed anew from the weights that Deviate kept."""
    network = make_network()
    found = []
    for path in sorted(glob.glob(f".deviate/experiments/{name}/runs/{variant}-*/weights-*.safetensors")):
        network.load_state_dict(load_file(path))
        with torch.no_grad():
            hidden = network.eval()[:-2](images)
            found.append((network[-1](hidden).softmax(1).numpy(), hidden.numpy()))
    return found


def alike(name, report, variant, images):
    """Mean over pairs of runs: correlation of the probabilities, CKA of the last hidden layer, L2 of the weights."""
    pairs = list(itertools.combinations(representations(name, variant, images), 2))
    correlation = np.mean([np.corrcoef(a.ravel(), b.ravel())[0, 1] for (a, _), (b, _) in pairs])
    cka = np.mean([linear_cka(a, b).value for (_, a), (_, b) in pairs])
    weights = next(each for each in report["weights"] if each["variant"] == variant)
    return [f"{correlation:.3f}", f"{cka:.3f}", f"{weights['distance']['value']:.2g}"]


def print_head(title, names):
    print(f"\n| {title} |", " | ".join(names), "|")
    print("|---|" + "---:|" * len(names))


def print_sources(title, name, report, variants):
    print_head(title, [*names, "corr. of probabilities", "CKA", "L2"])
    for variant in variants:
        print(f"| {variant} |", " | ".join(measures(report, variant) + alike(name, report, variant, images)), "|")


names = ["n", "accuracy (%)", "SD of the loss", "disagreement (%)", "corr. of correctness", "gain of two (points)"]
images = torch.cat([batch for batch, _ in load_data(32)[1]])
report = run("sources", args.vary, args.epochs, "--average", "3")
print_sources(f"varies, {args.epochs} epochs", "sources", report, args.vary)

if "bit" in args.vary:
    variants = [variant for variant in ("bit", "algo+impl") if variant in args.vary]
    print_sources(f"varies, {args.long} epochs", "long", run("long", variants, args.long), variants)

if "algo+impl" in args.vary:
    cycles = run("cycles", ["algo+impl"], args.epochs, "--cycles", "4")
    print_head("all sources together", names)
    for title, found, metric in (
        ("one model", report, "test acc"),
        ("weights of the last 3 epochs averaged", report, "averaged acc"),
        ("4 cycles, last model", cycles, "test acc"),
        ("4 cycles, snapshots together", cycles, "ensemble acc"),
    ):
        print(f"| {title} |", " | ".join(measures(found, "algo+impl", metric)), "|")
