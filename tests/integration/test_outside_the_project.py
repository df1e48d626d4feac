"""Code outside the project: read, held and varied as the project's own, or named where it could not be read."""

import os
import subprocess
import sys

import pytest
from cli_tool import deviate

LIBRARY = """\
import os
import numpy as np
def series(count):
    rows = []
    for _ in range(count):
        rows.append(np.random.rand(3))
    return np.stack(rows)
HERE = os.path.basename(os.path.dirname(__file__))
"""
SHARED = """\
import numpy as np
def start():
    return 0.1 * np.random.randn(3)
"""
TRAIN = """\
import os, sys
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'shared'))
import numpy as np
from making import series, HERE
from starting import start
rows = series(50)
kernel = start()
for epoch in range(5):
    kernel = kernel - 0.1 * rows.T @ (rows @ kernel - rows.sum(1))
    loss = float(abs(kernel).sum())
    print('loss', loss)
assert HERE == 'lib', HERE
"""
COMMAND = ("--", sys.executable, "train.py")


@pytest.fixture(params=["git", "no git"])
def project(request, tmp_path, monkeypatch):
    files = {"lib/making.py": LIBRARY, "repo/shared/starting.py": SHARED, "repo/train/train.py": TRAIN}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    if request.param == "git":
        subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    monkeypatch.chdir(tmp_path / "repo" / "train")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))
    return tmp_path / "repo" / "train"


def prints(done, variant):
    (found,) = [each for each in done.json["variants"] if each["variant"] == variant]
    return {name: len({run["fingerprints"].get(name) for run in found["runs"]}) for name in ("init", "data", "other")}


def test_what_is_drawn_outside_is_held_and_varied_as_the_project_s_own(project):
    done = deviate("run", "-n", "2", "--vary", "control", "--vary", "data", "--vary", "init", "--json", *COMMAND)
    assert done.status == 0, done.err
    assert prints(done, "control") == {"init": 1, "data": 1, "other": 1}
    assert prints(done, "data") == {"init": 1, "data": 2, "other": 1}
    assert prints(done, "init") == {"init": 2, "data": 1, "other": 1}
    assert "draws-outside" not in done.out


def test_extract_and_run_find_the_same(project):
    shown = deviate("extract", "train.py", "--json").json
    assert deviate("run", "-n", "1", *COMMAND).status == 0
    stored = (project / ".deviate" / "experiments" / "train" / "experiment.json").read_text()
    outside = [os.path.realpath(project.parent.parent / name) for name in ("lib/making.py", "repo/shared/starting.py")]
    assert [os.path.realpath(file) for file in shown["outside"]] == outside
    assert {draw["factor"] for draw in shown["draws"]} == {"init", "data"}
    assert all(f'"{draw["file"]}"' in stored for draw in shown["draws"])


def test_nothing_is_written_outside_the_project_and_an_edit_there_begins_a_new_experiment(project):
    making = project.parent.parent / "lib" / "making.py"
    assert deviate("run", "-n", "1", *COMMAND).status == 0
    assert making.read_text() == LIBRARY
    making.write_text(LIBRARY.replace("rand(3)", "randn(3)"))
    done = deviate("run", "-n", "1", "--json", *COMMAND)
    assert done.json["experiment"] == "train-2"
    assert "other code outside the project" in done.err


def test_code_that_could_not_be_read_is_named(project):
    train = TRAIN.replace(
        "from making import series, HERE",
        "m = __import__(''.join(reversed('gnikam'))); series, HERE = m.series, m.HERE",
    )
    (project / "train.py").write_text(train)
    done = deviate("run", "-n", "1", "--json", *COMMAND)
    assert done.status == 0, done.err
    assert "random numbers can be drawn in" in done.out
    assert "making.py, which lies outside the project" in done.out
    audited = deviate("audit", "--quick", "--json", *COMMAND).json
    assert any("making.py, which lies outside the project" in note for note in audited["notes"])


def test_a_module_of_a_package_that_could_not_be_read_is_named(project):
    package = project.parent.parent / "lib" / "hidden"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "draws.py").write_text("import random\nvalue = random.random()\n")
    train = TRAIN + "import importlib; importlib.import_module('.'.join(['hidden', 'inner', 'draws']))\n"
    (project / "train.py").write_text(train)
    done = deviate("run", "-n", "1", "--json", *COMMAND)
    assert "hidden/inner/draws.py, which lies outside the project" in done.out
    assert "making.py, which lies" not in done.out
