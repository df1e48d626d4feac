"""Environment variables that hold the implementation fixed; what only an API can set is the runtime's part."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Each with why. All are read when a library is loaded or its first kernel runs: a switch in the program is too late.
SWITCHES = {
    # cuBLAS chooses among streams' workspaces; torch before 2.10 refuses determinism without. ":16:8" does as well.
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    # flash-attn's backward accumulates with atomics otherwise.
    "FLASH_ATTENTION_DETERMINISTIC": "1",
    # torch.compile: no autotuning by time, which picks other kernels in other runs (torch >= 2.10).
    "TORCHINDUCTOR_DETERMINISTIC": "1",
    # TensorFlow 2.1 to 2.7; from 2.8 on the runtime calls enable_op_determinism, which does the same.
    "TF_DETERMINISTIC_OPS": "1",
    # TensorFlow 1.14 to 2.0; ignored later.
    "TF_CUDNN_DETERMINISTIC": "1",
    # Order of a sum over GPUs: NCCL chooses by measured topology otherwise. Ring is what all versions have, and one of
    # those that Megatron allows in its deterministic mode.
    "NCCL_ALGO": "Ring",
    # Transformer Engine, Mamba and its convolution.
    "NVTE_ALLOW_NONDETERMINISTIC_ALGO": "0",
    "MAMBA_DETERMINISTIC": "1",
    "CAUSAL_CONV1D_DETERMINISTIC": "1",
    # Which gradients Horovod sums together depends on when they are ready otherwise.
    "HOROVOD_FUSION_THRESHOLD": "0",
    # MKL's sums depend on where in memory the data lie otherwise; AUTO keeps the fastest code (no cost was measured).
    "MKL_CBWR": "AUTO",
    # The number of threads, and with it the order of sums, follows how busy the machine is otherwise.
    "MKL_DYNAMIC": "FALSE",
    "OMP_DYNAMIC": "FALSE",
    # Intel's OpenMP joins partial sums in the order in which threads are done otherwise.
    "KMP_DETERMINISTIC_REDUCTION": "TRUE",
    # Ascend's collectives.
    "HCCL_DETERMINISTIC": "true",
}

#: Values of the user that are as good, by variable; None: any.
_AS_GOOD: dict[str, frozenset[str] | None] = {
    "CUBLAS_WORKSPACE_CONFIG": frozenset({":4096:8", ":16:8"}),
    "NCCL_ALGO": None,
    "MKL_CBWR": None,
}

#: XLA has no variable of its own for this, only flags. This one rules out atomics and autotuning by time both;
#: ``--xla_gpu_exclude_nondeterministic_ops`` alone leaves the latter, and needs ``--xla_gpu_autotune_level=0`` beside.
XLA_FLAG = "--xla_gpu_deterministic_ops=true"


def deterministic(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set so that equal seeds give equal bits, as far as the environment can say it."""
    held = {name: value for name, value in SWITCHES.items() if not _is_as_good(name, environment.get(name))}
    flags = environment.get("XLA_FLAGS", "")
    if "xla_gpu_deterministic_ops=true" not in flags:
        # The last of two equal flags counts.
        held["XLA_FLAGS"] = f"{flags} {XLA_FLAG}".strip()
    return held


def _is_as_good(name: str, value: str | None) -> bool:
    good = _AS_GOOD.get(name, frozenset())
    return value is not None and (good is None or value in good)


#: How names of variables begin that numerical libraries, their allocators and their collectives read.
NUMERICAL = (
    *("OMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "NUMEXPR_", "GOTO_", "VECLIB_", "DNNL_", "ONEDNN_", "NPY_"),
    *("ATEN_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "CUDA_", "CUBLAS_", "CUDNN_", "NVIDIA_", "NCCL_", "NVTE_"),
    *("TF_", "XLA_", "JAX_", "KERAS_", "HOROVOD_", "HCCL_", "FLASH_ATTENTION_", "MAMBA_", "CAUSAL_CONV1D_", "PL_"),
    *("PYTHONHASHSEED", "LD_PRELOAD", "ACCELERATE_", "GLOO_", "MALLOC_"),
)


#: Of Terraform, whose names begin like TensorFlow's.
_OTHERS = (
    *("TF_CLI_", "TF_CLOUD_", "TF_DATA_DIR", "TF_IGNORE", "TF_INPUT", "TF_IN_AUTOMATION", "TF_LOG", "TF_PLUGIN_"),
    *("TF_REGISTRY_", "TF_STATE_", "TF_VAR_", "TF_WORKSPACE"),
)

#: What is in the name of a variable that nobody else may read, such as NVIDIA_API_KEY or TF_TOKEN_app_terraform_io.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


def numerical_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return those variables that change what numerical libraries compute, by name."""
    return {
        name: environment[name]
        for name in sorted(environment)
        if name.startswith(NUMERICAL) and not name.startswith(_OTHERS) and not _SECRET.search(name)
    }
