"""What is known to help against a cause."""

from __future__ import annotations

import re

from deviate.probes.divergence.lines import Origin
from deviate.probes.divergence.operations import Kind

#: What a line of source contains, and what helps; the first that fits counts.
_LINES = (
    (r"\bhash\(", "use hashlib, or set PYTHONHASHSEED in the environment: hash() of a text differs from run to run"),
    (r"\btime(_ns)?\(|perf_counter|monotonic|datetime\.|\bnow\(", "take no number of the training from the clock"),
    (
        r"listdir|scandir|iterdir|\bglob\(|\brglob\(|os\.walk",
        "sort the names: file systems list them in their own order",
    ),
    (r"\bset\(|\{[^:{}]+\}|frozenset|\.keys\(\)", "sort the set before its order counts"),
    (r"urandom|secrets\.|uuid|getpid|\bid\(|SystemRandom", "take no number of the training from the system"),
    (r"\b(np|numpy)\.empty|\.empty\(|empty_like|new_empty", "fill the memory: use zeros in place of empty"),
    (r"default_rng\(\s*\)|RandomState\(\s*\)|Random\(\s*\)|Generator\(\s*\)", "give the generator a seed"),
    (
        r"train_test_split|KFold\(|ShuffleSplit\(|\bfit\(|\bfit_\w+\(",
        "give it a random_state, or seed NumPy: numpy.random.seed",
    ),
    (r"\benvs?\.reset\(\s*\)", "seed the environment at its first reset: env.reset(seed=0)"),
    (r"\.get\(|as_completed|imap_unordered|wait\(", "take results in the order of their tasks, not of their arrival"),
)

#: The switch that has PyTorch choose kernels that repeat, where it has any.
DETERMINISTIC = "torch.use_deterministic_algorithms(True)"

#: Where all switches are set, and an operation differs nevertheless.
BEYOND_SWITCHES = f"another operation in its place: {DETERMINISTIC} was set and did not help"

#: Operations of PyTorch, and what helps.
_OPERATIONS = (
    (r"scatter|index_add|index_put|index_copy|bincount|histc|put_|attention", DETERMINISTIC),
    (r"upsample|interpolate|grid_sampl|pool|cumsum|embedding", DETERMINISTIC),
    (r"conv", f"{DETERMINISTIC} and torch.backends.cudnn.benchmark = False"),
    (r"^aten\.", f"{DETERMINISTIC}; torch.set_num_threads(1) tells whether threads decide"),
)

_KINDS: dict[str, str] = {
    "threads": "set one number of threads: OMP_NUM_THREADS or torch.set_num_threads",
    "unfilled": "fill the memory: use torch.zeros in place of torch.empty",
    "memory": "look for what shares the memory: a thread, an array of NumPy, a kernel of your own",
    "draws": "seed the generator it draws from",
}


def remedy_of(kind: Kind | str, operation: str, code: str, origin: Origin | None) -> str:
    """Return what to do about a cause; empty where nothing is known.

    Examples
    --------
    >>> remedy_of("unfilled", "aten.empty.memory_format", "x = torch.empty(3)", None)
    'fill the memory: use torch.zeros in place of torch.empty'
    """
    if origin is not None and origin.kind == "unseeded":
        return f"seed the generator of `{origin.name}` before the first draw"
    if origin is not None:
        known = _first(_LINES, code)
        if known:
            return known
    if kind in _KINDS:
        return _KINDS[kind]
    if kind == "operation":
        return _first(_OPERATIONS, operation) or "make the operation repeat: what enters it is equal"
    return ""


def _first(table: tuple[tuple[str, str], ...], text: str) -> str:
    return next((remedy for pattern, remedy in table if re.search(pattern, text)), "")
