"""Metrics that the source does not show are seen in what a program prints and writes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_tool import deviate

pytestmark = pytest.mark.slow

#: Prints by a descriptor, and writes a table; the first is no call that the analysis knows.
HIDDEN = """
import os, random

weight = random.random()
rows = ["epoch;gap"]
for epoch in range(5):
    weight -= 0.3 * (weight - 0.5) + random.gauss(0, 0.01)
    os.write(1, b"epoch %d objective %.5f\\n" % (epoch, weight * weight))
open("curve.json", "w").write('{"final": {"gap": %.6f}}' % abs(weight - 0.5))
"""

#: No Python at all.
SHELL = r"""
awk -v seed=$$ 'BEGIN {
    srand(seed)
    loss = 1
    for (epoch = 0; epoch < 5; epoch++) {
        loss *= 0.5 + rand() / 9
        printf "epoch %d loss %.5f\n", epoch, loss
    }
}'
"""

#: Reports to TensorBoard alone, by a class that the analysis does not follow, and prints one of it rounded.
LOGGED = """
import random, sys, types
# TensorBoard imports TensorFlow for its file system unless it finds this.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")
from tensorboard.summary import Writer

class Board:
    def __init__(self):
        self.writer = Writer("runs")
        self.ways = {"s": self.writer.add_scalar}
    def __getattr__(self, split):
        def put(step, **pairs):
            for key in pairs:
                self.ways["s"](f"{split}/{key}", pairs[key], step)
        return put

board = Board()
weight = random.random()
for epoch in range(5):
    weight -= 0.3 * (weight - 0.5) + random.gauss(0, 0.01)
    getattr(board, "train")(epoch, objective=weight * weight, lr=0.5 ** epoch)
    getattr(board, "val")(epoch, gap=abs(weight - 0.5))
    print("epoch %d %.4f" % (epoch, weight * weight), repr(abs(weight - 0.5)))
# It writes from a thread, and what is left at the end of a program that does not close it may be lost.
board.writer.close()
"""

#: Its iterations are counted, and that is all.
QUIET = """
import random, sys
weight = random.random()
for epoch in range(3):
    loss = (weight - 0.5) ** 2
    weight -= 0.1 * loss
    if len(sys.argv) > 1:
        print("epoch", epoch, "loss", loss)
"""

SILENT = "print('hello')\nfor step in range(3):\n    print('step', step)\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "hidden.py").write_text(HIDDEN)
    (folder / "silent.py").write_text(SILENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert deviate("run", "-n", "3", "--name", "hidden", "--", sys.executable, "hidden.py").status == 0
    return folder


def test_a_program_whose_source_shows_no_metric_is_measured(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    known = deviate("report", "hidden", "--format", "json").json
    metrics = {each["name"]: each for each in known["variants"][0]["metrics"]}
    logs = sorted((project / ".deviate/experiments/hidden/runs").glob("*/stdout.log"))
    last = [float(log.read_text().split()[-1]) for log in logs]
    assert (metrics["objective"]["values"], metrics["objective"]["observed"]) == (last, True)
    # The table is written by a call that the analysis knows.
    assert not metrics["gap"]["observed"]
    (completeness,) = known["reported"]
    assert completeness["differing"] == completeness["measured"] >= 2
    assert completeness["left"] == []


def test_the_report_says_how_much_of_the_output_is_measured(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    said = " ".join(deviate("report", "hidden", "-v").out.split())
    assert re.search(r"Numbers in (\d+) places of the output differed between runs; \1 of them show metrics\.", said)
    assert "Read from output or files: " in said


def test_the_direction_of_an_observed_metric_can_be_said(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert deviate("run", "-n", "3", "--name", "again", "--", sys.executable, "hidden.py", "again").status == 0
    for direction in ("lower", "higher"):
        chosen = ("--set", f"direction=objective={direction}", "--format", "json")
        known = deviate("compare", "hidden", "again", *chosen).json
        assert {each["name_a"]: each["direction"] for each in known["metrics"]}["objective"] == direction


def test_a_program_that_prints_no_metric_is_refused_after_the_first_run(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    done = deviate("run", "-v", "-n", "3", "--name", "silent", "--", sys.executable, "silent.py")
    assert (done.status, "[nothing-recorded]" in done.err) == (1, True)
    assert len(list((project / ".deviate/experiments/silent/runs").iterdir())) == 1


def test_a_training_that_prints_nothing_is_refused_after_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(QUIET)
    done = deviate("run", "-v", "-n", "3", "--name", "quiet", "--", sys.executable, "train.py")
    assert (done.status, "[nothing-recorded]" in done.err) == (1, True)
    assert len(list((tmp_path / ".deviate/experiments/quiet/runs").iterdir())) == 1
    assert list((tmp_path / ".deviate/experiments/quiet/runs").glob("*/records-*.bin")), "its iterations are counted"
    (tmp_path / "evaluate.py").write_text("print('accuracy 0.5')\n")
    then = ("--then", f"{sys.executable} evaluate.py")
    assert deviate("run", "-n", "2", "--name", "later", *then, "--", sys.executable, "train.py").status == 0


def test_a_command_that_starts_no_python_is_measured_by_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.sh").write_text(SHELL)
    done = deviate("run", "-n", "3", "--", "sh", "train.sh")
    assert done.status == 0, done.err
    known = deviate("report", "train", "--format", "json").json
    (metric,) = [each for each in known["variants"][0]["metrics"] if each["observed"]]
    assert (metric["name"], metric["n"], metric["direction"]) == ("loss", 3, "lower")
    assert any("No source was read" in each["message"] for each in known["warnings"])


def test_what_a_program_logs_to_tensorboard_is_measured_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logged.py").write_text(LOGGED)
    assert deviate("run", "-n", "2", "--", sys.executable, "logged.py").status == 0
    known = deviate("report", "logged", "--format", "json").json
    metrics = {each["name"]: each for each in known["variants"][0]["metrics"]}
    logs = sorted((tmp_path / ".deviate/experiments/logged/runs").glob("*/stdout.log"))
    gaps = [float(log.read_text().split()[-1]) for log in logs]
    assert metrics["val/gap"]["observed"]
    assert metrics["val/gap"]["values"] == [float(np.float32(gap)) for gap in gaps]
    (completeness,) = known["reported"]
    assert completeness["differing"] == completeness["measured"]
    assert completeness["left"] == []


def test_an_audit_refuses_a_command_without_one_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.sh").write_text("python a.py\npython b.py\n")
    done = deviate("audit", "-v", "--", "sh", "two.sh")
    assert (done.status, "[no-script]" in done.err) == (2, True)


def test_each_script_of_a_command_has_its_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, word in (("train", "loss"), ("test", "error")):
        report = f"{word} = random.random()\n    print(step, 'loss', {word})\n"
        (tmp_path / f"{name}.py").write_text(f"import random\nfor step in range(3):\n    {report}")
    (tmp_path / "all.sh").write_text(f"{sys.executable} train.py && {sys.executable} test.py\n")
    assert deviate("run", "-n", "2", "--name", "both", "--", "sh", "all.sh").status == 0
    known = deviate("report", "both", "--format", "json").json
    counts = {each["name"]: each["n"] for each in known["variants"][0]["metrics"] if not each["observed"]}
    assert {name: counts.get(name) for name in ("train: loss", "test: loss")} == {"train: loss": 2, "test: loss": 2}
    log = next((tmp_path / ".deviate/experiments/both/runs").glob("*-0/stdout.log")).read_text().split("\n")
    values = {each["name"]: each["values"][0] for each in known["variants"][0]["metrics"]}
    assert values["test: loss"] == float(log[5].split()[2])
