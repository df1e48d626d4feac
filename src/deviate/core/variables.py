"""Environment variables that numerical libraries read: determinism, threads, and which of them are recorded.

What only an API can set is the runtime's part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from deviate.core.frameworks import FRAMEWORKS

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
