"""Lines that say how to reproduce an experiment: pasted into a shell, they make the same runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_tool import deviate

pytestmark = pytest.mark.slow

TRAIN = """
import random, sys
import helper
acc = 90.0
for epoch in range(3):
    acc += helper.SIZE * random.random()
    print(f"val acc {acc:.6f}")
"""

EXPERIMENTS = {
    "plain": (["-n", "2"], ["python", "train.py"]),
    "variants and a seed": (["-n", "2", "--vary", "algo", "--vary", "control", "--seed", "7"], ["python", "train.py"]),
    "an entry behind a shell script": (["-n", "2", "--set", "entry=train.py"], ["sh", "go.sh"]),
    "two side by side, files left out": (
        ["-n", "2", "-j", "2", "--set", "exclude=*.log"],
        ["python", "train.py", "two words"],
    ),
    "a draw's factor by hand": (["-n", "2", "--set", "factor=train.py:6=shuffle"], ["python", "train.py"]),
    "until it is known": (["-n", "5", "--until", "val acc ±50", "--max", "9"], ["python", "train.py"]),
    "strict, with a timeout": (["-n", "2", "--set", "strict=true", "--set", "timeout=90"], ["python", "train.py"]),
}


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "train"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "helper.py").write_text("SIZE = 0.5\n")
    (folder / "train.py").write_text(TRAIN)
    (folder / "go.sh").write_text("python train.py\n")
    (folder / "old.log").write_text("x")
    return folder


def report():
    done = deviate("report", "train", "--format", "json")
    assert done.status == 0, done.err
    return done.json


def values(found):
    return {
        (variant["variant"], metric["name"]): metric["values"]
        for variant in found["variants"]
        for metric in variant["metrics"]
        if not metric["name"].startswith("time per")
    }


#: A ``deviate`` that notes its words, and the variables that the line sets for it.
NOTED = """#!/bin/sh
printf '%s\\0' "$PYTHONPATH" "$OMP_NUM_THREADS" "$@" > "$NOTED"
"""


def typed(line, tmp_path, monkeypatch):
    """Have a shell read a line; run here what it starts."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "deviate").write_text(NOTED)
    (tmp_path / "bin" / "deviate").chmod(0o755)
    variables = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "NOTED": str(tmp_path / "noted")}
    subprocess.run(line, shell=True, check=True, env={**os.environ, **variables})
    found, threads, *words = (tmp_path / "noted").read_text().split("\0")[:-1]
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", found)
        patch.setenv("OMP_NUM_THREADS", threads)
        again = deviate(*words)
    assert again.status == 0, again.err


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_line_makes_the_same_runs(project, tmp_path, monkeypatch, name):
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    options, command = EXPERIMENTS[name]
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", "lib")
        made = deviate("run", *options, "--", *command)
    assert made.status == 0, made.err
    before = report()
    shutil.rmtree(project / ".deviate")
    (project / "report.md").unlink(missing_ok=True)
    typed(before["reproduce"]["command"], tmp_path, monkeypatch)
    after = report()
    assert values(after) == values(before)
    assert after["reproduce"]["command"] == before["reproduce"]["command"]
