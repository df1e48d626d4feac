"""Programs that a project installs of its functions are read and controlled like scripts."""

from __future__ import annotations

import os
import sys

import pytest
from cli_tool import deviate

import deviate as package

TRAINING = """
import argparse
import numpy as np

def train_main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    rng = np.random.default_rng()
    x = rng.normal(size=(50, 3))
    w, y = np.zeros(3), x @ [1, 2, 3]
    for epoch in range(args.epochs):
        w -= 0.1 * x.T @ (x @ w - y) / 50
        loss = ((x @ w - y) ** 2).mean()
        print("epoch", epoch, "loss", loss)
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A project with a program in a folder of programs, as an editable installation leaves it."""
    project, programs = tmp_path / "kit", tmp_path / "bin"
    (project / "kit").mkdir(parents=True)
    programs.mkdir()
    (project / "kit" / "__init__.py").write_text("")
    (project / "kit" / "cli.py").write_text(TRAINING)
    (project / "pyproject.toml").write_text('[project.scripts]\nkit-train = "kit.cli:train_main"\n')
    program = programs / "kit-train"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.append({str(project)!r})\nfrom kit.cli import train_main\n"
        "if __name__ == '__main__':\n    sys.exit(train_main())\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(project)
    return project


def test_a_program_that_the_project_installs_is_read_and_controlled(installed):
    done = deviate("run", "-n", 2, "--vary", "as-is", "--vary", "control", "--", "kit-train", "--epochs", "4")
    assert done.status == 0, done.err
    assert "No source was read" not in done.out + done.err
    records = package.load("kit").records()
    assert set(records["metric"]) == {"loss"}
    values = {name: list(group["value"]) for name, group in records.groupby(["variant", "run"])}
    assert all(len(each) == 4 for each in values.values())
    assert values["control", 0] == values["control", 1]
    assert values["as-is", 0] != values["as-is", 1]
