"""The cores and GPUs of this machine, as the system and the driver's own tool list them; no device is started."""

from __future__ import annotations

import functools
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
    """Return the indices of the NVIDIA GPUs; none where there is no driver, or the user has chosen already."""
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return []
    return _query("index").split()


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
