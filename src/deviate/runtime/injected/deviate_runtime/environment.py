"""Describe the machine and the libraries a training ran with. Nothing is imported and no device is started for it."""

import os

from .frameworks import every


def describe_environment(modules):
    """Return the environment event.

    `modules`: loaded modules by name.
    """
    torch = modules.get("torch")
    return {
        "event": "environment",
        "libraries": library_versions(modules),
        "variables": {name: os.environ[name] for name in every("variables") if name in os.environ},
        "cpu": cpu_model(),
        "cpu_capability": cpu_capability(torch),
        "cores": core_count(),
        "threads": torch.get_num_threads() if hasattr(torch, "get_num_threads") else None,
        "torch": describe_torch(torch),
        "gpu": describe_gpus(torch),
    }


def library_versions(modules):
    """Return the version of each library that is loaded; a module that loads its parts late keeps it among them."""
    loaded = {name: vars(modules[name]) for name in every("packages") if modules.get(name) is not None}
    versions = {key: own.get("__version__", own.get("_objects", {}).get("__version__")) for key, own in loaded.items()}
    return {name: str(version) for name, version in versions.items() if version is not None}


def core_count():
    """Return the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def cpu_model():
    """Return the processor's name, None where the system does not provide it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        return None
    return None


def cpu_capability(torch):
    """Return the vector instructions torch uses, which change results."""
    cpu = getattr(getattr(torch, "backends", None), "cpu", None)
    return cpu.get_cpu_capability() if hasattr(cpu, "get_cpu_capability") else None


def describe_torch(torch):
    """Return the settings of torch that change what it computes, as they are at the end; None without torch."""
    if not hasattr(torch, "get_num_interop_threads"):
        return None
    backends = torch.backends
    settings = {
        "interop_threads": torch.get_num_interop_threads,
        "matmul_precision": lambda: torch.get_float32_matmul_precision(),
        "default_dtype": lambda: str(torch.get_default_dtype()),
        "deterministic": torch.are_deterministic_algorithms_enabled,
        "mkldnn": lambda: backends.mkldnn.is_available() and torch._C._get_mkldnn_enabled(),
        "matmul_tf32": lambda: backends.cuda.matmul.allow_tf32,
        "cudnn_tf32": lambda: backends.cudnn.allow_tf32,
        "cudnn_benchmark": lambda: backends.cudnn.benchmark,
        "cudnn_deterministic": lambda: backends.cudnn.deterministic,
        "reduced_precision": lambda: str(backends.cuda.matmul.allow_fp16_reduced_precision_reduction),
    }
    return {name: read(setting) for name, setting in settings.items()}


def read(setting):
    """Return a setting, None where this version of torch does not have it."""
    try:
        return setting()
    except Exception:
        return None


def describe_gpus(torch):
    """Return the GPUs that torch has started, None where it has started none."""
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    return {
        "names": [cuda.get_device_name(index) for index in range(cuda.device_count())],
        "cuda": torch.version.cuda,
        "cudnn": read(lambda: torch.backends.cudnn.version()),
        "nccl": read(lambda: str(torch.cuda.nccl.version())),
        "capability": read(
            lambda: [list(torch.cuda.get_device_capability(n)) for n in range(torch.cuda.device_count())]
        ),
        "driver": driver_version(),
    }


def driver_version():
    """Return the version that the NVIDIA driver reports."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return None
