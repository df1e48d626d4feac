"""Calls and assignments of libraries that report something, and what they show."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deviate.analyse.abstract import PATH, TEXT, External
from deviate.analyse.index import CallSite, Place, Scope, lookup
from deviate.analyse.program import called_name
from deviate.analyse.texts import (
    Part,
    Shown,
    dotted_text,
    elements_of,
    is_textual,
    kept_values,
    surround,
    tag_of,
    tagged,
    take_apart,
)

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

_LEVELS = {"debug", "info", "warning", "warn", "error", "critical", "exception", "success", "fatal", "notice"}
_PRINTS = {
    "print",
    "echo",
    "secho",
    "pprint",
    "master_print",
    "print_rank_0",
    "print_once",
    "print_on_master",
    "rprint",
}
_BAR_TEXTS = {"set_description", "set_description_str", "set_postfix_str"}
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
_LOGGER = re.compile(r"log|progress|wandb|mlflow|tracker|experiment|neptune|comet|swanlab|aim|accelerator|"
                     r"fabric|^run$|^self$|trainer|"
                     r"writer|recorder|\.run$|clearml|dvclive|^live$", re.IGNORECASE)  # fmt: skip
_FILES = re.compile(r"^(f|fp|fo|fh|fd|fw|fout|f_out|file|out|output|log|logf|log_?file|stats_?file|csv_?file|"
                    r"txt|writer|"
                    r"csv_?writer|.*\.(stdout|stderr|logfile|file|log|f))$|_(f|file|log)$", re.IGNORECASE)  # fmt: skip
_TOLD = re.compile(r"(log|write|update|save|report|record|print|dump|track)_(summary|metrics?|stats|scalars|"
                   r"results?|log|losses|scores|"
                   r"history|performance|evaluation)$")  # fmt: skip
_FIGURES = {"plot", "semilogy", "semilogx", "loglog", "scatter"}


@dataclass(frozen=True, eq=False)
class Report:
    """One place of the program that reports, and what it shows."""

    sink: str
    shown: list[Shown]
    scope: Scope
    place: Place | None
    line: int
    end_line: int
    #: The call, or the assignment, that reports.
    node: ast.AST
    #: Name and class of the project's object that is told.
    hint: str = ""


def report_of_call(flow: Flow, site: CallSite) -> Report | None:
    """Recognise a reporting call of a library."""
    found = _recognise(flow, site.node, site.scope)
    if found is None:
        return None
    sink, parts = found
    node = site.node
    return Report(sink, surround(parts), site.scope, site.place, node.lineno, node.end_lineno or node.lineno, node)


def _recognise(flow: Flow, call: ast.Call, scope: Scope) -> tuple[str, list[Part]] | None:
    name = called_name(call)
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    said = dotted_text(receiver) if receiver is not None else ""
    for recognise in (_text_sink, _tagged_sink, _mapping_sink, _file_sink, _figure_sink, _log_call):
        found = recognise(flow, call, scope, name, said)
        if found is not None:
            return found
    return None


def _spaced(flow: Flow, args: list[ast.expr], scope: Scope) -> list[Part]:
    """Several arguments of one print."""
    parts: list[Part] = []
    for one in args:
        parts.extend([*take_apart(flow, one, scope), " "])
    return parts


def _text_sink(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> tuple[str, list[Part]] | None:
    if name in _PRINTS and not (
        name == "print" and said and not re.search(r"console|accel|rich|fabric|self|tqdm|xm|dist", said)
    ):
        return "print", _spaced(flow, call.args, scope)
    if name in _BAR_TEXTS:
        return "tqdm", _spaced(flow, call.args[:1], scope)
    if name in _LEVELS and (_LOGGER.search(said) or _is_logger(flow, call, scope)):
        return "logging", _logged(flow, call.args, scope)
    if name == "write" and said.endswith(("stdout", "stderr")):
        return "print", _spaced(flow, call.args[:1], scope)
    if name == "write" and ("tqdm" in said or "bar" in said):
        return "tqdm", _spaced(flow, call.args[:1], scope)
    return None


def _is_logger(flow: Flow, call: ast.Call, scope: Scope) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    refs = flow.value(call.func.value, scope).refs
    return any(isinstance(ref, External) and "log" in ref.dotted.lower() for ref in refs)


def _logged(flow: Flow, args: list[ast.expr], scope: Scope) -> list[Part]:
    """``info(message, *values)``: the message is formatted by ``%`` with the values."""
    if not args:
        return []
    if len(args) == 1:
        return take_apart(flow, args[0], scope)
    return take_apart(flow, _percent_of(args), scope)


def _percent_of(args: list[ast.expr]) -> ast.expr:
    right = args[1] if len(args) == 2 and isinstance(args[1], ast.Dict) else ast.Tuple(list(args[1:]), ast.Load())
    return ast.copy_location(ast.BinOp(args[0], ast.Mod(), ast.copy_location(right, args[1])), args[0])


def _argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    if position < len(call.args):
        found = call.args[position]
        return None if isinstance(found, ast.Starred) else found
    return next((key.value for key in call.keywords if key.arg in names), None)


def with_tag(flow: Flow, tag: ast.expr | None, value: ast.expr, scope: Scope) -> list[Part]:
    """Parts of a value shown under a tag."""
    if tag is None:
        return take_apart(flow, value, scope)
    text, label = tag_of(flow, tag, scope)
    parts = tagged(flow, text or None, value, scope) if text else take_apart(flow, value, scope)
    if label is None:
        return parts
    return [replace(one, label=one.label or label) if isinstance(one, Shown) else one for one in parts]


def _tagged_sink(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> tuple[str, list[Part]] | None:
    if name not in _TAGGED:
        return None
    if name in {"record", "scalar"} and not re.search(r"log|summ|writer|record|tb|board", said, re.IGNORECASE):
        return None
    sink, tag_at, value_at = _TAGGED[name]
    tag = _argument(call, tag_at, "tag", "name", "key", "title", "metric_name")
    names = ("scalar_value", "value", "data", "val", "tensor", "metric_value", "tag_scalar_dict", "scalar")
    value = _argument(call, value_at, *names)
    if value is None:
        return None
    graph = name == "scalar" and len(call.args) < 3 and not any(key.arg == "step" for key in call.keywords)
    return "tf1-summary" if graph else sink, with_tag(flow, tag, value, scope)


def _mapping_sink(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> tuple[str, list[Part]] | None:
    if name in _MAPPED:
        sink, position = _MAPPED[name]
        return sink, _mapping_parts(flow, call, scope, position)
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
        return "tracker", _mapping_parts(flow, call, scope, 0)
    if name in {"report_intermediate_result", "report_final_result"}:
        return "tracker", _spaced(flow, call.args[:1], scope)
    if name == "track" and call.args and re.search(r"run|aim", said):
        return "tracker", with_tag(flow, _argument(call, 1, "name"), call.args[0], scope)
    if name == "store" and call.keywords and "log" in said.lower():
        return "logger", _mapping_parts(flow, call, scope, 99)
    if name == "update" and (values := _argument(call, 99, "values")) is not None:
        return "tqdm", take_apart(flow, values, scope)
    if name == "update" and re.search(r"summary$", said):
        return "tracker", _mapping_parts(flow, call, scope, 0)
    if (
        name in {"append", "log", "extend"}
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Subscript)
    ):
        return _neptune(flow, call, call.func.value, scope)
    if name == "line" and (y := _argument(call, 99, "Y")) is not None:
        return "visdom", with_tag(flow, _argument(call, 99, "name", "win"), y, scope)
    return None


def _is_filled(flow: Flow, node: ast.expr, scope: Scope) -> bool:
    """Whether something is a mapping that the program fills, by what is known of it or by its name."""
    value = flow.value(node, scope)
    return (
        bool(value.keys)
        or value.element is not None
        or bool(re.search(r"metric|stat|result|loss|log|score", dotted_text(node)))
    )


def _neptune(flow: Flow, call: ast.Call, base: ast.Subscript, scope: Scope) -> tuple[str, list[Part]] | None:
    if re.fullmatch(r"(self\.)?(run|neptune_run|_run|experiment)", dotted_text(base.value)) and call.args:
        return "tracker", with_tag(flow, base.slice, call.args[0], scope)
    return None


_IGNORED_KEYS = {"step", "global_step", "epoch", "commit", "file", "end", "flush", "sep", "prog_bar",
    "on_step", "on_epoch",
                 "sync_dist", "logger", "batch_size", "refresh", "ordered_dict", "iteration", "checkpoint",
                 "rank_zero_only"}  # fmt: skip


def _mapping_parts(flow: Flow, call: ast.Call, scope: Scope, position: int) -> list[Part]:
    parts: list[Part] = []
    given = _argument(call, position, "data", "dictionary", "ordered_dict", "metrics", "scalars", "values")
    if given is not None:
        parts.extend(as_mapping(take_apart(flow, given, scope)))
    for key in call.keywords:
        if key.arg is None or (key.arg not in _IGNORED_KEYS and key.value is not given):
            parts.extend([*tagged(flow, key.arg, key.value, scope), "\n"])
    return parts


def as_mapping(parts: list[Part]) -> list[Part]:
    """Take what is given where a mapping is expected for one, unless it was taken apart."""
    return [replace(one, mapping=True) if isinstance(one, Shown) and not one.tag else one for one in parts]


def _log_call(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> tuple[str, list[Part]] | None:
    """``anything.log(...)`` means a mapping, a tag and a value, or a text, by what it is given."""
    if name not in {"log", "log_message", "log_row"} and not (name == "print" and said):
        return None
    outside = _external_name(flow, call, scope)
    if not said and not (outside and re.search(r"log", outside.rpartition(".")[0])):
        return None
    if said and not _LOGGER.search(said) and "log" not in outside.rpartition(".")[0]:
        return None
    if said.endswith(("np", "numpy", "torch", "math", "jnp", "tf", "F", "tf.math")):
        return None
    sink = _tracker_name(said, flow, scope)
    if not call.args:
        return sink, _mapping_parts(flow, call, scope, 0)
    first = call.args[0]
    if len(call.args) > 1 and _is_level(first):
        return "logging", _logged(flow, call.args[1:], scope)
    if len(call.args) > 1 and _is_text(flow, first, scope):
        return sink, with_tag(flow, first, call.args[1], scope)
    if _is_text(flow, first, scope):
        return sink, take_apart(flow, first, scope)
    return sink, _mapping_parts(flow, call, scope, 0)


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
    for word, sink in (("wandb", "wandb"), ("mlflow", "mlflow"), ("accelerator", "accelerate"), ("self", "lightning")):
        if said.startswith(word):
            return sink
    return "tracker"


def _file_sink(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> tuple[str, list[Part]] | None:
    if name in {"writerow", "writerows"} and call.args:
        return "csv", take_apart(flow, call.args[0], scope)
    if name == "dump" and len(call.args) > 1 and said.endswith("json"):
        return "json", as_mapping(elements_of(flow, call.args[0], scope))
    if name in {"write", "writelines", "write_text"} and call.args:
        value = flow.value(call.args[0], scope)
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if _FILES.search(said) or flow.value(receiver, scope).has(PATH):
            return "file", _spaced(flow, call.args[:1], scope) if value.origins else []
    if name in {"savez", "savez_compressed"}:
        return "file", [part for key in call.keywords for part in kept_values(flow, key.value, scope, key.arg)]
    if name in {"to_csv", "to_json", "to_excel", "to_parquet", "to_pickle", "to_feather"} and isinstance(
        call.func, ast.Attribute
    ):
        return "csv", _table(flow, call.func.value, scope)
    return None


def _figure_sink(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> tuple[str, list[Part]] | None:
    if name in _FIGURES and re.search(r"plt|ax|pyplot|pylab|axes", said) and call.args:
        return "figure", [part for one in call.args[:2] for part in kept_values(flow, one, scope)]
    if name in {"save", "savetxt"} and said in {"np", "numpy"} and len(call.args) > 1:
        return "file", kept_values(flow, call.args[1], scope)
    return None


def _table(flow: Flow, frame: ast.expr, scope: Scope, depth: int = 0) -> list[Part]:
    """Find what a data frame that is written was made of."""
    if depth > 12:
        return []
    if isinstance(frame, ast.Name):
        found = lookup(frame.id, scope)
        made = [one for one in found[1] if isinstance(one.value, ast.Call)] if found else []
        return [part for one in made if one.value is not None for part in _table(flow, one.value, one.scope, depth + 1)]
    if isinstance(frame, ast.Call):
        if frame.args and called_name(frame) in {"DataFrame", "from_dict", "from_records", "Series"}:
            return as_mapping(elements_of(flow, frame.args[0], scope))
        if isinstance(frame.func, ast.Attribute):
            return _table(flow, frame.func.value, scope, depth + 1)
    return []


def report_of_store(
    flow: Flow, target: ast.expr, value: ast.expr, scope: Scope, place: Place | None, statement: ast.stmt
) -> Report | None:
    """Recognise an assignment that reports: ``bar.suffix = text``, ``logs["x"] = value``."""
    parts: list[Part] | None = None
    sink = "tqdm"
    if isinstance(target, ast.Attribute) and target.attr in {"suffix", "desc", "postfix", "message"}:
        if flow.value(value, scope).has(TEXT):
            parts = take_apart(flow, value, scope)
    elif isinstance(target, ast.Subscript):
        said = dotted_text(target.value)
        if said.endswith(".summary") or said == "logs":
            sink = "keras" if said == "logs" else "wandb"
            parts = with_tag(flow, target.slice, value, scope)
    if parts is None:
        return None
    return Report(
        sink, surround(parts), scope, place, statement.lineno, statement.end_lineno or statement.lineno, statement
    )
