"""Several ``deviate run`` in one project at the same time, as from several terminals, also where some are killed."""

import os
import random
import sys
import time

import forked_tool
import pytest
from cli_tool import TRAIN, deviate

from deviate.runs.snapshot.manifest import read_written
from deviate.store.folders import Workspace
from deviate.store.looks import ComparedSide, read_looks

#: Set DEVIATE_REPEATS to look for rare orders of events.
REPEATS = int(os.environ.get("DEVIATE_REPEATS", "1"))


@pytest.fixture(params=range(REPEATS))
def project(tmp_path, monkeypatch, request):
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    random.seed(request.param)
    return tmp_path


@pytest.fixture
def start():
    started = []

    def tool(*words):
        started.append(forked_tool.start(*words))
        return started[-1]

    yield tool
    for process in started:
        process.kill()
        process.communicate()


def run_words(epochs, runs=2):
    return ("run", "-n", runs, "--vary", "algo", "--", sys.executable, "train.py", epochs)


def ends(*tools):
    """Wait for tools; return the exit status of each, with what it said."""
    said = [tool.communicate(timeout=120) for tool in tools]
    return [(tool.returncode, err) for tool, (_, err) in zip(tools, said, strict=True)]


def values(project):
    """Return what each experiment trained, by the number of its epochs: values of its runs, metric by metric."""
    found = {}
    for name in Workspace(project).names():
        document = deviate("report", name, "--format", "json").json
        (variant,) = document["variants"]
        assert {run["status"] for run in variant["runs"]} == {"completed"}
        measured = (metric for metric in variant["metrics"] if metric["kind"] != "speed")
        epochs = document["command"][-1]
        assert epochs not in found
        found[epochs] = {metric["name"]: metric["values"] for metric in measured}
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Return the values of the same runs, made one after another."""
    project = tmp_path_factory.mktemp("alone") / "train"
    project.mkdir()
    (project / "train.py").write_text(TRAIN)
    before = os.getcwd()
    os.chdir(project)
    try:
        for epochs in (3, 4):
            assert deviate(*run_words(epochs)).status == 0
        return values(project)
    finally:
        os.chdir(before)


def test_two_experiments_run_at_once(project, start, alone):
    statuses = ends(start(*run_words(3)), start(*run_words(4)))
    assert [status for status, _ in statuses] == [0, 0], statuses
    assert values(project) == alone


def test_one_experiment_is_run_by_one(project, start):
    first = start(*run_words(3, runs=500))
    while not (project / ".deviate/experiments/train/experiment.json").exists():
        time.sleep(0.01)
    ((status, said),) = ends(start(*run_words(3, runs=500)))
    assert status == 2
    assert f"another deviate works on experiment 'train': process {first.pid}" in said


def test_a_killed_one_disturbs_no_other(project, start, alone):
    killed, other = start(*run_words(3)), start(*run_words(4))
    time.sleep(random.uniform(0.0, 2.0))
    killed.kill()
    assert ends(other)[0][0] == 0
    statuses = ends(start(*run_words(3)), start(*run_words(4)))
    assert [status for status, _ in statuses] == [0, 0], statuses
    assert values(project) == alone


def test_what_experiments_share_loses_nothing(project, start):
    for epochs in (3, 4):
        assert deviate(*run_words(epochs, runs=5)).status == 0
    files = [f"comparison-{number}.md" for number in range(4)]
    statuses = ends(*(start("compare", "train", "train-2", "-o", file) for file in files))
    assert [status for status, _ in statuses] == [0] * 4, statuses
    # The pages are one text: a digest of it, and a stamp of each file.
    assert len(read_written(project)) == 1 + len(files)
    workspace = Workspace(project)
    sides = (
        ComparedSide(name, "algo", workspace.experiment(name).read_experiment().created) for name in workspace.names()
    )
    assert len(read_looks(workspace, *sides).looks) == 1
