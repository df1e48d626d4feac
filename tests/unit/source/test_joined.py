"""What several scripts of one command report and draw, joined."""

from __future__ import annotations

from pathlib import Path

from analysed_projects import looped, write

from deviate.core.experiment import further_loops
from deviate.source.analysis import analyse_project, join_findings
from deviate.source.overlay import instrument_project

EVALUATION = """
import torch
from shared import accuracy_of
def main():
    model = torch.load("model.pt")
    for loss in (model(torch.randn(3)).mean() for _ in range(4)):
        print("loss", loss.item())
    print("accuracy", accuracy_of(model))
main()
"""

SHARED = """
import torch
def accuracy_of(model):
    correct = (model(torch.randn(8, 2)).argmax(1) == torch.ones(8)).float()
    print("share", correct.mean().item())
    return correct.mean().item()
"""


def joined(folder: Path, *order: str):
    training = looped("print('loss', loss.item())\naccuracy_of(model)", "from shared import accuracy_of")
    write(folder, train=training, test=EVALUATION, shared=SHARED)
    return join_findings([analyse_project(folder, Path(name)) for name in order])


def test_the_script_that_trains_leads_wherever_it_stands(tmp_path):
    found = joined(tmp_path, "test.py", "train.py")
    assert found.entry == "train.py"
    assert found.main_loop is not None
    assert found.main_loop.file == "train.py"
    assert [script.entry for script in found.scripts] == ["test.py", "train.py"]


def test_names_that_two_scripts_give_are_told_apart_and_a_shared_report_is_one_metric(tmp_path):
    found = joined(tmp_path, "train.py", "test.py")
    names = sorted(metric.name for metric in found.metrics if metric.selected)
    assert names == ["share", "test: loss", "train: loss"]
    assert found.files.count("shared.py") == 1


def test_a_single_script_is_left_as_it_is(tmp_path):
    assert joined(tmp_path, "train.py").scripts == []


def test_the_loop_of_each_script_counts(tmp_path):
    text = "for step in range(3):\n    loss = compute()\n    print(step, 'loss', loss)\n"
    write(tmp_path, train=looped("print('loss', loss.item())"), other=f"from library import compute\n{text}")
    found = join_findings([analyse_project(tmp_path, Path(name)) for name in ("train.py", "other.py")])
    loops = further_loops(found.main_loop, found.scripts)
    edited = instrument_project(tmp_path, [], found.main_loop, further_loops=loops)
    assert {file for file, result in edited.items() if "__dv_loop__(" in result.text} == {"train.py", "other.py"}


def test_a_loop_in_a_file_that_another_script_reads_too_does_not_count(tmp_path):
    engine = "def show(compute):\n    for step in range(3):\n        print(step, 'loss', compute())\n"
    training = looped("show(model)", "from engine import show")
    write(tmp_path, train=training, other="from engine import show\nfrom library import compute\nshow(compute)\n",
          engine=engine)  # fmt: skip
    found = join_findings([analyse_project(tmp_path, Path(name)) for name in ("train.py", "other.py")])
    assert [script.main_loop is None for script in found.scripts] == [False, True]
