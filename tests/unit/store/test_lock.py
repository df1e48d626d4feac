"""One tool at a time writes an experiment, and one at a time what experiments share."""

import os
import subprocess
import sys

import pytest

from deviate.core.errors import WorkspaceBusy, WorkspaceUnusable
from deviate.store.folders import Workspace
from deviate.store.locks import locked, locked_workspace

HOLDER = """
import sys, pathlib
from deviate.store.locks import locked, locked_workspace
from deviate.store.folders import Workspace
workspace, name = Workspace(pathlib.Path(sys.argv[1])), sys.argv[2]
words = ["deviate", "run", "-n", "8"]
with locked(workspace.experiment(name), words) if name else locked_workspace(workspace, words):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def workspace(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.prepare()
    return workspace


@pytest.fixture
def experiment(workspace):
    return workspace.experiment("train")


@pytest.fixture
def hold(workspace):
    """Return what starts another process that holds the lock of an experiment, or of the workspace."""
    holders = []

    def start(name):
        command = [sys.executable, "-c", HOLDER, str(workspace.project), name]
        holders.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert holders[-1].stdout.readline() == "held\n"
        return holders[-1]

    yield start
    for holder in holders:
        holder.kill()
        with holder:
            pass


def test_a_second_tool_is_told_who_is_first(experiment, hold):
    holder = hold("train")
    with pytest.raises(WorkspaceBusy) as caught, locked(experiment, ["deviate"]):
        pass
    assert caught.value.message == (
        f"another deviate works on experiment 'train': process {holder.pid}, deviate run -n 8"
    )
    assert caught.value.hint.endswith(f"kill {holder.pid}")


def test_another_experiment_is_free(workspace, hold):
    hold("train")
    with locked_workspace(workspace, ["deviate"]), locked(workspace.experiment("other"), ["deviate"]):
        pass


def test_the_lock_goes_with_a_killed_holder(experiment, hold):
    holder = hold("train")
    holder.kill()
    holder.wait()
    with locked(experiment, ["deviate"]):
        assert str(os.getpid()) in experiment.lock_file.read_text()


def test_the_lock_is_free_again_afterwards(experiment):
    for _ in range(2):
        with locked(experiment, ["deviate"]):
            pass


def test_a_training_does_not_inherit_the_lock(experiment):
    with locked(experiment, ["deviate"]):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with locked(experiment, ["deviate"]):
            pass
    finally:
        child.kill()
        child.wait()


def test_what_is_shared_is_waited_for(workspace, hold):
    holder = hold("")
    with pytest.raises(WorkspaceBusy) as caught, locked_workspace(workspace, ["deviate"], wait_s=0.1):
        pass
    assert str(workspace.path) in caught.value.message
    holder.stdin.close()
    with locked_workspace(workspace, ["deviate"]):
        pass


def test_a_lock_that_cannot_be_made_is_a_message(tmp_path):
    missing = Workspace(tmp_path / "missing")
    with pytest.raises(WorkspaceUnusable), locked(missing.experiment("train"), ["deviate"]):
        pass
    with pytest.raises(WorkspaceUnusable), locked_workspace(missing, ["deviate"]):
        pass
