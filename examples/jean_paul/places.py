# Where a program computes: a kind of processor stands for a device where there is one device alone.
import os

# What libraries read when they are loaded: instructions that every x86-64 processor has.
OLD = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"}
OLD_XLA = "--xla_cpu_max_isa=SSE4_2"

PLACES = ("cpu", "two-threads", "old-cpu", "gpu")


def go_to(place):
    # Called before a framework is imported.
    if place == "old-cpu":
        os.environ.update(OLD)
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {OLD_XLA}".strip()
    if place != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        os.environ["JAX_PLATFORMS"] = "cpu"


def torch_device(place):
    import torch

    torch.set_num_threads(2 if place == "two-threads" else 1)
    return torch.device("cuda" if place == "gpu" else "cpu")
