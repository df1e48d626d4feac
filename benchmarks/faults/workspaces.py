"""Three projects that together have every kind of file that Deviate stores."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import hostile
from harness import deviate

from deviate.core.experiment import Run
from deviate.runs.lease import acquire
from deviate.store.folders import Workspace

#: Reports in every way: from the source, in print alone, in a table of its own, on both streams; predicts, and saves.
TRAIN = """\
import csv, sys
import numpy, torch
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(48, 6, generator=torch.Generator().manual_seed(0))
y = (x[:, 0] + x[:, 1] > 0).long()
train = DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8, shuffle=True)
test = DataLoader(TensorDataset(x[32:], y[32:]), batch_size=16)
model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Dropout(0.3), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
history = open("history.csv", "w")
print("epoch,norm", file=history)
answers = {}
for epoch in range(3):
    model.train()
    for a, b in train:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(a), b)
        loss.backward()
        optimizer.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for a, b in test:
            answers[epoch] = model(a).argmax(1)
            correct += (answers[epoch] == b).sum().item()
    acc = 100 * correct / 16
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.2f}")
    seen = {"largest weight": model[0].weight.abs().max().item()}
    sys.stdout.write("".join(f"{name} {value}\\n" for name, value in seen.items()))
    sys.stderr.write("".join(f"mean {name} {value / 2}\\n" for name, value in seen.items()))
    history.write("%d,%s\\n" % (epoch, str(model[2].weight.norm().item())))
torch.save(model.state_dict(), "last.pt")
numpy.savez("last.npz", **{name: value.numpy() for name, value in model.state_dict().items()})
numpy.savez("answers.npz", index=range(16), prediction=answers[2].numpy(), target=y[32:].numpy())
with open("answers.csv", "w") as file:
    rows = zip(range(16), answers[2].tolist(), y[32:].tolist())
    csv.writer(file).writerows([("index", "prediction", "target"), *rows])
"""

#: Logs with every tracker whose files are read, and writes text files of every kind but a table.
TRACKED = """\
import json, random
from pathlib import Path
from formats import database, event_file, wandb_file

weight, losses = 0.0, []
for epoch in range(4):
    weight += random.gauss(0, 1)
    losses.append(weight ** 2)
    print(f"train loss {losses[-1]:.6f}")
for folder in ("board", "online", "mlruns/1/u1/metrics"):
    Path(folder).mkdir(parents=True)
Path("board/events.out.tfevents.1").write_bytes(event_file([value / 2 for value in losses]))
Path("online/run-a.wandb").write_bytes(wandb_file([value / 4 for value in losses]))
Path("mlruns/1/u1/meta.yaml").write_text("run_name: owl")
lines = [f"{1_700_000_000_000 + step} {value / 8!r} {step}\\n" for step, value in enumerate(losses)]
Path("mlruns/1/u1/metrics/score").write_text("".join(lines))
database(Path("mlflow.db"), repr(losses[-1] / 16))
Path("model.json").write_text(json.dumps({"kept weight": weight}))
Path("history.jsonl").write_text("".join(json.dumps({"squared weight": value}) + "\\n" for value in losses))
Path("notes.txt").write_text("".join(f"doubled weight {2 * value!r}\\n" for value in losses))
"""

#: Reports from the source, in print alone on both streams, and in a table.
EVALUATE = """\
import json, random, sys

weight = json.load(open("model.json"))["kept weight"]
error = weight + random.gauss(0, 0.01)
print(f"kept error {error:.6f}")
sys.stdout.write("".join(f"{name} {value}\\n" for name, value in {"bias distance": error + 7}.items()))
sys.stderr.write("".join(f"{name} {value}\\n" for name, value in {"mean distance": error + 9}.items()))
with open("scores.csv", "w") as table:
    table.write("".join(f"{word}\\n" for word in ["recall", str(error + 11)]))
"""

CONFIGURATION = f"""\
[setup]
command = "{sys.executable} around.py"

[cleanup]
command = "{sys.executable} around.py"

[[evaluate]]
command = "{sys.executable} evaluate.py"
repeat = 2
"""

#: Reports a number that depends on a setting.
SETTING = """\
import random, sys

for epoch in range(3):
    loss = random.random() * float(sys.argv[1])
    print(f"epoch {epoch} loss {loss:.4f}")
"""

GRID = f"""\
[[experiment]]
name = "listed"
command = "{sys.executable} train.py {{lr}}"
n = 2
vary = ["other"]

[experiment.grid]
lr = [0.1, 0.2]
"""

#: A cell of the grid, and the archive of it.
CELL, ARCHIVE = "listed@lr=0.1", "cell.tar.gz"

#: The experiment that was handed to a cluster, and the run of it that a worker makes.
HANDED, HELD = "handed", Run(variant="other", index=1)

#: What `deviate.store.folders` names, and the runtime writes, of a run and of what is done beside it.
OF_A_RUN = (
    "run.json", "runtime.json", "ended.json", "outcome.json", "events-*.jsonl", "records-*.bin", "stdout.log",
    "stderr.log", "records.parquet", "records.parquet.json", "reported.parquet", "reported.parquet.json",
    "written/*.csv",
)  # fmt: skip

#: Every kind of file that a workspace can hold; "written/" has a text file of each reader, and a file of each tracker.
EVERY = (
    "lock", ".gitignore", "written", "looks/*.json", "experiments/*/experiment.json", "experiments/*/snapshot.json",
    "experiments/*/snapshot/*", "experiments/*/report.md", "experiments/*/steps/*/*.py",
    *(f"experiments/*/runs/*/{name}" for name in OF_A_RUN),
    *(f"experiments/*/runs/*/steps/*/{name}" for name in OF_A_RUN),
    *(f"experiments/*/runs/*/predictions-{name}" for name in ("*-last-*.bin", "*-best-*.bin", "*-every-*.bin",
                                                              "answers.csv", "answers.npz")),
    *(f"experiments/*/runs/*/weights-{name}" for name in ("*.safetensors", "*-after*.safetensors", "checkpoint-*.pt",
                                                          "checkpoint-*.npz")),
    *(f"experiments/*/runs/*/written/{name}" for name in ("*.json", "*.jsonl", "*.txt", "board/*", "online/*.wandb",
                                                          "mlflow.db", "mlruns/1/u1/meta.yaml",
                                                          "mlruns/1/u1/metrics/*")),
    "experiments/*/runs/*/work/*/train.py", "experiments/*/submissions/*/order.json",
    "experiments/*/runs/*/worker/job.json", "experiments/*/runs/*/worker/lease-*.json",
)  # fmt: skip

#: What is typed in each project; ``{{python}}`` is the interpreter.
PLAIN = (
    "run -n 2 --name every --weights every:1 --predictions scores:every -- {python} train.py",
    "run -n 2 --name files --weights '*.pt' --predictions answers.csv -- {python} train.py",
    "run -n 2 --name arrays --weights 'last.npz' --predictions answers.npz -- {python} train.py",
    "import table.csv --name a",
    "import table.csv --name b",
    "compare a b",
    "check a --against b --max-drop acc=0.1",
    "report a -o a.html",
)
JOINED = ("run -n 2 --name joined --vary other --vary control -- {python} train.py",)
LISTED = (
    "run",
    f"run -n 2 --name {HANDED} --vary other --executor slurm --print -- {{python}} train.py 0.3",
    f"export {CELL} -o {ARCHIVE}",
)

#: Names of the projects.
PROJECTS = ("plain", "joined", "listed")


def make_workspaces(base: Path) -> list[Path]:
    """Make the projects with their workspaces in `base`; return their folders."""
    plain, joined, listed = projects = [base / name for name in PROJECTS]
    plain.mkdir()
    (plain / "train.py").write_text(TRAIN)
    (plain / "table.csv").write_text("seed,acc\n" + "".join(f"{seed},{0.9 + seed / 100}\n" for seed in range(6)))
    joined.mkdir()
    (joined / "train.py").write_text(TRACKED)
    (joined / "evaluate.py").write_text(EVALUATE)
    (joined / "around.py").write_text("import sys\nprint('around')\nprint('beside', file=sys.stderr)\n")
    (joined / "formats.py").write_text(formats())
    (joined / "deviate.toml").write_text(CONFIGURATION)
    listed.mkdir()
    (listed / "train.py").write_text(SETTING)
    (listed / "deviate.toml").write_text(GRID)
    for project, lines in ((plain, PLAIN), (joined, JOINED), (listed, LISTED)):
        for line in lines:
            ended = deviate(project, line.format(python=shlex.quote(sys.executable)))
            if ended["problem"] or ended["status"]:
                sys.exit(f"{line}: {ended}")
    return projects


def hold_run(listed: Path) -> None:
    """Have this process make a run that was handed over, as far as others can see."""
    run = Workspace(listed).experiment(HANDED).run(HELD)
    for path in run.worker.glob("lease-*"):
        path.unlink()
    acquire(run)


def require_every(projects: Sequence[Path]) -> None:
    """End the benchmark where a kind of file is not there, or where no run shares the training of another one."""
    lacking = [each for each in EVERY if not any(any((project / ".deviate").glob(each)) for project in projects)]
    runs = projects[1].glob(".deviate/experiments/*/runs/*/run.json")
    if lacking or not any(json.loads(path.read_text())["same_as"] for path in runs):
        sys.exit(f"not in the workspaces: {lacking}, or no shared run")


def formats() -> str:
    """Return the source of what writes files of trackers."""
    parts = (hostile.event_file, hostile.masked, hostile.wandb_file, hostile.field, hostile.varint, hostile.database)
    heads = "from __future__ import annotations\n\nimport sqlite3, struct, zlib\n\n\n"
    return heads + "\n\n".join(inspect.getsource(part) for part in parts)
