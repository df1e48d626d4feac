"""Runs are made by jobs of a Slurm that is really there, and are what they are on this machine."""

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack

import forked_tool
import psutil
import pytest
from cli_tool import deviate
from cluster_runs import COMMAND, facts, make_project, runs, started, tool, wait_for
from one_node import Cluster, NotStarted, lacking

from deviate.store.run_files import Completed

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(lacking()), reason=f"Slurm cannot be started: {lacking()}")]

RUN = ["run", "--name", "e", "--executor", "slurm", "--vary", "algo"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        try:
            cluster = stack.enter_context(Cluster(tmp_path_factory.mktemp("slurm") / "node").running())
        except NotStarted as reason:
            pytest.skip(f"Slurm cannot be started: {reason}")
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        yield cluster


@pytest.fixture
def project(cluster, tmp_path, monkeypatch):
    return make_project(tmp_path, monkeypatch)


def tasks(cluster):
    return set(cluster.ask("squeue", "-h", "--me", "-o", "%A").split())


def test_runs_on_a_cluster_are_those_of_this_machine(project, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    deviate("run", "--name", "one", "-n", "2", "-j", "2", "--vary", "control", *COMMAND)
    deviate("run", "--name", "two", "-n", "2", "--executor", "slurm", "--vary", "control", *COMMAND)
    assert facts("one") == facts("two")
    infos = [[run.read_info() for run in runs(project, name)] for name in ("one", "two")]
    assert [[(info.executor, info.threads) for info in each] for each in infos] == [
        [("local", 1)] * 2, [("slurm", 1)] * 2,
    ]  # fmt: skip
    # What only workers need is gone, the command with its secrets among it.
    assert not list((project / ".deviate" / "experiments" / "two" / "submissions").iterdir())


def test_runs_on_a_disk_of_their_machine_are_those_of_this_machine(project, monkeypatch, tmp_path):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "disk").mkdir()
    words = ["--executor", "slurm", "--set", f"scratch={tmp_path / 'disk'}"]
    deviate("run", "--name", "one", "-n", "2", "--vary", "control", *COMMAND)
    assert deviate("run", "--name", "two", "-n", "2", *words, "--vary", "control", *COMMAND).status == 0
    assert facts("one") == facts("two")
    assert all(run.read_info().scratch.startswith(str(tmp_path / "disk")) for run in runs(project, "two"))
    assert all(list(run.work.iterdir()) for run in runs(project, "two"))
    # Nothing is left but the snapshot that further runs start from.
    assert [path.name for path in (tmp_path / "disk").glob("*/*") if path.is_dir()] == [".snapshots"]
    # The experiment remembers where its runs are made.
    done = deviate("run", "--name", "two", "-n", "3", "--vary", "control", *COMMAND)
    assert f"made by slurm (scratch={tmp_path / 'disk'})" in done.err
    assert runs(project, "two")[2].read_info().scratch


def test_a_killed_tool_leaves_its_jobs_to_the_next_one(project, monkeypatch):
    monkeypatch.setenv("PAUSE", "3")
    first = tool(*RUN, "-n", "3")
    wait_for(lambda: len(started(project)) > 1)
    first.kill()
    first.communicate()
    before = psutil.Process(wait_for(lambda: runs(project)[1].read_info()).pid)
    assert before.is_running()
    # The next one needs no word of where they are.
    done = deviate("run", "--name", "e", "-n", "3", "--vary", "algo", *COMMAND)
    assert done.status == 0
    assert sorted(started(project)) == ["algo-0", "algo-1", "algo-2"]
    assert {run.read_info().executor for run in runs(project)} == {"slurm"}


@pytest.mark.nightly
def test_what_was_not_handed_over_goes_where_the_first_run_went(project, monkeypatch):
    monkeypatch.setenv("PAUSE", "2")
    first = tool(*RUN, "-n", "2", "--set", "cpus=2")
    wait_for(lambda: started(project))
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)
    done = deviate("run", "--name", "e", "-n", "2", "--vary", "algo", *COMMAND)
    assert "runs are made by slurm (cpus=2), as in the last command; --executor local" in done.err
    infos = [run.read_info() for run in runs(project)]
    assert [(info.executor, info.threads) for info in infos] == [("slurm", 2)] * 2
    again = deviate("run", "--name", "e", "-n", "2", "--vary", "algo", *COMMAND)
    assert (again.status, "are made by" in again.err) == (0, False)
    deviate("run", "--name", "e", "-n", "3", "--vary", "algo", "--executor", "local", *COMMAND)
    deviate("run", "--name", "e", "-n", "4", "--vary", "algo", *COMMAND)
    assert [run.read_info().executor for run in runs(project)[2:]] == ["local"] * 2


def test_who_stops_the_tool_is_told_how_to_go_on(project, monkeypatch):
    monkeypatch.setenv("PAUSE", "30")
    first = tool(*RUN, "-n", "1")
    wait_for(lambda: started(project))
    first.send_signal(signal.SIGINT)
    said = first.communicate(timeout=30)[1]
    assert first.returncode == -signal.SIGINT
    words = re.search(r"scancel --me --name=deviate-e-\w+", said)[0].split()
    subprocess.run(words, check=True)
    wait_for(lambda: runs(project)[0].read_outcome())
    # A run that its owner ended has not failed: it is made again.
    monkeypatch.setenv("PAUSE", "0")
    assert deviate(*RUN, "-n", "1", *COMMAND).status == 0
    assert started(project) == ["algo-0", "algo-0"]


def test_jobs_and_workers_that_are_ended_are_replaced(project, cluster, monkeypatch):
    deviate(*RUN, "-n", "1", *COMMAND)
    monkeypatch.setenv("PAUSE", "1")
    command = tool(*RUN, "-n", "3", "--edited")
    wait_for(lambda: len(started(project)) == 3 and all(run.read_info().pid for run in runs(project)))
    job = wait_for(lambda: runs(project)[1].read_info().job)
    assert re.fullmatch(r"\d+_\d+", job)
    cluster.ask("scancel", job)
    worker = psutil.Process(wait_for(lambda: runs(project)[2].read_info().pid)).parent()
    worker.kill()
    said = command.communicate(timeout=60)[1]
    assert command.returncode == 0
    assert all(isinstance(run.read_outcome(), Completed) for run in runs(project))
    assert sorted(started(project)) == ["algo-0", "algo-1", "algo-1", "algo-2", "algo-2"]
    assert "algo-1: its job ended before it did (CANCELLED); submitted again" in said


def test_a_script_that_is_submitted_by_hand_is_followed_by_its_files(project, cluster):
    script = deviate(*RUN, "-n", "2", "--set", "gres=", "--set", "time=0:10", "--print", *COMMAND).out
    assert "#SBATCH --array=0-1\n" in script
    assert "#SBATCH --time=0:10\n" in script
    assert started(project) == []
    (project.parent / "job.sh").write_text(script)
    cluster.ask("sbatch", str(project.parent / "job.sh"))
    wait_for(lambda: len([run for run in runs(project) if run.is_done]) == 2)
    assert deviate(*RUN, "-n", "2", *COMMAND).status == 0
    assert sorted(started(project)) == ["algo-0", "algo-1"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [(["--set", "partition=no"], "sinfo -s"), (["--set", "gres=gpu:1"], "gres")],
)
def test_what_the_cluster_does_not_take_is_a_message(project, cluster, words, hint):
    # Tasks of the test before may still be ending.
    before = tasks(cluster)
    done = deviate(*RUN, "-v", "-n", "1", *words, *COMMAND)
    assert (done.status, "[cluster-refused]" in done.err) == (1, True)
    assert hint in done.err
    assert tasks(cluster) <= before
    # Nothing was handed over, and this machine can make the run.
    here = ["run", "--name", "e", "-n", "1", "--vary", "algo", "--executor", "local"]
    assert deviate(*here, *COMMAND).status == 0


@pytest.mark.nightly
def test_cells_of_a_grid_are_handed_over_together(project, cluster, monkeypatch):
    monkeypatch.setenv("PAUSE", "1")
    (project / "deviate.toml").write_text(GRID)
    done = deviate("run", "--executor", "slurm")
    assert done.status == 0, done.err
    lines = done.err.splitlines()
    handed = [index for index, line in enumerate(lines) if "1 run handed to slurm" in line]
    completed = [index for index, line in enumerate(lines) if re.search(r"\(\d of 2", line)]
    # The first run of each cell goes alone, the cells together.
    assert len(completed) == 6
    assert handed[2] < completed[1]
    assert sorted(started(project)) == sorted(["algo-0", "algo-1"] * 3)
    assert "epochs=4  run 1  " in done.err
    again = deviate("run")
    assert "Nothing was trained" in again.out


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_tool_that_is_ended_leaves_cells_of_a_grid_to_the_next_one(project, monkeypatch, number):
    monkeypatch.setenv("PAUSE", "2")
    (project / "deviate.toml").write_text(GRID)
    first = forked_tool.start("run", "--executor", "slurm")
    wait_for(lambda: len(started(project)) > 1)
    first.send_signal(number)
    said = first.communicate(timeout=30)[1]
    if number == signal.SIGINT:
        assert first.returncode == -signal.SIGINT
        (names,) = re.findall(r"scancel --me --name=(\S+)", said)
        assert re.fullmatch(r"(deviate-grid-epochs-\d-\w+,?){2,3}", names), "one command ends the jobs of all cells"
    assert deviate("run").status == 0
    assert sorted(started(project)) == sorted(["algo-0", "algo-1"] * 3)


#: Three cells of two runs.
GRID = f"""
[[experiment]]
name = "grid"
command = "{sys.executable} train.py {{epochs}}"
n = 2
vary = ["algo"]
[experiment.grid]
epochs = [2, 3, 4]
"""


def test_a_machine_without_slurm_is_told(project, monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    done = deviate(*RUN, "-v", "-n", "1", *COMMAND)
    assert (done.status, "[no-cluster]" in done.err) == (2, True)
