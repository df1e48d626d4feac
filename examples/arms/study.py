# The study of Zhuang et al. by Deviate's commands: trains, then prints its tables in Markdown.
#
#     python study.py                                     10 runs of each kind: 160 trainings
#     python study.py --runs 2 --parts faces --epochs 1   a try: 6 trainings
import argparse
import json
import subprocess
import sys

import deviate
from deviate.stats.classes import group_rates
from faces import test_part

ARMS = ["algo+impl", "algo", "impl", "control"]

parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=10)
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--epochs", type=int)
parser.add_argument("--device", default="cpu", help="where the trainings compute, such as cuda")
parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS)
parser.add_argument("--parts", nargs="+", default=["networks", "full-batch", "faces"])
args = parser.parse_args()
device = ["--device", args.device] if args.device != "cpu" else []


def run(name, variants, *program):
    vary = [word for variant in variants for word in ("--vary", variant)]
    epochs = ["--epochs", str(args.epochs)] if args.epochs else []
    words = [
        "run", "-n", str(args.runs), "-j", str(args.jobs), *vary, "--name", name, "--weights", "final", "--json",
        "--", sys.executable, *program, *epochs, *device,
    ]  # fmt: skip
    # Status 1 says that some runs failed. The tables have how many completed.
    if subprocess.run([sys.executable, "-m", "deviate", *words], stdout=subprocess.DEVNULL).returncode not in (0, 1):
        sys.exit(f"{name} was not run")
    words = [sys.executable, "-m", "deviate", "report", name, "--format", "json"]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)


def row(report, variant, metric="test acc"):
    """The measures of one variant: of its metric, its predictions and its weights."""
    metrics = next(each for each in report["variants"] if each["variant"] == variant)["metrics"]
    accuracy = next(each for each in metrics if each["name"] == metric)
    predicted = next(each for each in report["predictions"] if each["variant"] == variant)["classification"]
    weights = next(each for each in report["weights"] if each["variant"] == variant)
    classes = [each["sd"] for each in predicted["correctness"]["classes"]]
    return accuracy, predicted["churn"]["value"], weights, classes


def network_rows(title, report):
    for variant in report["variants"]:
        accuracy, churn, weights, classes = row(report, variant["variant"])
        distance, span = weights["distance"]["value"], f"{100 * min(classes):.2f} to {100 * max(classes):.2f}"
        ratio = f"{100 * max(classes) / accuracy['sd']:.1f}" if accuracy["sd"] else "–"
        print(
            f"| {title} | {variant['variant']} | {accuracy['n']} | {accuracy['mean']:.2f} ± {accuracy['sd']:.2f} "
            f"| {100 * churn:.2f} | {distance:.3f} | {span} | {ratio} |"
        )


def networks():
    variants = [*args.arms, "init", "shuffle"]
    reports = {
        "no": run("plain", variants, "train_cnn.py"),
        "yes": run("batch-norm", variants, "train_cnn.py", "--batch-norm"),
    }
    print("\n| batch norm. | varies | n | accuracy (%) | churn (%) | L2 | SD of classes | largest, of the SD |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for title, report in reports.items():
        network_rows(title, report)


def full_batch():
    report = run("full-batch", ["shuffle"], "train_cnn.py", "--full-batch", "--epochs", "60")
    print("\n| full batch, order alone | n | accuracy (%) | SD of the loss | churn (%) | L2 |")
    print("|---|---:|---:|---:|---:|---:|")
    accuracy, churn, weights, _ = row(report, "shuffle")
    loss = row(report, "shuffle", "test loss")[0]
    print(
        f"| shuffle | {accuracy['n']} | {accuracy['mean']:.2f} ± {accuracy['sd']:.3f} | {loss['sd']:.2g} "
        f"| {100 * churn:.3f} | {weights['distance']['value']:.2g} |"
    )


def faces():
    # The paper's table of groups has no arm in which nothing varies.
    arms = [arm for arm in args.arms if arm != "control"]
    run("faces", arms, "train_faces.py")
    table = deviate.load("faces").predictions()
    _, blond, male, old = test_part()
    print("\n| SD in points (ratio to all) | accuracy | false positive rate | false negative rate |")
    print("|---|---|---|---|")
    rates = {arm: arm_rates(table[table["variant"] == arm], blond, male, old) for arm in arms}
    for group in rates[arms[0]]:
        cells = [" / ".join(rates[arm][group][rate] for arm in arms) for rate in ("accuracy", "fpr", "fnr")]
        print(f"| {group} |", " | ".join(cells), "|")


def arm_rates(table, blond, male, old):
    # The number of an example in the test set is its key, so the attributes need no column of their own.
    labels = table.pivot(index="run", columns="example", values="prediction")
    order = labels.columns.to_numpy(int)
    found = {}
    for names, attribute in ((("female", "male"), male), (("young", "old"), old)):
        measured = group_rates(labels.to_numpy(int), blond[order], attribute[order].astype(int), positive=1)
        found["all"] = cells(measured.overall.rates)
        found.update({names[each.name]: cells(each.rates) for each in measured.subsets})
    return found


def cells(rates):
    return {
        name: f"{100 * rate.sd:.2f}" + (f" ({rate.ratio:.2f})" if rate.ratio is not None else "")
        for name, rate in rates.items()
    }


for part in args.parts:
    {"networks": networks, "full-batch": full_batch, "faces": faces}[part]()
