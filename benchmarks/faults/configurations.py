"""Random configurations through ``deviate run``: a training, a ``deviate.toml`` and options, right and wrong.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/faults/configurations.py [--times N] [--seed N] > configurations.json

A training of plain Python reports some numbers and writes the same numbers into a file of its own. The command must end
with a status of the contract and without a traceback. Each number that Deviate recorded must be the one that the
training wrote, and each number that it saw in print alone the one that was printed. Every fourth command is typed
again: no number may change. The commands run in forks of this process, which has imported the libraries.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from forks import forked, typed, warm
from harness import finish

import deviate as package

#: Share of the commands that have right options only; their trainings and settings may be wrong all the same.
RIGHT = 0.7

#: Where a training writes what it reports.
TRUTH = "DEVIATE_TRUTH"

HEAD = """\
import json, math, os, random, re, sys, time
TRUTH = os.path.join(os.environ["DEVIATE_TRUTH"], re.search("/runs/([^/]+)/", os.getcwd() + "/").group(1))
def wrote(**values):
    with open(TRUTH, "a") as file:
        file.write(json.dumps(values) + "\\n")
{seed}
def step(epoch):
    return {value} / (epoch + 1)
"""

#: What a training does in each epoch, on lines of their own; `tail` ends a run otherwise than well.
EPOCHS = """\
for epoch in {epochs}:
    loss = step(epoch)
    acc = 100 * random.random()
    {report}
    wrote(loss=loss, acc=acc)
    {tail}
"""

SEEDS = ("", "random.seed(0)", "random.seed(int(time.time()))")
VALUES = ("random.random()", "1.0", "1e300 * random.random()", "-random.random()", "random.choice([1.0, math.nan])",
          "random.choice([math.inf, 2.0])", "1e-310 * random.random()")  # fmt: skip
RANGES = ("range(3)", "range(1)", "range(0)", "range(300)", "iter([0, 1, 2])", "[2, 1, 0]")
REPORTS = ('print(f"epoch {epoch} loss {loss:.4f} acc {acc:.2f}")', 'print("loss", loss, "acc", acc)',
           'print("epoch %d: loss=%.3f, acc=%.1f%%" % (epoch, loss, acc))',
           'print(f"\\rloss {loss} acc {acc}", end="")',
           'print(f"loss {loss:.0f} acc {acc:.0f}", file=sys.stderr)',
           'print(f"\\x1b[31mloss {loss:.3e}\\x1b[0m acc {acc}")',
           'print({"loss": loss, "acc": acc})', "pass")  # fmt: skip
TAILS = ("pass", "pass", "pass", "sys.exit(3)", "assert random.random() < 0.7", "os.kill(os.getpid(), 9)",
         'os.remove("gone") if epoch else None', "os._exit(0)", "time.sleep(0.02)")  # fmt: skip

#: Values of each option, right ones and wrong ones.
OPTIONS: dict[str, tuple[tuple[object, ...], tuple[object, ...]]] = {
    "--vary": (("algo+impl", "algo", "impl", "control", "as-is", "init", "shuffle,layers", "other", "data", "platform",
                "bit"), ("arms", "sources", "everything", "", "init,init", "impl,algo")),
    "-j": ((1, 2, 3), (0, -1, "x", 10**30)),
    "--seed": ((0, 1, 2**63), (-1, 10**30, "x")),
    "--name": (("a", "two words", "é", "CON", "=1+1", "$(id)"), ("", "a/b", "..", ".hidden", "-n", "x" * 300, "a\nb")),
    "--set": (
        (
            "include=*.pt", "include=data/**", "exclude=*.pt", "link=data", "link=data/**", "factor=train.py:8=init",
            "entry=train.py", "strict=true", "discard_work=true", "share=none", "stall=30", "memory=8", "timeout=30",
        ),
        (
            "include=[", "include=../x", "include=", "exclude=*", "exclude=train.py", "exclude=\udcff", "link=*",
            "link=../x", "factor=train.py:1=init", "factor=x.py:1=data", "factor=::=", "entry=other.py", "entry=.",
            "strict=maybe", "share=", "stall=-1", "memory=nan", "timeout=0", "nothing=1", "stall", "=",
        ),
    ),
    "--until": (("loss ±10%", "acc sd ±90%"), ("nothing ±1", "loss ±-1", "±", "loss ±1e400")),
    "--project": ((".",), ("..", "data", "gone")),
    "--predictions": (("none", "labels", "scores", "labels:every", "pred.csv"), ("every", "", "labels:2", "../x.csv")),
    "--weights": (("none", "digest", "final", "every:2", "*.pt"), ("every:0", "every:x", "", "../*.pt", "[")),
}  # fmt: skip

FLAGS = ("--json", "--retry-failed", "--edited")

#: How many of these settings are right.
RIGHT_TABLES = 8

#: Entries of the settings, right ones first; which of a metric's values a name stands for is in its last word.
TABLES = (
    'entry = "train.py"', '[main_loop]\nfile = "train.py"\nline = {loop}', "[snapshot]\nexclude = ['data/**']",
    '[[metric]]\nname = "my loss"\nfile = "train.py"\nline = {report}\nexpression = "loss"',
    '[[metric]]\nname = "my acc"\nfile = "train.py"\nline = {report}\nexpression = "acc"\n'
    'aggregate = "best"\ndirection = "higher"',
    '[[metric]]\nname = "mean loss"\nfile = "train.py"\nline = {report}\nexpression = "loss"\naggregate = "mean"',
    '[[metric]]\nname = "</b>\\\\input{{x}} loss"\nfile = "train.py"\nline = {report}\nexpression = "loss"',
    '[[draw]]\nfile = "train.py"\nline = {value}\nfactor = "init"',
    '[[metric]]\nname = ""\nfile = "train.py"\nline = 1\nexpression = "loss"',
    '[[metric]]\nname = "m"\nfile = "train.py"\nline = 100000\nexpression = "loss"',
    '[[metric]]\nname = "m"\nfile = "../../etc/passwd"\nline = 1\nexpression = "loss"',
    '[[metric]]\nname = "m"\nfile = "train.py"\nline = {report}\nexpression = "__import__(\'os\').abort()"',
    '[[metric]]\nname = "m"\nfile = "train.py"\nline = {report}\nexpression = "loss +"',
    '[[metric]]\nname = "m"\nfile = "train.py"\nline = {report}\nexpression = "loss"\naggregate = "at -7"',
    '[main_loop]\nfile = "train.py"\nline = 1', 'entry = "other.py"', "entry = 3", "metric = 3", "draw = []", "x = 1",
    "[snapshot]\ninclude = 'a'", "[snapshot]\nlink = ['train.py']",
    "[[draw]]\nfile = 'train.py'\nline = 1\nfactor = 'init'",
    "[main_loop]", "= =", "a = 1\na = 2", '"\\ud800" = 1',
)  # fmt: skip


def options(rng: random.Random, *, right: bool) -> list[str]:
    """Return random options of ``deviate run``, right ones only where `right`."""
    words = ["-n", rng.choice(["1", "2", "2", "3"] if right else ["1", "2", "2", "0", "-1", "x"])]
    for name, (good, bad) in OPTIONS.items():
        if rng.random() < (0.4 if name == "--vary" else 0.1):
            words += [name, str(rng.choice(good if right else (*good, *bad)))]
            # Few runs are too few for a first look.
            words += (
                ["-n", "5", "--max", str(rng.choice([7, 8] if right else [12, 1, -1]))] if name == "--until" else []
            )
    return words + [flag for flag in FLAGS if rng.random() < 0.15]


def make(project: Path, rng: random.Random) -> None:
    """Write a random training and its settings."""
    (project / "data").mkdir(parents=True)
    (project / "data" / "x.txt").write_text("1")
    report = rng.choice(REPORTS)
    source = HEAD.format(seed=rng.choice(SEEDS), value=rng.choice(VALUES)) + EPOCHS.format(
        epochs=rng.choice(RANGES), report=report, tail=rng.choice(TAILS)
    )
    (project / "train.py").write_text(source)
    if rng.random() < 0.5:
        lines = {
            word: 1 + next(index for index, line in enumerate(source.splitlines()) if text in line)
            for word, text in (("loop", "for epoch"), ("report", report), ("value", "return "))
        }
        tables = rng.sample(TABLES[: rng.choice([RIGHT_TABLES, RIGHT_TABLES, len(TABLES)])], rng.choice([1, 1, 2, 3]))
        # Keys of the top come before the tables.
        tables.sort(key=lambda table: table.startswith("["))
        (project / "deviate.toml").write_text("\n".join(table.format(**lines) for table in tables), "utf-8", "replace")


def case(folder: Path, index: int, seed: int) -> dict[str, Any]:
    """Make and run one configuration."""
    rng = random.Random(f"{seed} {index}")
    project, truth = folder / f"project{index}", folder / f"truth{index}"
    truth.mkdir(parents=True)
    make(project, rng)
    right = rng.random() < RIGHT
    command = [sys.executable if right else rng.choice([sys.executable, sys.executable, "python", "/gone"]), "train.py"]
    words = ["run", *options(rng, right=right), "--", *command]
    ended = typed(project, words, {TRUTH: str(truth)})
    problem = ended["problem"] or wrong(project, truth)
    if not problem and ended["status"] != 2 and not index % 4:
        before = recorded(project)
        again = typed(project, words, {TRUTH: str(truth)})
        problem = again["problem"] and f"typed again: {again['problem']}"
        after = recorded(project)
        lost = [key for key, values in before.items() if key[-1] and not same(after.get(key, []), values)]
        problem = problem or (f"LOST when typed again: {lost}" if lost else "")
    row = {"group": "configurations", "name": f"{index}: {shlex.join(words)}", **ended, "problem": problem}
    if problem:
        print(row, file=sys.stderr, flush=True)
    return row


#: Experiment, run, metric, whether it was seen in print alone, whether the run completed.
Key = tuple[str, str, str, bool, bool]


def recorded(project: Path) -> dict[Key, list[float]]:
    """Return the values of each metric in each run, read in a process of its own."""
    ended = forked(lambda: print(json.dumps([[*key, values] for key, values in read(project).items()])), project, {})
    if ended.status:
        raise RuntimeError(ended.errors)
    return {tuple(key): values for *key, values in json.loads(ended.printed)}  # type: ignore[misc]


def read(project: Path) -> dict[Key, list[float]]:
    """Read what is recorded."""
    found: dict[Key, list[float]] = {}
    for place in (project, project.parent, project / "data"):
        if not (place / ".deviate").is_dir():
            continue
        for name in package.names(place):
            stored = package.load(name, project=place)
            sourced = {metric.name for metric in stored.folder.read_experiment().metrics}
            complete = {run.run.folder for run in stored.folder.completed_runs()}
            table = stored.records(include_failed=True)
            for (variant, run, metric), rows in table.groupby(["variant", "run", "metric"], sort=False):
                folder = f"{variant}-{run}"
                found[name, folder, metric, metric not in sourced, folder in complete] = rows["value"].tolist()
    return found


def wrong(project: Path, truth: Path) -> str:
    """Say which recorded numbers are not those that the training wrote, or printed where they were seen in print."""
    source = (project / "train.py").read_text()
    for (experiment, run, metric, observed, complete), values in recorded(project).items():
        word = metric.split()[-1]
        if word not in ("loss", "acc"):
            continue
        if not (truth / run).exists():
            return f"WRONG NUMBER: {metric} of {run}, which wrote none: {values[:5]}"
        written = [json.loads(line)[word] for line in (truth / run).read_text().splitlines()]
        written = printed(source, word, written) if observed else written
        # A run that was ended reported its last value before it could write it.
        expected = written if complete else written[: len(values)]
        ends = len(values) - len(written) in ((0,) if complete else (0, 1))
        if not ends or not same(values[: len(expected)], expected):
            return f"WRONG NUMBER: {experiment} {run} {metric}: {values[:5]}, written {written[:5]}"
    return ""


def printed(source: str, word: str, written: list[float]) -> list[float]:
    """Return numbers as the report of a training prints them; of a line that is overwritten, the last stays."""
    form = re.search(rf"{{{word}:([^}}]*)}}|{word}=%([^%,\"]*)", source)
    shown = [float(format(number, form[1] or form[2])) for number in written] if form else written
    return shown[-1:] if "\\r" in source else shown


def same(values: list[float], others: list[float]) -> bool:
    """Tell whether two lists of numbers are equal, NaN included."""
    pairs = zip(values, others, strict=False)
    return len(values) == len(others) and all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in pairs)


def main() -> None:
    """Run the configurations, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first configuration")
    given = parser.parse_args()
    warm()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            case(Path(folder) / str(index), index, given.seed)
            for index in range(given.first, given.first + given.times)
        ]
    finish(rows, **vars(given))


if __name__ == "__main__":
    main()
