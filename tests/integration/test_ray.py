"""Runs are made by tasks of a Ray that is really there, and are what they are on this machine."""

import re
import signal
import subprocess
from contextlib import ExitStack

import one_node
import pytest
from cli_tool import deviate
from cluster_runs import COMMAND, facts, make_project, runs, started, tool, wait_for
from one_ray import Ray, lacking

from deviate.store.run_files import Cancelled, Completed

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.skipif(bool(lacking()), reason=lacking())]

RUN = ["run", "--name", "e", "--executor", "ray", "--vary", "algo"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Ray(tmp_path_factory.mktemp("ray")).running() as cluster, pytest.MonkeyPatch.context() as patch:
        for name, value in {**cluster.environment, "RAY_ADDRESS": cluster.address}.items():
            patch.setenv(name, value)
        yield cluster


@pytest.fixture
def project(cluster, tmp_path, monkeypatch):
    return make_project(tmp_path, monkeypatch)


def test_one_experiment_is_the_same_wherever_it_is_made(project, monkeypatch, tmp_path):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    run = ["run", "-n", "2", "--vary", "control", "--name"]
    with ExitStack() as stack:
        (tmp_path / "disk").mkdir()
        on_disk = ["--set", f"scratch={tmp_path / 'disk'}"]
        ways = {"local": ["-j", "2"], "warm": ["-j", "2", "--set", "warm=true"], "ray": ["--executor", "ray"]}
        ways["ray-scratch"] = [*ways["ray"], *on_disk]
        if not one_node.lacking():
            slurm = stack.enter_context(one_node.Cluster(tmp_path / "node").running())
            monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
            ways["slurm"] = ["--executor", "slurm"]
            ways["slurm-scratch"] = [*ways["slurm"], *on_disk]
        for name, words in ways.items():
            assert deviate(*run, name, *words, *COMMAND).status == 0
    assert all(facts(name) == facts("local") for name in ways)
    infos = {name: [run.read_info() for run in runs(project, name)] for name in ways}
    assert [(info.executor, info.threads) for info in infos["ray"]] == [("ray", 1)] * 2
    assert not list((project / ".deviate" / "experiments" / "ray" / "submissions").iterdir())


def test_a_node_that_is_lost_loses_no_run_and_no_run_is_made_twice_at_once(project, cluster, monkeypatch):
    deviate(*RUN, "-n", "1", *COMMAND)
    monkeypatch.setenv("PAUSE", "2")
    node = cluster.add_node(2)
    command = tool(*RUN, "-n", "5", "-j", "4", "--edited")
    wait_for(lambda: len(started(project)) == 5, 60)
    cluster.kill_node(node)
    said = command.communicate(timeout=180)[1]
    assert command.returncode == 0, said
    assert all(isinstance(run.read_outcome(), Completed) for run in runs(project))
    # Two runs were on the node, and two on the head, where the actor is; the first was done.
    assert started(project).count("algo-0") == 1
    assert len(started(project)) == 7
    assert "submitted again" in said


def test_a_killed_tool_leaves_its_tasks_to_the_next_one(project, monkeypatch):
    monkeypatch.setenv("PAUSE", "1")
    first = tool(*RUN, "-n", "2")
    wait_for(lambda: started(project), 60)
    first.kill()
    first.communicate()
    # The next one needs no word of where they are.
    done = deviate("run", "--name", "e", "-n", "2", "--vary", "algo", *COMMAND)
    assert done.status == 0
    assert sorted(started(project)) == ["algo-0", "algo-1"]
    assert {run.read_info().executor for run in runs(project)} == {"ray"}


def test_who_stops_the_tool_is_told_how_to_go_on(project, monkeypatch):
    monkeypatch.setenv("PAUSE", "30")
    first = tool(*RUN, "-n", "1")
    wait_for(lambda: started(project) and runs(project)[0].read_info(), 60)
    first.send_signal(signal.SIGINT)
    said = first.communicate(timeout=30)[1]
    assert first.returncode == -signal.SIGINT
    words = re.search(r"\S+ -m deviate.runs.engines.ray_link \S+ --cancel \S+", said)[0].split()
    wrong = subprocess.run([*words[:-1], "other"], check=True, stderr=subprocess.PIPE, text=True).stderr
    assert "no task of other is there" in wrong
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    outcome = wait_for(lambda: runs(project)[0].read_outcome())
    assert isinstance(outcome, Cancelled)
    # A run that its owner ended has not failed: it is made again.
    monkeypatch.setenv("PAUSE", "0")
    assert deviate(*RUN, "-n", "1", *COMMAND).status == 0
    assert started(project) == ["algo-0", "algo-0"]


def test_a_script_that_is_run_by_hand_is_followed_by_its_files(project):
    script = deviate(*RUN, "-n", "2", "--print", *COMMAND).out
    assert started(project) == []
    (project.parent / "submit.py").write_text(script)
    subprocess.run([COMMAND[1], project.parent / "submit.py"], check=True, capture_output=True)
    wait_for(lambda: len([run for run in runs(project) if run.is_done]) == 2, 60)
    assert deviate(*RUN, "-n", "2", *COMMAND).status == 0
    assert sorted(started(project)) == ["algo-0", "algo-1"]


def test_what_ray_does_not_have_is_said_and_waited_for(project, cluster):
    command = tool(*RUN, "-n", "1", "--set", "gres=gpu:1")
    wait_for(lambda: "no node has 1 CPU and 1 GPU" in command.stderr.readline(), 60)
    command.send_signal(signal.SIGINT)
    said = command.communicate(timeout=30)[1]
    assert "without this command" in said


def test_cells_of_a_grid_are_handed_over_together(project):
    table = f'name = "grid"\ncommand = "{COMMAND[1]} train.py {{epochs}}"\nn = 2\nvary = ["algo"]'
    (project / "deviate.toml").write_text(f"[[experiment]]\n{table}\n[experiment.grid]\nepochs = [2, 3]\n")
    done = deviate("run", "--executor", "ray")
    assert done.status == 0, done.err
    lines = done.err.splitlines()
    handed = [index for index, line in enumerate(lines) if "1 run handed to ray" in line]
    assert handed[1] < next(index for index, line in enumerate(lines) if "\u2713" in line)
    assert sorted(started(project)) == ["algo-0", "algo-0", "algo-1", "algo-1"]


def test_an_address_without_ray_is_told(project):
    done = deviate(*RUN, "-v", "--set", "address=127.0.0.2:1", "-n", "1", *COMMAND)
    assert (done.status, "[no-cluster]" in done.err) == (2, True)
    assert started(project) == []
