"""The GPUs of this machine with their driver, as the driver's own tool tells them; no device is started for it."""

from __future__ import annotations

import functools
import shutil
import subprocess

#: Seconds the tool may take.
PATIENCE = 30.0


@functools.cache
def installed_gpus() -> tuple[str, ...]:
    """Return the NVIDIA GPUs of this machine, each with its driver: ``NVIDIA H200, driver 550.54``."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    command = [tool, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(_gpus(told.stdout)) if told.returncode == 0 else ()


def _gpus(text: str) -> list[str]:
    pairs = (line.rpartition(",") for line in text.splitlines() if line.strip())
    return [f"{name.strip()}, driver {driver.strip()}" for name, _, driver in pairs]
