"""What the NVIDIA driver says of GPUs, by its management library (package nvidia-ml-py); no device is started.

All of it is unknown without the package or the driver, and nothing is raised.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


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
