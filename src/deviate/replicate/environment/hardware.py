"""The cores and GPUs of this machine, as the system and the driver's own tool list them; no device is started."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import subprocess

#: Seconds the driver's tool may take.
PATIENCE = 30.0


def usable_cores() -> list[int]:
    """Return the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def visible_gpus() -> list[str]:
    """Return the NVIDIA GPUs that runs may use: those that the user has chosen, else all; none without a driver."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return _query("index").split() if chosen is None else listed_gpus(chosen)


def listed_gpus(text: str) -> list[str]:
    """Return the devices of a value of CUDA_VISIBLE_DEVICES; CUDA reads it up to the first that cannot be one.

    Examples
    --------
    >>> listed_gpus("2,3"), listed_gpus("GPU-8932f937, GPU-a1"), listed_gpus("0,-1,1"), listed_gpus("")
    (['2', '3'], ['GPU-8932f937', 'GPU-a1'], ['0'], [])
    """
    words = (word.strip() for word in text.split(","))
    return list(itertools.takewhile(lambda word: word and not word.startswith("-"), words))


@functools.cache
def installed_gpus() -> tuple[str, ...]:
    """Return the NVIDIA GPUs of this machine, each with its driver: ``NVIDIA H200, driver 550.54``."""
    pairs = (line.rpartition(",") for line in _query("name,driver_version").splitlines() if line.strip())
    return tuple(f"{name.strip()}, driver {driver.strip()}" for name, _, driver in pairs)


def _query(fields: str) -> str:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    command = [tool, f"--query-gpu={fields}", "--format=csv,noheader"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return listed.stdout if listed.returncode == 0 else ""
