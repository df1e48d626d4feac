# The case study of DEVIATE (ASE 2021) by Deviate's commands: trains, then prints two tables in Markdown.
#
#     python study.py                                           2 networks x 2 attacks, 8 runs of each kind: 96 trainings
#     python study.py --attacks fgsm --kinds impl algo+impl     the rows beside Table I of the paper: 32 trainings
#     python study.py --runs 3 --networks mlp --epochs 2        a try
import argparse
import json
import subprocess
import sys

KINDS = {"impl": "fixed-seed", "platform": "fixed-seed, other machines", "algo+impl": "free"}
ACCURACIES = ["training nat accuracy", "training adv accuracy", "eval nat accuracy", "eval adv accuracy"]
# What was trained against one step is tested against several, too, as in the paper.
STRONGER = "eval other adv accuracy"

parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=8)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--device", default="cpu", help="where the trainings compute, such as cuda")
parser.add_argument("--networks", nargs="+", default=["mlp", "cnn"])
parser.add_argument("--attacks", nargs="+", default=["fgsm", "pgd"])
parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
args = parser.parse_args()


def deviate(*words):
    # Status 1 says that some runs failed. The tables have how many completed.
    done = subprocess.run([sys.executable, "-m", "deviate", *words], stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def train(network, attack):
    vary = [word for variant in args.kinds for word in ("--vary", variant)]
    program = ["train_adversarial.py", "--network", network, "--attack", attack, "--epochs", str(args.epochs)]
    program += ["--device", args.device] if args.device != "cpu" else []
    program += ["--test-attack", "pgd"] if attack == "fgsm" else []
    deviate(
        "run", "-n", str(args.runs), "-j", str(args.jobs), *vary, "--name", f"{network}-{attack}", "--json",
        "--", sys.executable, *program,
    )  # fmt: skip
    return f"{network}-{attack}"


def wins(metric):
    """Say in how many of all pairs of single runs the first is ahead, and in how many they are equal."""
    pairs = [a - b for a in metric["values_a"] for b in metric["values_b"]]
    return f"{sum(pair > 0 for pair in pairs)} of {len(pairs)}, equal in {pairs.count(0)}"


# The accuracy of the network that comes out of the training, not the best one it had on the way.
last = [word for accuracy in ACCURACIES for word in ("--set", f"aggregate={accuracy}=last")]
names = [train(network, attack) for network in args.networks for attack in args.attacks]

print("| trained | runs | n |", " | ".join([*ACCURACIES, "eval adv accuracy, PGD"]), "|")
print("|---|---|---|" + "---|" * (len(ACCURACIES) + 1))
for name in names:
    for variant in deviate("report", name, "--format", "json", *last)["variants"]:
        found = {metric["name"]: metric for metric in variant["metrics"]}
        under_pgd = STRONGER if STRONGER in found else "eval adv accuracy"
        cells = [found[accuracy] for accuracy in [*ACCURACIES, under_pgd]]
        numbers = " | ".join(" / ".join(f"{m[key]:.2f}" if m[key] else "0" for key in ("range", "sd", "mean")) for m in cells)
        print(f"| {name} | {KINDS[variant['variant']]} | {cells[0]['n']} | {numbers} |")

if len(names) > 1 and "algo+impl" in args.kinds:
    asked = ["--metric", "eval nat accuracy", "--metric", "eval adv accuracy", *last[-4:]]
    compared = deviate("compare", *(f"{name}:algo+impl" for name in names), *asked, "--json")
    print("\n| free runs | accuracy | difference of the means | 95 % CI | p (Holm) | SD ratio | verdict |", end="")
    print(" Mann-Whitney p | Cohen's d | pairs of single runs in which the first is ahead |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for pair in compared.get("pairs") or [compared]:
        a, b = (pair[side].removesuffix(":algo+impl") for side in "ab")
        for m in pair["metrics"]:
            low, high = m["ci_difference"]
            verdict = {"a better": f"{a} better", "b better": f"{b} better"}.get(m["verdict"], m["verdict"])
            print(
                f"| {a} − {b} | {m['name_a'].removesuffix(' accuracy')} | {m['difference']:.2f} | {low:.2f} to {high:.2f} "
                f"| {m['p_adjusted']:.2g} | {m['sd_a'] / m['sd_b']:.1f} | {verdict} "
                f"| {m['tests']['mann_whitney_u']['p']:.2g} | {m['effects']['cohen_d']:.1f} | {wins(m)} |"
            )
