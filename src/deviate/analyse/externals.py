"""What calls into libraries give, by dotted name or by the name of the method."""

from __future__ import annotations

import re

from deviate.analyse.abstract import (
    CLOCK,
    CONSTANT,
    COUNT,
    DATA,
    DURATION,
    LIVE,
    MEMORY,
    METRIC_ORIGINS,
    OBJECT,
    PATH,
    RANDOM,
    SCHEDULE,
    SETTING,
    TEXT,
    TOTAL,
    UNKNOWN,
    WEIGHTS,
    External,
    Value,
    mixed,
    of,
)

#: The result is of this origin whatever is passed. Longest match of the dotted name's start wins.
_BY_NAME: dict[str, str] = {
    **dict.fromkeys(
        ["time.time", "time.perf_counter", "time.monotonic", "time.process_time", "time.clock", "time.time_ns",
         "time.perf_counter_ns", "timeit.default_timer", "datetime.datetime.now", "datetime.now",
         "datetime.datetime.utcnow", "datetime.datetime.today"], CLOCK),
    **dict.fromkeys(
        ["torch.cuda.max_memory_allocated", "torch.cuda.memory_allocated", "torch.cuda.memory_reserved",
         "torch.cuda.max_memory_reserved", "torch.cuda.memory_cached", "torch.cuda.max_memory_cached",
         "torch.cuda.memory_summary", "torch.cuda.memory_stats", "torch.cuda.mem_get_info", "torch.cuda.utilization",
         "psutil", "resource.getrusage", "tracemalloc", "pynvml", "GPUtil", "tf.config.experimental.get_memory_info",
         "tensorflow.config.experimental.get_memory_info"], MEMORY),
    **dict.fromkeys(["builtins.range", "itertools.count", "tqdm.trange", "builtins.id", "builtins.hash",
                     "builtins.enumerate", "tensorflow.range"], COUNT),
    "builtins.len": TOTAL,
    **dict.fromkeys(["random", "numpy.random"], RANDOM),
    **dict.fromkeys(["os", "pathlib", "glob", "tempfile", "shutil", "builtins.open", "io.open", "gzip.open"], PATH),
    **dict.fromkeys(["platform", "socket", "getpass", "uuid", "time.strftime", "time.ctime", "time.asctime",
                     "builtins.input", "builtins.type", "builtins.repr", "textwrap", "string", "inspect", "traceback",
                     "pprint", "builtins.chr", "sys", "subprocess"], TEXT),
    **dict.fromkeys(["argparse", "os.environ", "os.getenv", "os.cpu_count", "yaml", "json.load", "json.loads", "hydra",
                     "omegaconf", "torch.device", "torch.cuda.is_available", "torch.cuda.device_count", "absl.flags",
                     "torch.cuda.current_device", "torch.distributed.get_rank", "torch.distributed.get_world_size",
                     "torch.__version__", "torch.version", "torch.manual_seed", "torch.seed", "torch.initial_seed",
                     "multiprocessing.cpu_count",
                     "jax.process_index", "jax.local_devices", "jax.devices", "jax.device_count", "jax.process_count",
                     "jax.local_device_count", "fire", "configparser", "tensorflow.flags", "click", "typer", "toml",
                     "builtins.vars", "builtins.isinstance", "builtins.hasattr", "builtins.callable"], SETTING),
}  # fmt: skip

#: The result is made of what is passed.
_PASSING = ("builtins.", "numpy.", "torch.", "math.", "jax.", "tensorflow.", "statistics.", "datetime.timedelta",
            "itertools.", "functools.", "copy.", "operator.", "collections.", "jnp.", "json.dumps", "pandas.", "scipy.",
            "datetime.", "cupy.", "paddle.", "mxnet.")  # fmt: skip

_SHAPE_METHODS = {"size", "numel", "nelement", "dim", "ndimension", "type", "element_size", "get_shape",
    "get_num_params",
                  "num_parameters", "__len__", "count_params", "get_device"}  # fmt: skip
_TEXT_METHODS = {"strip", "rstrip", "lstrip", "split", "upper", "lower", "decode", "encode", "replace",
    "title", "ljust",
                 "rjust", "center", "zfill", "strftime", "isoformat", "read", "readline", "readlines", "capitalize",
                 "as_posix", "startswith", "endswith", "summary", "hexdigest", "batch_decode", "join"}  # fmt: skip
_LIVE_METHODS = {"predict", "predict_proba", "predict_on_batch", "score", "train_on_batch", "test_on_batch", "compute",
                 "result", "evaluate", "backward", "training_step", "train_step", "loss", "fit_batch"}  # fmt: skip
_SCHEDULE_METHODS = {"get_lr", "get_last_lr", "current_lr", "get_learning_rate"}
_WEIGHT_METHODS = {"parameters", "named_parameters", "state_dict", "buffers", "weights", "get_weights"}
_DICT_METHODS = {"get", "copy", "pop", "_asdict", "to_dict", "todict"}
_SELF_METHODS = {"to", "cuda", "cpu", "eval", "train", "half", "float", "double", "requires_grad_",
    "share_memory", "clone",
                 "detach", "apply", "bfloat16", "freeze", "compile", "unwrap", "__enter__", "no_sync"}  # fmt: skip
_SETTING_METHODS = {"parse_args", "parse_known_args", "parse_args_into_dataclasses", "parse_args_and_config",
                    "total_params", "get_params", "get_config"}  # fmt: skip

_SHAPE_ATTRIBUTES = {"shape", "ndim", "dtype", "device", "nnz", "num_nodes", "num_classes", "batch_size", "n_samples",
                     "num_features", "num_edges", "num_examples", "num_graphs", "num_batches", "itemsize",
                     "nbytes", "total_memory"}  # fmt: skip
_TEXT_ATTRIBUTES = {
    "__name__",
    "__class__",
    "__doc__",
    "__version__",
    "name",
    "__file__",
    "url",
    "id",
    "run_id",
    "path",
}
_SCHEDULE_ATTRIBUTES = {"lr", "learning_rate", "param_groups", "last_lr"}

#: Function of a library that wraps or transforms a function: calling the result calls the function.
FUNCTION_WRAPPERS = {"partial", "pmap", "jit", "vmap", "compile", "function", "wraps", "script", "trace", "checkpoint",
                     "DataParallel", "DistributedDataParallel", "njit", "lru_cache", "grad", "value_and_grad", "remat",
                     "prepare", "no_grad", "contextmanager", "shard_map", "map_fn", "data_parallel",
                     "main"}  # fmt: skip


_LOSS = re.compile(r"loss|cross_?entropy|accuracy|_score$|_error$|^(mse|mae|nll|bce|kl_div|auc|roc_auc)")
_METER = re.compile(r"(^|\.)(metrics?|torchmetrics|meters?)\.|Meter$|Metric(s|Collection)?$|(Mean|Average)$")


def known_origin(dotted: str) -> str | None:
    """Look a call up by dotted name or the longest known start of it."""
    at = dotted
    while at:
        if at in _BY_NAME:
            return _BY_NAME[at]
        at = at.rpartition(".")[0]
    return None


def external_call(dotted: str, args: list[Value]) -> Value:
    """Say what calling something outside the project gives."""
    last = dotted.rpartition(".")[2]
    known = known_origin(dotted)
    if known == COUNT and not dotted.endswith(("id", "hash")):
        return Value(frozenset({COUNT}), element=of(COUNT))
    if known is not None:
        return of(known)
    if last in {"parse_args", "parse_known_args", "get_config", "ConfigParser"}:
        return of(SETTING)
    passed = mixed(args)
    if dotted in {"builtins.max", "builtins.min", "builtins.sum", "builtins.abs", "builtins.round"}:
        return passed
    if passed.has(*METRIC_ORIGINS) or (
        passed.has(DATA, WEIGHTS) and not dotted.startswith(("builtins.", "numpy.", "torch."))
    ):
        return Value(passed.origins if dotted.startswith(_PASSING) else passed.origins | {LIVE})
    if dotted.startswith("torch.nn.functional.") or last in {"allreduce", "all_reduce", "reduce_mean"}:
        return Value(passed.origins | {LIVE})
    if args and _LOSS.search(last) and not last[:1].isupper():
        return Value(passed.origins - {CONSTANT, SETTING, OBJECT, UNKNOWN} | {LIVE})
    if last[:1].isupper() and _METER.search(dotted):
        return Value(frozenset({OBJECT, LIVE}), refs=(External(dotted, made=True),))
    if last[:1].isupper():
        return Value(frozenset({OBJECT, *passed.params()}), refs=(External(dotted, made=True),))
    if passed.has(PATH):
        return Value(frozenset({OBJECT, *passed.params()}), refs=(External(dotted, made=True),))
    if dotted.startswith(_PASSING) and args:
        return passed
    return Value(frozenset({UNKNOWN, *passed.params()}), refs=(External(dotted, made=True),))


def method_call(receiver: Value, name: str, args: list[Value]) -> Value:
    """Say what calling a method of something outside the project gives."""
    if receiver.has(CLOCK) and name in {"replace", "timestamp", "astimezone"}:
        return of(CLOCK)
    fixed = _method_origin(name)
    if fixed is not None:
        return of(fixed)
    if receiver.has(SETTING) and not receiver.has(*METRIC_ORIGINS):
        reads = not args or name.startswith(("get", "to_", "as_")) or name in {"pop", "copy", "setdefault", "update"}
        return Value(receiver.origins, element=receiver.element) if reads else of(OBJECT, UNKNOWN)
    if name in {"items"}:
        inner = element_of(receiver)
        return Value(receiver.origins, element=Value(inner.origins | {TEXT}, items=(of(TEXT), inner)))
    if name == "keys":
        return of(TEXT)
    if name == "values":
        return Value(receiver.origins, element=element_of(receiver))
    if name in _DICT_METHODS or (name in _SELF_METHODS and receiver.refs):
        return receiver
    if name in _LIVE_METHODS and not receiver.has(CONSTANT, TEXT):
        return Value(receiver.origins - {OBJECT, UNKNOWN} | {LIVE})
    return _combined(receiver, mixed(args), bool(args))


def _method_origin(name: str) -> str | None:
    for origin, names in (
        (TOTAL, _SHAPE_METHODS), (TEXT, _TEXT_METHODS), (SCHEDULE, _SCHEDULE_METHODS),
        (WEIGHTS, _WEIGHT_METHODS), (SETTING, _SETTING_METHODS),
    ):  # fmt: skip
        if name in names:
            return origin
    return None


def _combined(receiver: Value, passed: Value, has_args: bool) -> Value:
    if receiver.has(WEIGHTS):
        return Value(receiver.origins | {LIVE})
    if receiver.has(OBJECT, UNKNOWN) and not receiver.has(*METRIC_ORIGINS):
        if passed.has(DATA, LIVE, WEIGHTS):
            return of(LIVE)
        return Value(frozenset({UNKNOWN, *receiver.params(), *passed.params()}))
    return Value(receiver.origins | (passed.origins - {CONSTANT, COUNT, TOTAL, SETTING, PATH}))


def attribute_of(receiver: Value, name: str) -> Value | None:
    """Say what an attribute of something outside the project is; None when its name tells nothing."""
    if name in _SHAPE_ATTRIBUTES:
        return of(TOTAL)
    if name in _TEXT_ATTRIBUTES:
        return of(TEXT)
    if name in _SCHEDULE_ATTRIBUTES and not receiver.has(SETTING):
        return of(SCHEDULE)
    if name == "grad":
        return of(LIVE)
    return None


def element_of(value: Value) -> Value:
    """Say what iterating over a value gives."""
    if value.element is not None:
        return value.element
    if value.items is not None or value.keys:
        inner = mixed([*(value.items or ()), *value.keys.values()])
        refs = tuple(ref for one in (value.items or ()) for ref in one.refs)[:6]
        return Value(inner.origins or value.origins, refs)
    if value.has(OBJECT, UNKNOWN) and not value.has(LIVE):
        return Value(value.origins - {OBJECT, UNKNOWN} | {DATA})
    return value


def item_of(value: Value, position: int) -> Value:
    """Take one position of an unpacked value."""
    if value.items is not None and -len(value.items) <= position < len(value.items):
        return value.items[position]
    if value.element is not None:
        return value.element
    if value.has(OBJECT) and not value.has(LIVE):
        return Value(value.origins - {OBJECT} | {UNKNOWN})
    return Value(value.origins, value.refs)


def subtract(left: Value, right: Value) -> Value:
    """Say what a difference is: of two clock readings, a duration."""
    if (left.has(CLOCK) and right.has(CLOCK, UNKNOWN)) or right.has(CLOCK):
        return Value(frozenset({DURATION}) | {one for one in left.origins | right.origins if not isinstance(one, str)})
    return mixed((left, right))
