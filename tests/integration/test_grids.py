"""``deviate run`` without a command: the experiments that ``deviate.toml`` lists."""

import json
import sys

import pytest
from cli_tool import deviate

TRAIN = """\
import os, random, sys

rate, width = float(sys.argv[1]), int(sys.argv[2])
weight = random.gauss(0, 1)
for epoch in range(3):
    weight += rate * (3 - weight)
    accuracy = 50 + width - abs(weight - 3)
    print(f"train loss {(weight - 3) ** 2:.6f} test accuracy {accuracy:.4f} mode {os.environ['MODE']}")
if rate > 1:
    raise ValueError("diverged")
open("model.txt", "w").write(str(weight))
"""

EVALUATE = """\
import os, sys

print(f"kept accuracy {float(open('model.txt').read()) + int(sys.argv[1]) + int(os.environ['MODE']):.4f}")
"""

FILE = f"""\
[[experiment]]
name = "digits"
command = "{sys.executable} train.py {{lr}} {{width}}"
n = 3
vary = ["algo"]
environment = {{ MODE = "{{width}}" }}

[experiment.grid]
lr = [0.5, 0.1]
width = [4, 8]

[[experiment.evaluate]]
command = "{sys.executable} evaluate.py {{width}}"
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "evaluate.py").write_text(EVALUATE)
    (tmp_path / "deviate.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def cells(*words):
    done = deviate("run", "--json", *words)
    return done, {cell["experiment"]: cell for cell in done.json["cells"]}


def test_runs_of_several_cells_go_on_side_by_side(project):
    (project / "train.py").write_text(f"import time\ntime.sleep(0.6)\n{TRAIN}")
    done, made = cells("-j", "2")
    assert done.status == 0, done.err
    assert {cell["completed"] for cell in made.values()} == {3}
    runs = [
        (info["started"], info["slot"], path.parts[-4])
        for path in (project / ".deviate/experiments").glob("*/runs/*/run.json")
        if (info := json.loads(path.read_text()))
    ]
    # The first run of a cell is alone in it until it has recorded a value.
    (_, slot, cell), (_, other_slot, other_cell), *_ = sorted(runs)
    assert (slot, other_slot) == (0, 1)
    assert cell != other_cell


def test_what_is_missing_is_made_and_nothing_else(project):
    done, made = cells()
    assert done.status == 0, done.err
    assert list(made) == [f"digits@lr={lr},width={width}" for lr in (0.5, 0.1) for width in (4, 8)]
    assert {(cell["state"], cell["trained"], cell["completed"]) for cell in made.values()} == {("made", 3, 3)}
    assert made["digits@lr=0.1,width=8"]["settings"] == {"lr": 0.1, "width": 8}

    again = deviate("run")
    assert again.status == 0
    assert "Nothing was trained: all that deviate.toml asks for is done." in again.out
    assert "run 0 " not in again.err
    # The map of what was made says no verdict, and is no look at the cells.
    assert "mean ± SD, 3 runs" in again.out
    assert sum(line.startswith("lr 0.") for line in again.out.splitlines()) == 2
    assert not (project / ".deviate" / "looks").exists()

    (project / "deviate.toml").write_text(FILE.replace("[4, 8]", "[4, 8, 16]").replace("n = 3", "n = 4"))
    _, grown = cells()
    assert {name: cell["trained"] for name, cell in grown.items()} == {
        f"digits@lr={lr},width={width}": 4 if width == 16 else 1 for lr in (0.5, 0.1) for width in (4, 8, 16)
    }


def test_settings_reach_training_and_evaluation(project):
    assert deviate("run", "--name", "digits@lr=0.5,width=8", "-n", "2").status == 0
    document = deviate("report", "digits@lr=0.5,width=8", "--format", "json").json
    assert document["command"][:2] == ["env", "MODE=8"]
    (variant,) = document["variants"]
    values = {metric["name"]: metric["values"] for metric in variant["metrics"]}
    assert all(57 < value < 58 for value in values["test accuracy"])
    (kept,) = (values[name] for name in values if "kept" in name)
    assert all(15 < value < 20 for value in kept)


def test_what_is_typed_replaces_what_the_file_says(project):
    _, made = cells("--name", "digits@lr=0.5,width=4", "-n", "2")
    assert {name: cell["planned"] for name, cell in made.items()} == {"digits@lr=0.5,width=4": 2}


def test_fewer_runs_than_before_are_all_that_is_asked_for(project):
    words = ("--name", "digits@lr=0.5,width=4")
    assert cells(*words)[0].status == 0
    done, made = cells(*words, "-n", "2")
    (cell,) = made.values()
    assert (done.status, cell["state"], cell["completed"], cell["planned"]) == (0, "done", 2, 2)


def test_a_cell_that_fails_keeps_no_other_from_being_made(project):
    (project / "deviate.toml").write_text(FILE.replace("[0.5, 0.1]", "[2.0, 0.5]").replace("[4, 8]", "[4]"))
    done, made = cells()
    assert done.status == 1
    assert {name: (cell["state"], cell["completed"]) for name, cell in made.items()} == {
        "digits@lr=2.0,width=4": ("failed", 0), "digits@lr=0.5,width=4": ("made", 3),
    }  # fmt: skip
    assert "failed alike" in made["digits@lr=2.0,width=4"]["problem"]


def test_an_edited_source_is_said_with_what_to_do(project):
    words = ("--name", "digits@lr=0.5,width=4", "-n", "2")
    assert cells(*words)[0].status == 0
    (project / "train.py").write_text(TRAIN.replace("= 50 +", "= 51 +"))
    done, made = cells(*words)
    (cell,) = made.values()
    assert (done.status, cell["state"], cell["trained"]) == (1, "failed", 0)
    assert "another source" in cell["problem"]
    assert "deviate.toml" in cell["hint"]


def test_a_mistake_in_the_file_is_found_before_anything_is_made(project):
    (project / "deviate.toml").write_text(FILE.replace("n = 3", "n = 0"))
    done = deviate("run")
    assert done.status == 2
    assert "-n must be at least 1" in done.err
    assert not (project / ".deviate").exists()


def test_a_script_is_printed_of_one_cell_and_not_of_several(project):
    done = deviate("run", "-v", "--executor", "slurm", "--print")
    assert (done.status, "[bad-option]" in done.err, "--name digits@lr=0.5,width=4" in done.err) == (2, True, True)
    assert not (project / ".deviate").exists()
    one = deviate("run", "--name", "digits@lr=0.5,width=4", "--executor", "slurm", "--print")
    assert (one.status, one.out.startswith("#!/bin/bash\n# Made by deviate, for 3 runs of digits@lr")) == (0, True)
    assert "#SBATCH --job-name=deviate-digits-lr-0-5-width-4-" in one.out
