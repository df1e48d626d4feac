"""Stands for the package of the NVIDIA driver's library: two GPUs, and processes that hold memory on them."""

from types import SimpleNamespace

NAMES = ("NVIDIA H100", "NVIDIA A100")
UUIDS = ("GPU-aa11", "GPU-bb22")


class NVMLError(Exception):
    """As the driver's library raises."""


class FakeNvml:
    NVMLError = NVMLError

    def __init__(self, held=(), *, fails=False):
        #: For each GPU, bytes by process; called, since processes come and go.
        self.held = held or (dict, dict)
        self.fails = fails

    def nvmlInit(self):
        if self.fails:
            raise NVMLError("Driver Not Loaded")

    def nvmlSystemGetDriverVersion(self):
        return b"550.54"

    def nvmlDeviceGetCount(self):
        return len(NAMES)

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetUUID(self, device):
        return UUIDS[device]

    def nvmlDeviceGetName(self, device):
        return NAMES[device]

    def nvmlDeviceGetComputeRunningProcesses(self, device):
        return [SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in self.held[device]().items()]
