"""One worker at a time makes a run, whatever becomes of the others."""

import os
import subprocess
import threading

import msgspec
import psutil
import pytest

from deviate.core.errors import WorkspaceUnusable
from deviate.core.experiment import Run
from deviate.runs import lease as module
from deviate.runs.executors.processes import created_at
from deviate.runs.lease import STALE, Holder, LeaseHeld, acquire, beating, live_holder
from deviate.store.files import read_json, write_json
from deviate.store.folders import RunFolder


@pytest.fixture
def run(tmp_path):
    folder = RunFolder(tmp_path / "control-0", Run(variant="control", index=0))
    folder.path.mkdir()
    return folder


@pytest.fixture(autouse=True)
def short_beats(monkeypatch):
    monkeypatch.setattr(module, "BEAT_EVERY", 0.2)
    monkeypatch.setattr(module, "SEEN_WITHIN", 0.2)
    monkeypatch.setattr(module, "LOOK_EVERY", 0.02)


@pytest.fixture
def other_process():
    process = subprocess.Popen(["sleep", "60"])
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()


def give_to(run, lease, **changes):
    """Have a lease be held by somebody else."""
    write_json(lease.path, msgspec.structs.replace(read_json(lease.path, Holder), **changes))


def process_of(process):
    return {"pid": process.pid, "created": created_at(process.pid)}


def test_a_lease_says_who_makes_the_run_and_goes_with_its_job(run):
    lease = acquire(run)
    run.job_file.write_text("{}")
    holder = read_json(lease.path, Holder)
    assert (holder.pid, holder.start == holder.beat) == (os.getpid(), True)
    lease.release()
    assert not run.worker.exists()


def test_a_run_that_a_living_process_makes_is_nobody_elses(run, other_process):
    give_to(run, acquire(run), **process_of(other_process))
    assert live_holder(run).pid == other_process.pid
    with pytest.raises(LeaseHeld, match=str(other_process.pid)):
        acquire(run)


def test_the_lease_of_a_process_that_is_gone_is_taken_over_at_once(run, other_process):
    first = acquire(run)
    give_to(run, first, **process_of(other_process))
    other_process.kill()
    other_process.wait()
    second = acquire(run)
    assert (first.is_held(), second.is_held()) == (False, True)
    # Who lost it neither says that it lives, nor takes the run from its new worker.
    first.beat()
    first.release()
    assert second.is_held()


@pytest.mark.parametrize(("age", "is_live"), [(STALE - 5, True), (STALE + 5, False), (-3600, False)])
def test_on_another_machine_a_lease_lives_as_long_as_it_beats(run, age, is_live):
    lease = acquire(run)
    give_to(run, lease, host="node7", system="another kernel")
    written = lease.path.stat().st_mtime - age
    os.utime(lease.path, (written, written))
    assert (live_holder(run) is not None) == is_live


@pytest.mark.parametrize("moved", [-3600, 3600])
def test_a_lease_that_still_beats_is_not_taken_over_when_the_clock_of_its_files_is_set(run, moved):
    lease = acquire(run)
    give_to(run, lease, host="node7", system="another kernel")
    written = lease.path.stat().st_mtime - moved
    os.utime(lease.path, (written, written))
    assert live_holder(run) is None
    beat = threading.Timer(0.1, os.utime, [lease.path])
    beat.start()
    with pytest.raises(LeaseHeld, match="node7"):
        acquire(run)
    beat.join()
    os.utime(lease.path, (written, written))
    assert acquire(run).is_held()


def test_while_a_damaged_lease_may_be_held_nobody_takes_the_run(run, other_process):
    lease = acquire(run)
    give_to(run, lease, **process_of(other_process))
    lease.path.write_bytes(lease.path.read_bytes()[:-40])
    for call in (live_holder, acquire):
        with pytest.raises(WorkspaceUnusable, match="it is unknown whether a worker makes control-0") as refused:
            call(run)
        assert f"in {STALE:.0f} seconds" in refused.value.hint
    # Whoever lives writes it anew; of who is gone it stays as it is.
    lease.beat()
    assert live_holder(run) is None
    lease.path.write_bytes(b"")
    written = lease.path.stat().st_mtime - STALE - 1
    os.utime(lease.path, (written, written))
    assert acquire(run).is_held()


def test_of_many_that_come_at_once_one_gets_the_lease(run, monkeypatch):
    monkeypatch.setattr(module, "live_holder", lambda run: None)
    got, refused, start = [], [], threading.Barrier(8)

    def come():
        start.wait()
        try:
            got.append(acquire(run))
        except LeaseHeld:
            refused.append(1)

    threads = [threading.Thread(target=come) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) + len(refused) == 8
    # Those who came after another had linked its file have the next number: one alone is held.
    assert sum(lease.is_held() for lease in got) == 1
    assert len({lease.path for lease in got}) == len(got)


def test_a_lease_beats_while_its_holder_works(run, monkeypatch):
    monkeypatch.setattr(module, "BEAT_EVERY", 0.01)
    lease = acquire(run)
    beats = threading.Event()
    monkeypatch.setattr(type(lease), "beat", lambda self: beats.set())
    with beating(lease):
        assert beats.wait(10)
