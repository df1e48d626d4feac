"""Reports to trackers, summary writers and loggers of values: under tags, or as mappings."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from deviate.analyse.abstract import TEXT, External
from deviate.analyse.index import Scope
from deviate.analyse.sinks.parts import LOGGER, Told, argument, as_mapping, mapping_parts, spaced, with_tag
from deviate.analyse.sinks.printed import logged
from deviate.analyse.texts import dotted_text, take_apart
from deviate.analyse.textual import is_textual

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


#: Method or function name → (sink, position of the tag, position of the value).
_TAGGED: dict[str, tuple[str, int, int]] = {
    "add_scalar": ("tensorboard", 0, 1), "log_value": ("tensorboard", 0, 1), "scalar_summary": ("tensorboard", 0, 1),
    "scalar": ("tensorboard", 0, 1), "write_scalar": ("tensorboard", 0, 1), "log_scalar": ("tracker", 0, 1),
    "log_metric": ("tracker", 0, 1), "logkv": ("logger", 0, 1), "logkv_mean": ("logger", 0, 1),
    "record": ("logger", 0, 1), "record_mean": ("logger", 0, 1), "record_tabular": ("logger", 0, 1),
    "put_scalar": ("logger", 0, 1), "add_scalars": ("tensorboard", 0, 1), "report_scalar": ("tracker", 1, 2),
    "log_scalar_value": ("tracker", 0, 1), "record_value": ("logger", 0, 1), "log_tabular": ("logger", 0, 1),
}  # fmt: skip
#: Method or function name → (sink, position of the mapping).
_MAPPED: dict[str, tuple[str, int]] = {
    "log_metrics": ("tracker", 0), "log_dict": ("lightning", 0), "set_postfix": ("tqdm", 0), "logkvs": ("logger", 0),
    "write_scalars": ("tensorboard", 1), "put_scalars": ("logger", 0), "write_metrics": ("tracker", 0),
}  # fmt: skip
_TOLD = re.compile(r"(log|write|update|save|report|record|print|dump|track)_(summary|metrics?|stats|scalars|"
                   r"results?|log|losses|scores|"
                   r"history|performance|evaluation)$")  # fmt: skip


def tagged_sink(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> Told | None:
    """Recognise a value given with its tag: ``add_scalar(tag, value)``."""
    if name not in _TAGGED:
        return None
    if name in {"record", "scalar"} and not re.search(r"log|summ|writer|record|tb|board", said, re.IGNORECASE):
        return None
    sink, tag_at, value_at = _TAGGED[name]
    tag = argument(call, tag_at, "tag", "name", "key", "title", "metric_name")
    names = ("scalar_value", "value", "data", "val", "tensor", "metric_value", "tag_scalar_dict", "scalar")
    value = argument(call, value_at, *names)
    if value is None:
        return None
    graph = name == "scalar" and len(call.args) < 3 and not any(key.arg == "step" for key in call.keywords)
    return "tf1-summary" if graph else sink, with_tag(flow, tag, value, scope)


def mapping_sink(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> Told | None:
    """Recognise a mapping of values: ``log_metrics({...})``, ``bar.set_postfix(loss=x)``."""
    if name in _MAPPED:
        sink, position = _MAPPED[name]
        return sink, mapping_parts(flow, call, scope, position)
    if _TOLD.search(name) and not name.startswith("_"):
        mappings = [
            one
            for one in call.args
            if isinstance(one, (ast.Name, ast.Dict, ast.DictComp)) and _is_filled(flow, one, scope)
        ]
        parts = [part for one in mappings for part in as_mapping(take_apart(flow, one, scope))]
        if parts:
            return "tracker", parts
    if name == "report" and re.search(r"tune|train|session|ray|trial|nni", said):
        return "tracker", mapping_parts(flow, call, scope, 0)
    if name in {"report_intermediate_result", "report_final_result"}:
        return "tracker", spaced(flow, call.args[:1], scope)
    if name == "track" and call.args and re.search(r"run|aim", said):
        return "tracker", with_tag(flow, argument(call, 1, "name"), call.args[0], scope)
    if name == "store" and call.keywords and "log" in said.lower():
        return "logger", mapping_parts(flow, call, scope, 99)
    if name == "update" and (values := argument(call, 99, "values")) is not None:
        return "tqdm", take_apart(flow, values, scope)
    if name == "update" and re.search(r"summary$", said):
        return "tracker", mapping_parts(flow, call, scope, 0)
    if (
        name in {"append", "log", "extend"}
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Subscript)
    ):
        return _neptune(flow, call, call.func.value, scope)
    if name == "line" and (y := argument(call, 99, "Y")) is not None:
        return "visdom", with_tag(flow, argument(call, 99, "name", "win"), y, scope)
    return None


def _is_filled(flow: Flow, node: ast.expr, scope: Scope) -> bool:
    """Whether something is a mapping that the program fills, by what is known of it or by its name."""
    value = flow.value(node, scope)
    return (
        bool(value.keys)
        or value.element is not None
        or bool(re.search(r"metric|stat|result|loss|log|score", dotted_text(node)))
    )


def _neptune(flow: Flow, call: ast.Call, base: ast.Subscript, scope: Scope) -> Told | None:
    if re.fullmatch(r"(self\.)?(run|neptune_run|_run|experiment)", dotted_text(base.value)) and call.args:
        return "tracker", with_tag(flow, base.slice, call.args[0], scope)
    return None


def log_call(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> Told | None:
    """``anything.log(...)`` means a mapping, a tag and a value, or a text, by what it is given."""
    if name not in {"log", "log_message", "log_row"} and not (name == "print" and said):
        return None
    outside = _external_name(flow, call, scope)
    if not said and not (outside and re.search(r"log", outside.rpartition(".")[0])):
        return None
    if said and not LOGGER.search(said) and "log" not in outside.rpartition(".")[0]:
        return None
    if said.endswith(("np", "numpy", "torch", "math", "jnp", "tf", "F", "tf.math")):
        return None
    sink = _tracker_name(said, flow, scope)
    if not call.args:
        return sink, mapping_parts(flow, call, scope, 0)
    first = call.args[0]
    if len(call.args) > 1 and _is_level(first):
        return "logging", logged(flow, call.args[1:], scope)
    if len(call.args) > 1 and _is_text(flow, first, scope):
        return sink, with_tag(flow, first, call.args[1], scope)
    if _is_text(flow, first, scope):
        return sink, take_apart(flow, first, scope)
    return sink, mapping_parts(flow, call, scope, 0)


def _is_text(flow: Flow, node: ast.expr, scope: Scope) -> bool:
    value = flow.value(node, scope)
    return is_textual(flow, node, scope) or (value.has(TEXT) and value.element is None and not value.keys)


def _is_level(node: ast.expr) -> bool:
    """First argument of ``logger.log(level, message)``."""
    said = dotted_text(node)
    return said.startswith("logging.") or said.rpartition(".")[2].lower() in {"level", "lvl", "log_level", "loglevel"}


def _external_name(flow: Flow, call: ast.Call, scope: Scope) -> str:
    refs = flow.value(call.func, scope).refs
    return next((ref.dotted for ref in refs if isinstance(ref, External)), "")


def _tracker_name(said: str, flow: Flow, scope: Scope) -> str:
    for word, sink in (("wandb", "wandb"), ("mlflow", "mlflow"), ("accelerator", "accelerate")):
        if word in said.lower():
            return sink
    return "lightning" if said.startswith("self") else "tracker"
