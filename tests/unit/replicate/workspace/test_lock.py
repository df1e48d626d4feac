"""One tool at a time writes a workspace."""

import os
import subprocess
import sys

import pytest

from deviate.errors import WorkspaceBusy, WorkspaceUnusable
from deviate.replicate.workspace.folders import Workspace
from deviate.replicate.workspace.lock import locked

HOLDER = """
import sys, pathlib
from deviate.replicate.workspace.lock import locked
from deviate.replicate.workspace.folders import Workspace
with locked(Workspace(pathlib.Path(sys.argv[1])), ["deviate", "run", "-n", "8"]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def workspace(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.prepare()
    return workspace


@pytest.fixture
def holder(workspace):
    command = [sys.executable, "-c", HOLDER, str(workspace.project)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_tool_is_told_who_is_first(workspace, holder):
    with pytest.raises(WorkspaceBusy) as caught, locked(workspace, ["deviate"]):
        pass
    assert str(holder.pid) in caught.value.message
    assert "deviate run -n 8" in caught.value.message
    assert caught.value.hint.endswith(f"kill {holder.pid}")


def test_the_lock_goes_with_a_killed_holder(workspace, holder):
    holder.kill()
    holder.wait()
    with locked(workspace, ["deviate"]):
        assert str(os.getpid()) in workspace.lock_file.read_text()


def test_the_lock_is_free_again_afterwards(workspace):
    for _ in range(2):
        with locked(workspace, ["deviate"]):
            pass


def test_a_training_does_not_inherit_the_lock(workspace):
    with locked(workspace, ["deviate"]):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with locked(workspace, ["deviate"]):
            pass
    finally:
        child.kill()
        child.wait()


def test_a_lock_that_cannot_be_made_is_a_message(tmp_path):
    with pytest.raises(WorkspaceUnusable), locked(Workspace(tmp_path / "missing"), ["deviate"]):
        pass
