"""The cores and GPUs of this machine, as the system and the driver list them; no device is started."""

from __future__ import annotations

import functools
import itertools
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from deviate.errors import BadOption
from deviate.replicate.environment.nvml import Gpu, list_gpus
from deviate.replicate.workspace.run_files import Hardware

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

    Raises
    ------
    BadOption
        If they are not there, or not among those that CUDA_VISIBLE_DEVICES leaves.
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
    return BadOption(
        f"--gpus must be from 1 to {len(visible.names)} here, found {wish}: visible are {', '.join(visible.names)}",
        hint=f"type --gpus all; a device of that number is --gpus {wish},",
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

    Examples
    --------
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
