"""The commands that are printed for other schedulers make the runs, whoever starts them."""

import os
import subprocess
import sys

import pytest
from cli_tool import deviate
from cluster_runs import COMMAND, facts, make_project, runs, started

RUN = ["run", "--name", "e", "-n", "3", "--vary", "algo"]
PRINT = ["--executor", "workers", "--print"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    # Where a machine has the worker.
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return make_project(tmp_path, monkeypatch)


def start(lines):
    """Run the commands one after another, elsewhere than in the project; return what they print."""
    said = []
    for number, line in enumerate(lines.splitlines()):
        variables = {**os.environ, "DEVIATE_JOB": f"job-{number}"}
        said.append(subprocess.check_output(["sh", "-c", line], cwd="/", env=variables, text=True).strip())
    return said


def test_the_commands_that_are_printed_make_the_runs(project):
    printed = deviate(*RUN, *PRINT, *COMMAND)
    assert (printed.status, len(printed.out.splitlines())) == (0, 3)
    assert started(project) == []
    waits = deviate(*RUN, *COMMAND)
    assert (waits.status, "handed to workers, and are not done" in waits.err) == (2, True)
    assert sorted(start(printed.out)) == ["algo-0: completed", "algo-1: completed", "algo-2: completed"]
    assert [run.read_info().executor for run in runs(project)] == ["workers"] * 3
    assert [run.read_info().job for run in runs(project)] == ["job-0", "job-1", "job-2"]
    # A command that comes again finds nothing to do, and the same `deviate run` has all runs.
    assert all(line.endswith("nothing is to be done") for line in start(printed.out))
    assert deviate(*RUN, *COMMAND).status == 0
    assert sorted(started(project)) == ["algo-0", "algo-1", "algo-2"]
    assert not list((project / ".deviate/experiments/e/submissions").iterdir())
    deviate("run", "--name", "here", "-n", "3", "-j", "2", "--vary", "algo", *COMMAND)
    assert facts("e") == facts("here")


def test_runs_are_made_on_the_disk_that_is_named(project, tmp_path_factory):
    disk = tmp_path_factory.mktemp("disks")
    printed = deviate(*RUN, "--set", f"scratch={disk}", *PRINT, *COMMAND)
    start(printed.out)
    assert [run.read_info().scratch.startswith(f"{disk}/") for run in runs(project)] == [True] * 3
    assert not any(run.read_outcome().warnings for run in runs(project))


def test_what_no_worker_made_is_made_here_where_that_is_said(project):
    printed = deviate(*RUN, *PRINT, *COMMAND)
    assert deviate(*RUN, "--executor", "local", *COMMAND).status == 0
    assert all(line.endswith("nothing is to be done") for line in start(printed.out))
    assert sorted(started(project)) == ["algo-0", "algo-1", "algo-2"]


def test_a_command_is_printed_and_never_started_from_here(project):
    refused = deviate(*RUN, "--executor", "workers", *COMMAND)
    assert (refused.status, "add --print" in refused.err) == (2, True)
