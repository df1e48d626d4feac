"""Describe the machine and the libraries a training ran with. Nothing is imported and no device is started for it."""

import os

LIBRARIES = (
    "torch torchvision torchaudio numpy scipy pandas sklearn jax jaxlib flax optax haiku tensorflow keras tf_keras "
    "transformers accelerate datasets lightning pytorch_lightning timm gymnasium xgboost lightgbm"
).split()

VARIABLES = (
    "OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS PYTHONHASHSEED CUBLAS_WORKSPACE_CONFIG CUDA_VISIBLE_DEVICES "
    "XLA_FLAGS TF_DETERMINISTIC_OPS KERAS_BACKEND"
).split()


def describe_environment(modules):
    """Return the environment event.

    Parameters
    ----------
    modules : dict
        Loaded modules by name.
    """
    torch = modules.get("torch")
    return {
        "event": "environment",
        "libraries": library_versions(modules),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "cpu": cpu_model(),
        "cpu_capability": cpu_capability(torch),
        "cores": core_count(),
        "threads": torch.get_num_threads() if hasattr(torch, "get_num_threads") else None,
        "gpu": describe_gpus(torch),
    }


def library_versions(modules):
    """Return the version of each library that is loaded."""
    loaded = {name: vars(modules[name]).get("__version__") for name in LIBRARIES if modules.get(name) is not None}
    return {name: str(version) for name, version in loaded.items() if version is not None}


def core_count():
    """Return the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def cpu_model():
    """Return the processor's name, None where the system does not tell."""
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


def describe_gpus(torch):
    """Return the GPUs that torch has started, None where it has started none."""
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    return {
        "names": [cuda.get_device_name(index) for index in range(cuda.device_count())],
        "cuda": torch.version.cuda,
        "driver": driver_version(),
    }


def driver_version():
    """Return what the NVIDIA driver says of itself."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return None
