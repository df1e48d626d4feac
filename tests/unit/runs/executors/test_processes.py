"""A process is known again, whatever becomes of the clock."""

import os

import psutil
import pytest

from deviate.runs.executors.processes import is_process, name_process


@pytest.mark.parametrize("moved", [-86_400, 90, 3600])
def test_a_process_stays_itself_when_the_clock_is_set(moved, tmp_path, monkeypatch):
    handle = name_process(tmp_path / "runtime.json", os.getpid())
    # Systems count the boot time back from the time of day.
    booted = psutil.boot_time() + moved
    monkeypatch.setattr(psutil._psplatform, "boot_time", lambda: booted)
    assert psutil.Process().create_time() > booted
    assert is_process(handle.pid, handle.created)
    assert not is_process(handle.pid, handle.created + moved)
