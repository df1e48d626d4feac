"""What is printed for Kubernetes and SkyPilot makes the runs, when its commands are run as those systems run them."""

import os
import subprocess
import sys

import pytest
import yaml
from cli_tool import deviate
from cluster_runs import COMMAND, facts, make_project, runs, started

RUN = ["run", "--name", "e", "-n", "3", "--vary", "algo"]
PRINT = ["--container", "lab/train:1", "--print"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    # Where the image has the worker.
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return make_project(tmp_path, monkeypatch)


def pods(manifest):
    """Run the pods of an Indexed Job one after another; return what they print."""
    container = manifest["spec"]["template"]["spec"]["containers"][0]
    said = []
    for index in range(manifest["spec"]["completions"]):
        variables = {"JOB_COMPLETION_INDEX": str(index), "DEVIATE_JOB": f"pod-{index}"}
        said.append(subprocess.check_output(container["command"], env={**os.environ, **variables}, text=True).strip())
    return said


def machines(task):
    """Run a task on its machines one after another; return what they print."""
    said = []
    for rank in range(task["num_nodes"]):
        nodes = {
            "SKYPILOT_NODE_RANK": str(rank),
            "SKYPILOT_NUM_NODES": str(task["num_nodes"]),
            "SKYPILOT_TASK_ID": "sky",
        }
        said += subprocess.check_output(
            ["bash", "-c", task["run"]], env={**os.environ, **nodes}, text=True
        ).splitlines()
    return said


@pytest.mark.parametrize(("executor", "start"), [("kubernetes", pods), ("sky", machines)])
def test_the_commands_that_are_printed_make_the_runs(project, executor, start):
    printed = deviate(*RUN, "-j", "2", "--executor", executor, *PRINT, *COMMAND)
    assert printed.status == 0
    assert started(project) == []
    waits = deviate(*RUN, *COMMAND)
    assert (waits.status, f"handed to {executor}, and are not done  [run-elsewhere]" in waits.err) == (2, True)
    said = start(yaml.safe_load(printed.out))
    assert sorted(said) == ["algo-0: completed", "algo-1: completed", "algo-2: completed"]
    assert [run.read_info().executor for run in runs(project)] == [executor] * 3
    assert all(run.read_info().job for run in runs(project))
    # A pod that comes again finds nothing to do, and the same command has all runs.
    assert all(line.endswith("nothing is to be done") for line in start(yaml.safe_load(printed.out)))
    assert deviate(*RUN, *COMMAND).status == 0
    assert sorted(started(project)) == ["algo-0", "algo-1", "algo-2"]
    assert not list((project / ".deviate/experiments/e/submissions").iterdir())
    deviate("run", "--name", "here", "-n", "3", "-j", "2", "--vary", "algo", *COMMAND)
    assert facts("e") == facts("here")


@pytest.mark.parametrize(("executor", "start"), [("kubernetes", pods), ("sky", machines)])
def test_runs_are_made_on_the_disk_that_is_printed(project, executor, start, tmp_path_factory):
    disk = tmp_path_factory.mktemp("disks") / "scratch"
    printed = deviate(*RUN, "--executor", executor, "--scratch", str(disk), *PRINT, *COMMAND)
    assert printed.status == 0
    if executor == "kubernetes":
        disk.mkdir()  # As the volume of the pod is.
    start(yaml.safe_load(printed.out))
    assert [run.read_info().scratch.startswith(f"{disk}/") for run in runs(project)] == [True] * 3
    assert not any(run.read_outcome().warnings for run in runs(project))


def test_what_no_job_made_is_made_here_where_that_is_said(project):
    printed = deviate(*RUN, "--executor", "kubernetes", *PRINT, *COMMAND)
    assert deviate(*RUN, "--executor", "local", *COMMAND).status == 0
    assert all(line.endswith("nothing is to be done") for line in pods(yaml.safe_load(printed.out)))
    assert sorted(started(project)) == ["algo-0", "algo-1", "algo-2"]
