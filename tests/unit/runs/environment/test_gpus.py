"""GPUs: what the driver lists, what the user chose, and what each run is given and recorded with."""

import os
import sys
from pathlib import Path

import psutil
import pytest
from fake_nvml import NAMES, UUIDS, FakeNvml

from deviate.core.errors import BadOption
from deviate.runs import hardware
from deviate.runs import hardware as nvml
from deviate.runs.executors.executor import Launch, Slot
from deviate.runs.executors.local import LocalExecutor
from deviate.runs.hardware import Gpus, chosen_gpus, given_gpus, installed_gpus, visible_gpus
from deviate.store.files import read_json
from deviate.store.run_files import Ended

SMI = "#!/bin/sh\nprintf '0, GPU-aa11, 550.54, NVIDIA H100\\n1, GPU-bb22, 550.54, NVIDIA A100\\n'\n"


def forget():
    nvml._library.cache_clear()
    hardware.machine_gpus.cache_clear()


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Return what makes this machine have GPUs: by the library, by the tool, or none."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def be(how, **options):
        monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(**options) if how == "library" else None)
        (tmp_path / "bin").mkdir(exist_ok=True)
        if how == "tool":
            (tmp_path / "bin" / "nvidia-smi").write_text(SMI)
            (tmp_path / "bin" / "nvidia-smi").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}/bin")
        forget()

    yield be
    forget()


@pytest.mark.parametrize("how", ["library", "tool"])
def test_gpus_are_listed_by_the_library_or_by_the_tool(machine, how):
    machine(how)
    assert installed_gpus() == tuple(f"{name}, driver 550.54" for name in NAMES)
    assert visible_gpus({}) == Gpus(("0", "1"), by_bus=True)
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": "1"}) == Gpus(("1",))


@pytest.mark.parametrize("options", [{"fails": True}, {}])
def test_without_a_driver_there_is_none(machine, options):
    machine("library" if options else "nothing", **options)
    assert (installed_gpus(), visible_gpus({}), nvml.memory_by_process()) == ((), Gpus((), by_bus=True), {})


@pytest.mark.parametrize(
    ("wish", "chosen", "names"),
    [("all", None, ("0", "1")), ("1", None, ("0",)), ("2", None, ("0", "1")), ("1,", None, ("1",)),
     ("1,0", None, ("1", "0")), ("GPU-bb22", None, ("GPU-bb22",)), ("GPU-a", None, ("GPU-a",)),
     ("MIG-1/2,MIG-3", None, ("MIG-1/2", "MIG-3")), ("all", "3,5", ("3", "5")), ("1", "3,5", ("3",)),
     ("5,", "3,5", ("5",)), ("all", "MIG-a,MIG-b", ("MIG-a", "MIG-b"))],
)  # fmt: skip
def test_gpus_are_chosen_by_number_or_by_name(machine, wish, chosen, names):
    machine("library")
    found = chosen_gpus(wish, {} if chosen is None else {"CUDA_VISIBLE_DEVICES": chosen})
    # Only numbers that the driver gave out are its own.
    assert found == Gpus(names, by_bus=chosen is None and all(name.isdecimal() for name in names))


@pytest.mark.parametrize(
    ("wish", "chosen", "what"),
    [("3", None, "from 1 to 2"), ("0", None, "from 1 to 2"), ("7,", None, "names 7"), ("0,0", None, "different"),
     ("", None, "must be all"), ("-1,0", None, "must be all"), ("GPU-cc", None, "names GPU-cc"),
     ("0,1", "3,5", "names 0"), ("all", "", "no NVIDIA GPU")],
)  # fmt: skip
def test_gpus_that_are_not_there_are_refused(machine, wish, chosen, what):
    machine("library")
    with pytest.raises(BadOption, match=what):
        chosen_gpus(wish, {} if chosen is None else {"CUDA_VISIBLE_DEVICES": chosen})


def test_names_are_taken_as_they_are_where_nothing_lists_gpus(machine):
    machine("nothing")
    assert chosen_gpus("0,1", {}) == Gpus(("0", "1"), by_bus=True)
    with pytest.raises(BadOption, match="no NVIDIA GPU"):
        chosen_gpus("2", {})


@pytest.mark.parametrize(
    ("environment", "uuids"),
    [({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, UUIDS[1:]),
     # CUDA begins with the fastest GPU by itself, and nobody says which one that is.
     ({"CUDA_VISIBLE_DEVICES": "1"}, ()), ({"CUDA_VISIBLE_DEVICES": "GPU-a"}, UUIDS[:1]), ({}, UUIDS),
     ({"CUDA_VISIBLE_DEVICES": ""}, ())],
)  # fmt: skip
def test_the_gpus_of_a_run_are_known_by_their_uuids(machine, environment, uuids):
    machine("library")
    assert tuple(gpu.uuid for gpu in given_gpus(environment)) == uuids


def test_slots_have_a_gpu_each_in_the_order_of_the_driver(machine):
    machine("library")
    assert [(slot.gpus, slot.gpus_by_bus) for slot in LocalExecutor(3)._slots] == [
        ("0", True),
        ("1", True),
        ("0", True),
    ]
    assert LocalExecutor(1).slot(0).gpus is None
    assert LocalExecutor(1, gpus=Gpus(("MIG-a",))).slot(0) == LocalExecutor(2, gpus=Gpus(("MIG-a",))).slot(0).__class__(
        index=0, cores=LocalExecutor(1).slot(0).cores, threads=LocalExecutor(1).slot(0).threads, gpus="MIG-a"
    )


def test_the_gpu_memory_of_a_command_is_that_of_its_own_processes(machine, tmp_path):
    def first():
        children = psutil.Process().children()
        return {os.getpid(): 1 << 40, **{child.pid: 3 << 20 for child in children}}

    def second():
        return {child.pid: 4 << 20 for child in psutil.Process().children()} | {1: None}

    machine("library", held=(first, second))
    runtime_file = tmp_path / "runtime.json"
    launch = Launch(
        argv=[sys.executable, "-c", "import time; time.sleep(0.3)"],
        environment={**os.environ, "DEVIATE_RUNTIME": str(runtime_file)}, cwd=Path(tmp_path),
        stdout=tmp_path / "out", stderr=tmp_path / "err", slot=Slot(index=0), runtime_file=runtime_file,
        ended_file=tmp_path / "ended.json",
    )  # fmt: skip
    executor = LocalExecutor(1)
    handle = executor.start(launch)
    while executor.poll(handle):
        executor.wait(0.05)
    assert read_json(tmp_path / "ended.json", Ended).gpu_memory == 7 << 20
