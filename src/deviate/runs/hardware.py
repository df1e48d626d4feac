"""The cores and GPUs of this machine, as the system and the driver list them; no device is started."""

from __future__ import annotations

import functools
import itertools
import os
import platform
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import SCHEMA
from deviate.store.files import read_json, write_json
from deviate.store.folders import ExperimentFolder
from deviate.store.run_files import Cancelled, Hardware, RunInfo

# What the NVIDIA driver says of GPUs, by its management library (package nvidia-ml-py); no device is started.
#
# All of it is unknown without the package or the driver, and nothing is raised.


@dataclass(frozen=True)
class Gpu:
    """A GPU of this machine."""

    #: By the order on the bus, as ``nvidia-smi`` numbers them.
    index: str
    #: ``GPU-8932f937-d72c-4106-c12f-20bd9faed9f6``.
    uuid: str
    name: str
    driver: str


@functools.cache
def _library() -> Any:
    """Return the library, ready to be asked; None where it cannot be."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def list_gpus() -> list[Gpu] | None:
    """Return the GPUs of this machine; None where the library cannot say."""
    library = _library()
    if library is None:
        return None
    try:
        driver = _text(library.nvmlSystemGetDriverVersion())
        return [
            Gpu(
                str(index),
                _text(library.nvmlDeviceGetUUID(device)),
                _text(library.nvmlDeviceGetName(device)),
                driver,
            )
            for index, device in enumerate(_devices(library))
        ]
    except library.NVMLError:
        return None


def memory_by_process() -> dict[int, int]:
    """Return the bytes of GPU memory that processes hold on all GPUs together, by process id.

    Processes whose memory the driver does not tell, as in some containers, are left out.
    """
    library = _library()
    held: dict[int, int] = {}
    if library is None:
        return held
    try:
        for device in _devices(library):
            for process in library.nvmlDeviceGetComputeRunningProcesses(device):
                if process.usedGpuMemory is not None:
                    held[process.pid] = held.get(process.pid, 0) + process.usedGpuMemory
    except library.NVMLError:
        return {}
    return held


def _devices(library: Any) -> Iterator[Any]:
    for index in range(library.nvmlDeviceGetCount()):
        yield library.nvmlDeviceGetHandleByIndex(index)


def _text(value: str | bytes) -> str:
    # Older versions of the package return bytes.
    return value.decode() if isinstance(value, bytes) else value


#: Seconds the driver's tool may take.
PATIENCE = 30.0

_CPU_INFO = Path("/proc/cpuinfo")

#: Has CUDA number GPUs as the driver does; by itself it begins with the fastest.
ORDER_VARIABLE, BUS_ORDER = "CUDA_DEVICE_ORDER", "PCI_BUS_ID"


def hardware(environment: Mapping[str, str]) -> Hardware:
    """Return what a program with this environment computes on; all GPUs where it is not known which of them it sees."""
    chosen = listed_gpus(environment.get("CUDA_VISIBLE_DEVICES", "all"))
    gpus = given_gpus(environment) or (machine_gpus() if chosen else ())
    return Hardware(architecture=platform.machine(), cpu=cpu_model(), gpus=sorted(gpu.name for gpu in gpus))


@functools.cache
def cpu_model() -> str:
    """Return the name of the processor; empty where the system does not tell."""
    with suppress(OSError, StopIteration):
        lines = _CPU_INFO.read_text(errors="replace").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return platform.processor()


def usable_cores() -> list[int]:
    """Return the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


class Gpus(NamedTuple):
    """GPUs that runs may use, in words of CUDA_VISIBLE_DEVICES."""

    names: tuple[str, ...] = ()
    #: Names are numbers of the driver's; else they are as the user gave them.
    by_bus: bool = False


def visible_gpus(environment: Mapping[str, str]) -> Gpus:
    """Return the NVIDIA GPUs that runs may use: those that the user has chosen, else all; none without a driver."""
    chosen = environment.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return Gpus(tuple(listed_gpus(chosen)))
    return Gpus(tuple(gpu.index for gpu in machine_gpus()), by_bus=True)


def chosen_gpus(wish: str, environment: Mapping[str, str]) -> Gpus:
    """Return the GPUs that a value of ``--gpus`` means: ``all``, how many, or a list as CUDA_VISIBLE_DEVICES has it.

    A list of one number ends with a comma.

    Raises BadOption if they are not there, or not among those that CUDA_VISIBLE_DEVICES leaves.
    """
    visible = visible_gpus(environment)
    if wish.isdecimal() or wish == "all":
        wanted = len(visible.names) if wish == "all" else int(wish)
        if not visible.names or not 0 < wanted <= len(visible.names):
            raise _too_few(wish, visible)
        return Gpus(visible.names[:wanted], visible.by_bus)
    names = tuple(listed_gpus(wish.removesuffix(",")))
    if not names or len(set(names)) < len(names):
        raise BadOption(
            f"--gpus must be all, a number of GPUs, or a list of different ones, found {wish!r}",
            hint="type --gpus all, --gpus 2, or --gpus 0,1",
        )
    unknown = [name for name in names if not _is_among(name, visible)]
    if visible.names and unknown:
        raise BadOption(
            f"--gpus names {unknown[0]}, which is not among the GPUs that are visible: {', '.join(visible.names)}",
            hint=f"type --gpus all, or --gpus {visible.names[0]},",
        )
    return Gpus(names, visible.by_bus and all(name.isdecimal() for name in names))


def _too_few(wish: str, visible: Gpus) -> BadOption:
    if not visible.names:
        return BadOption(
            f"--gpus {wish}: no NVIDIA GPU is visible", hint="name what runs may use (--gpus 0,1), or leave it out"
        )
    one = f"; a device of that number is --gpus {wish}," if wish in visible.names else ""
    return BadOption(
        f"--gpus must be from 1 to {len(visible.names)} here, found {wish}: visible are {', '.join(visible.names)}",
        hint=f"type --gpus all{one}",
    )


def _is_among(name: str, visible: Gpus) -> bool:
    """Tell whether a device is visible; a part of a GPU (MIG) is taken as it is given."""
    if not visible.by_bus:
        return name in visible.names
    return name.startswith("MIG-") or any(_is_named(gpu, name) for gpu in machine_gpus())


def _is_named(gpu: Gpu, name: str) -> bool:
    # CUDA takes the beginning of a UUID for the whole of it.
    return name == gpu.index or (name.startswith("GPU-") and gpu.uuid.startswith(name))


def listed_gpus(text: str) -> list[str]:
    """Return the devices of a value of CUDA_VISIBLE_DEVICES; CUDA reads it up to the first that cannot be one.

    >>> listed_gpus("2,3"), listed_gpus("GPU-8932f937, GPU-a1"), listed_gpus("0,-1,1"), listed_gpus("")
    (['2', '3'], ['GPU-8932f937', 'GPU-a1'], ['0'], [])
    """
    words = (word.strip() for word in text.split(","))
    return list(itertools.takewhile(lambda word: word and not word.startswith("-"), words))


def given_gpus(environment: Mapping[str, str]) -> list[Gpu]:
    """Return the GPUs of this machine that a program with this environment sees.

    Numbers tell which one is meant only where CUDA counts as the driver does: others are left out.
    """
    chosen, gpus = environment.get("CUDA_VISIBLE_DEVICES"), machine_gpus()
    if chosen is None:
        return list(gpus)
    counts = environment.get(ORDER_VARIABLE) == BUS_ORDER or len(gpus) == 1
    named = [name for name in listed_gpus(chosen) if counts or not name.isdecimal()]
    return [gpu for name in named for gpu in gpus if _is_named(gpu, name)]


def installed_gpus() -> tuple[str, ...]:
    """Return the NVIDIA GPUs of this machine, each with its driver: ``NVIDIA H200, driver 550.54``."""
    return tuple(f"{gpu.name}, driver {gpu.driver}" for gpu in machine_gpus())


@functools.cache
def machine_gpus() -> tuple[Gpu, ...]:
    """Return the NVIDIA GPUs of this machine: by the driver's library, else by its tool; none without a driver."""
    listed = list_gpus()
    return tuple(_asked_tool() if listed is None else listed)


def _asked_tool() -> Sequence[Gpu]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    command = [tool, "--query-gpu=index,uuid,driver_version,name", "--format=csv,noheader"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [[word.strip() for word in line.split(",", 3)] for line in listed.stdout.splitlines() if line.strip()]
    return [Gpu(index, uuid, name, driver) for index, uuid, driver, name in rows] if listed.returncode == 0 else []


# The setting ``same_hardware``: runs on a machine that is not like that of the first run are refused before they start.

HINT = "start it on such a machine; without same_hardware runs are made on any, and reports list what differs"

#: How parts of a machine are called.
_WORDS = {"architecture": "architecture", "cpu": "processor", "gpus": "GPUs"}


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of the first run: ``hardware.json``."""

    schema: int = SCHEMA
    run: str
    host: str
    hardware: Hardware


def hardware_refusal(folder: ExperimentFolder, info: RunInfo) -> Cancelled | None:
    """Return the outcome of a run that is ready to start on another machine than the first one's; None on the same.

    Of runs that are ready on several machines at once, one is the first.
    """
    assert isinstance(info.hardware, Hardware)  # of every run that is made ready
    reference = _reference(folder, info, info.hardware)
    differing = [
        f"{word} {_shown(here)}, not {_shown(there)}"
        for name, word in _WORDS.items()
        if (here := getattr(info.hardware, name)) != (there := getattr(reference.hardware, name))
    ]
    if not differing:
        return None
    first = f"as {reference.run} had on {reference.host}"
    return Cancelled(seconds=0.0, reason=f"not started: {info.host} has {'; '.join(differing)}, {first}", hint=HINT)


def _reference(folder: ExperimentFolder, info: RunInfo, own: Hardware) -> Reference:
    path = folder.hardware_file
    if not path.is_file():
        aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        write_json(aside, _first(folder) or _of(info, own))
        # A link is made by one of several at once.
        with suppress(FileExistsError):
            os.link(aside, path)
        aside.unlink()
    reference: Reference = read_json(path, Reference)
    return reference


def _first(folder: ExperimentFolder) -> Reference | None:
    """Return the machine of the earliest run that was made before the option was given; None where there is none."""
    infos = [info for run in folder.runs() if run.is_done and (info := run.read_info()) is not None]
    known = [(info.started, _of(info, info.hardware)) for info in infos if isinstance(info.hardware, Hardware)]
    return min(known, key=lambda each: each[0])[1] if known else None


def _of(info: RunInfo, hardware: Hardware) -> Reference:
    return Reference(run=f"{info.variant}-{info.index}", host=info.host, hardware=hardware)


def _shown(part: str | list[str]) -> str:
    return part if isinstance(part, str) else ", ".join(part) or "none"
