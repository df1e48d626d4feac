"""Executors are found by the word users type, and a command is started, watched and ended by its handle alone."""

import os
import signal
import sys
import time

import pytest
from msgspec import structs

from deviate.core.errors import BadOption
from deviate.runs.executors.executor import EXECUTORS, Handle, Launch, Slot, check_executor, make_executor
from deviate.runs.request import Request, check_request
from deviate.store.files import read_json
from deviate.store.run_files import Ended

SLEEP = ["sleep", "60"]


def launch(folder, argv):
    runtime_file = folder / "runtime.json"
    return Launch(
        argv=argv, environment={**os.environ, "DEVIATE_RUNTIME": str(runtime_file)},
        cwd=folder, stdout=folder / "stdout.log", stderr=folder / "stderr.log", slot=Slot(index=0),
        runtime_file=runtime_file, ended_file=folder / "ended.json",
    )  # fmt: skip


def wait(executor, handle):
    for _ in range(600):
        if not executor.poll(handle):
            return
        executor.wait(0.05)
    raise AssertionError("it did not end within 30 s")


def test_a_name_that_is_none_is_refused_with_those_there_are():
    with pytest.raises(BadOption) as raised:
        check_executor("cloud")
    assert all(name in raised.value.hint for name in EXECUTORS)
    with pytest.raises(BadOption):
        check_request(Request(command=["python", "t.py"], executor="cloud"))


@pytest.mark.parametrize(
    "wish", [{"partition": "gpu"}, {"time": "1:00"}, {"gres": "gpu:1"}, {"cpus": 2}, {"print_script": True}]
)
def test_what_a_cluster_is_asked_for_is_refused_without_one(wish):
    with pytest.raises(BadOption, match="cluster"):
        check_request(Request(command=["python", "t.py"], **wish))
    check_request(Request(command=["python", "t.py"], executor="slurm", **wish))
    if {"partition", "time"} & set(wish):
        with pytest.raises(BadOption, match="Slurm"):
            check_request(Request(command=["python", "t.py"], executor="ray", **wish))


def test_an_address_is_for_ray():
    check_request(Request(command=["python", "t.py"], executor="ray", address="10.0.0.1:6379"))
    with pytest.raises(BadOption, match="Ray"):
        check_request(Request(command=["python", "t.py"], executor="slurm", address="10.0.0.1:6379"))


def test_a_run_has_at_least_one_core():
    with pytest.raises(BadOption, match="cpus"):
        check_request(Request(command=["python", "t.py"], executor="slurm", cpus=0))


@pytest.mark.parametrize("name", EXECUTORS)
def test_how_a_command_ended_is_in_its_file(name, tmp_path):
    executor = make_executor(name, 1)
    handle = executor.start(launch(tmp_path, [sys.executable, "-c", "print(7); raise SystemExit(3)"]))
    wait(executor, handle)
    ended = read_json(tmp_path / "ended.json", Ended)
    assert (ended.status, ended.cause) == (3, None)
    assert (tmp_path / "stdout.log").read_text() == "7\n"


@pytest.mark.parametrize("name", EXECUTORS)
def test_what_a_command_took_is_its_own(name, tmp_path):
    # This process holds more, and a child begins as a copy of it.
    block = bytearray(b"1") * (100 << 20)
    executor = make_executor(name, 1)
    work = "import time; sum(range(3_000_000)); time.sleep(0.3)"
    wait(executor, executor.start(launch(tmp_path, [sys.executable, "-c", work])))
    ended = read_json(tmp_path / "ended.json", Ended)
    assert 0.01 < ended.cpu_seconds < 30
    assert 4 << 20 < ended.peak_memory < len(block)
    work = "import time; block = b'1' * (300 << 20); time.sleep(0.3)"
    wait(executor, executor.start(launch(tmp_path, [sys.executable, "-c", work])))
    assert 300 << 20 < read_json(tmp_path / "ended.json", Ended).peak_memory < 400 << 20


LARGE = "import time; block = bytearray(300 << 20); time.sleep(60)"


@pytest.mark.parametrize(
    ("argv", "limit", "cause"),
    [
        (SLEEP, {"stall": 0.3}, "stall"),
        ([sys.executable, "-c", LARGE], {"memory": 200 << 20}, "memory"),
        ([sys.executable, "-c", "print(7)"], {"stall": 60.0, "memory": 8 << 30}, None),
    ],
)
@pytest.mark.parametrize("name", EXECUTORS)
def test_a_command_is_ended_by_its_limits(name, argv, limit, cause, tmp_path):
    executor = make_executor(name, 1)
    wait_for = executor.start(structs.replace(launch(tmp_path, argv), **limit))
    wait(executor, wait_for)
    assert read_json(tmp_path / "ended.json", Ended).cause == cause


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_command_is_ended_by_its_handle(name, tmp_path):
    executor = make_executor(name, 1)
    handle = executor.start(launch(tmp_path, SLEEP))
    assert executor.poll(handle)
    assert executor.end(handle, at_once=True) == 1
    wait(executor, handle)
    ended = read_json(tmp_path / "ended.json", Ended)
    assert ended.status in (-signal.SIGINT, -signal.SIGKILL)
    assert ended.cause == "cancel"


@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.parametrize("known", [True, False])
def test_what_a_killed_tool_started_is_ended_by_another_one(name, known, tmp_path):
    first = make_executor(name, 1)
    handle = first.start(launch(tmp_path, SLEEP))
    other = make_executor(name, 1)
    stored = handle if known else Handle(handle.run)
    # A program that begins has no environment for a moment, by which another tool knows it.
    assert any(other.poll(stored) or time.sleep(0.01) for _ in range(500))
    assert other.end(stored) == 1
    assert not other.poll(stored)
    wait(first, handle)


@pytest.mark.parametrize("name", EXECUTORS)
def test_nothing_is_ended_where_nothing_runs(name, tmp_path):
    executor = make_executor(name, 1)
    handle = Handle(tmp_path / "runtime.json", "1", 1, 0.0)
    assert not executor.poll(handle)
    assert executor.end(handle) == 0
