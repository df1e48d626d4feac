"""The records of all frameworks and libraries that Deviate knows.

Environment variables that numerical libraries read: determinism, threads, and which of them are recorded.

What only an API can set is the runtime's part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

# What Deviate knows of one framework outside of the training process; inside, the injected runtime has its own.


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """One framework or numerical library. What it does not need stays empty."""

    name: str
    #: Names under which its packages are imported.
    packages: tuple[str, ...] = ()
    #: Environment variables that hold its implementation fixed. All are read when the library is loaded or its first
    #: kernel runs: a switch in the program is too late.
    switches: Mapping[str, str] = {}
    #: Values of the user that are as good, by variable; None: any.
    as_good: Mapping[str, frozenset[str] | None] = {}
    #: Flags to the same end, by the variable that they are appended to.
    flags: Mapping[str, str] = {}
    #: How names of variables begin that change what it computes.
    variables: tuple[str, ...] = ()
    #: Variables that set its number of threads.
    threads: tuple[str, ...] = ()
    #: Variables (``XLA_FLAGS`` is appended to) with the values that limit it to the vector instructions AVX2,
    #: AVX and SSE4.2, in this order.
    instructions: Mapping[str, tuple[str, str, str]] = {}
    #: Patterns of what it prints about an operation without a deterministic form; the group is the operation.
    warnings: tuple[str, ...] = ()
    #: True: it takes every GPU it finds, and the runtime does not learn of it.
    takes_gpus: bool = False
    #: Patterns of decorators whose compilers read the function's source or bytecode.
    compilers: tuple[str, ...] = ()
    #: Patterns of decorators that run the function to see what it does.
    tracers: tuple[str, ...] = ()
    #: Suffixes of files that hold weights and little else.
    weights: tuple[str, ...] = ()


FRAMEWORKS = (
    Framework(
        name="PyTorch",
        packages=("torch",),
        # torch.compile: no autotuning by time, which picks other kernels in other runs (torch >= 2.10).
        switches={"TORCHINDUCTOR_DETERMINISTIC": "1"},
        variables=("ATEN_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_"),
        instructions={"ATEN_CPU_CAPABILITY": ("avx2", "default", "default")},
        # ``alertNotDeterministic`` and the attention kernels (2.13).
        warnings=(
            r"(\S+) does not have a deterministic implementation, but you set",
            r"((?:Flash|Memory[ -]Efficient|cuDNN)\s?[Aa]ttention) defaults to a non-deterministic algorithm",
            r"this operation is not deterministic because it uses (CuBLAS)",
        ),
        compilers=(r"torch\.(compile|jit\.script\w*)",),
        weights=(".pt", ".pth", ".ckpt", ".pth.tar", ".pt.tar", ".safetensors"),
    ),
    Framework(
        name="TensorFlow",
        packages=("tensorflow",),
        switches={
            # 2.1 to 2.7; from 2.8 on the runtime calls enable_op_determinism, which does the same.
            "TF_DETERMINISTIC_OPS": "1",
            # 1.14 to 2.0; ignored later.
            "TF_CUDNN_DETERMINISTIC": "1",
        },
        variables=("TF_",),
        threads=("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
        # 2.8 on it raises ``UnimplementedError`` instead of warning, so that the run has failed.
        warnings=(
            r"A deterministic GPU implementation of (\S+) is not currently available",
            r"(?:Deterministic|deterministic) GPU implementation of (\S+) not available",
        ),
        takes_gpus=True,
        compilers=(r"(tf|tensorflow)\.function",),
    ),
    Framework(
        name="XLA",
        # It has no variable for this, only flags. This one rules out atomics and autotuning by time both;
        # ``--xla_gpu_exclude_nondeterministic_ops`` alone leaves the latter, and needs ``--xla_gpu_autotune_level=0``.
        flags={"XLA_FLAGS": "--xla_gpu_deterministic_ops=true"},
        variables=("XLA_",),
        # On a CPU it takes as many threads as the process has cores; no variable sets it.
        instructions={"XLA_FLAGS": ("--xla_cpu_max_isa=AVX2", "--xla_cpu_max_isa=AVX", "--xla_cpu_max_isa=SSE4_2")},
        # jaxlib 0.10 raises an error, so that the run has failed.
        warnings=(r"HLO instruction (\S+) does not have a deterministic implementation",),
    ),
    Framework(
        name="JAX",
        packages=("jax", "jaxlib"),
        variables=("JAX_",),
        takes_gpus=True,
        compilers=("pjit", "pmap"),
        tracers=(r"\b(jax|nnx|eqx|equinox)\.", r"\bpmap\b"),
    ),
    Framework(name="Keras", packages=("keras",), variables=("KERAS_",), weights=(".keras", ".weights.h5")),
    Framework(name="PaddlePaddle", packages=("paddle",), weights=(".pdparams", ".pdopt")),
    Framework(name="Lightning", packages=("lightning", "pytorch_lightning"), variables=("PL_",)),
    Framework(name="Accelerate", packages=("accelerate",), variables=("ACCELERATE_",)),
    Framework(
        name="Numba and kernel languages",
        packages=("numba", "triton", "taichi"),
        compilers=("n?jit", "guvectorize", r"(numba|nb|triton|ti|taichi)\.\w+"),
    ),
    Framework(
        name="CUDA",
        # cuBLAS chooses among streams' workspaces; torch before 2.10 refuses determinism without. ":16:8" does as well.
        switches={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"},
        as_good={"CUBLAS_WORKSPACE_CONFIG": frozenset({":4096:8", ":16:8"})},
        variables=("CUDA_", "CUBLAS_", "CUDNN_", "NVIDIA_"),
    ),
    Framework(
        name="NCCL",
        # Order of a sum over GPUs: chosen by measured topology otherwise. Ring is what all versions have, and one of
        # those that Megatron allows in its deterministic mode.
        switches={"NCCL_ALGO": "Ring"},
        as_good={"NCCL_ALGO": None},
        variables=("NCCL_",),
    ),
    Framework(name="Gloo", variables=("GLOO_",)),
    Framework(
        name="Horovod",
        # Which gradients are summed together depends on when they are ready otherwise.
        switches={"HOROVOD_FUSION_THRESHOLD": "0"},
        variables=("HOROVOD_",),
    ),
    Framework(
        name="flash-attn",
        # Its backward accumulates with atomics otherwise.
        switches={"FLASH_ATTENTION_DETERMINISTIC": "1"},
        variables=("FLASH_ATTENTION_",),
    ),
    Framework(name="Transformer Engine", switches={"NVTE_ALLOW_NONDETERMINISTIC_ALGO": "0"}, variables=("NVTE_",)),
    Framework(
        name="Mamba",
        # And its convolution.
        switches={"MAMBA_DETERMINISTIC": "1", "CAUSAL_CONV1D_DETERMINISTIC": "1"},
        variables=("MAMBA_", "CAUSAL_CONV1D_"),
    ),
    # Collectives of Ascend.
    Framework(name="Ascend", switches={"HCCL_DETERMINISTIC": "true"}, variables=("HCCL_",)),
    Framework(
        name="MKL",
        switches={
            # Sums depend on where in memory the data lie otherwise; AUTO keeps the fastest code (no cost was measured).
            "MKL_CBWR": "AUTO",
            # The number of threads, and with it the order of sums, follows how busy the machine is otherwise.
            "MKL_DYNAMIC": "FALSE",
        },
        as_good={"MKL_CBWR": None},
        variables=("MKL_",),
        threads=("MKL_NUM_THREADS",),
        instructions={"MKL_CBWR": ("AVX2", "AVX", "COMPATIBLE")},
    ),
    Framework(
        name="OpenMP",
        switches={
            # As MKL_DYNAMIC.
            "OMP_DYNAMIC": "FALSE",
            # Intel's OpenMP joins partial sums in the order in which threads are done otherwise.
            "KMP_DETERMINISTIC_REDUCTION": "TRUE",
        },
        variables=("OMP_", "KMP_"),
        threads=("OMP_NUM_THREADS",),
    ),
    Framework(
        name="OpenBLAS",
        variables=("OPENBLAS_", "GOTO_"),
        threads=("OPENBLAS_NUM_THREADS",),
        # The first core of Intel's with those instructions.
        instructions={"OPENBLAS_CORETYPE": ("Haswell", "Sandybridge", "Nehalem")},
    ),
    Framework(
        name="oneDNN",
        variables=("DNNL_", "ONEDNN_"),
        instructions={"ONEDNN_MAX_CPU_ISA": ("AVX2", "AVX", "SSE41")},
    ),
    Framework(name="BLIS", variables=("BLIS_",), threads=("BLIS_NUM_THREADS",)),
    Framework(name="numexpr", packages=("numexpr",), variables=("NUMEXPR_",), threads=("NUMEXPR_NUM_THREADS",)),
    Framework(name="vecLib", variables=("VECLIB_",), threads=("VECLIB_MAXIMUM_THREADS",)),
    Framework(name="NumPy", packages=("numpy",), variables=("NPY_",)),
)


#: The variables of all frameworks.
SWITCHES = {name: value for framework in FRAMEWORKS for name, value in framework.switches.items()}

_AS_GOOD = {name: values for framework in FRAMEWORKS for name, values in framework.as_good.items()}

_FLAGS = {name: flag for framework in FRAMEWORKS for name, flag in framework.flags.items()}


def deterministic(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set so that equal seeds give equal bits, as far as the environment can say it."""
    held = {name: value for name, value in SWITCHES.items() if not _is_as_good(name, environment.get(name))}
    for name, flag in _FLAGS.items():
        flags = environment.get(name, "")
        if flag.lstrip("-") not in flags:
            # The last of two equal flags counts.
            held[name] = f"{flags} {flag}".strip()
    return held


def _is_as_good(name: str, value: str | None) -> bool:
    good = _AS_GOOD.get(name, frozenset())
    return value is not None and (good is None or value in good)


#: How names of variables begin that numerical libraries, their allocators and their collectives read.
NUMERICAL = (
    *(prefix for framework in FRAMEWORKS for prefix in framework.variables),
    *("PYTHONHASHSEED", "LD_PRELOAD", "MALLOC_"),
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


#: Numbers of threads, read by numerical libraries when they are loaded.
VARIABLES = tuple(name for framework in FRAMEWORKS for name in framework.threads)


def thread_count(offered: int | None, environment: Mapping[str, str]) -> int | None:
    """Return how many threads a run uses: what the user's OMP_NUM_THREADS says, or else `offered`."""
    if offered is None:
        return None
    # OpenMP allows a list, a number per nesting level.
    first = environment.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else offered


def thread_variables(threads: int | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that set `threads` for libraries, without those that the user sets."""
    if threads is None:
        return {}
    return {name: str(threads) for name in VARIABLES if not environment.get(name)}
