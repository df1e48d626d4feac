"""The values that a reporting call reports: values under tags, mappings, several values in a row, tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.parameters import forwarded_param
from deviate.analyse.flow.values import From
from deviate.analyse.naming.words import word_lists, words_like
from deviate.analyse.source.index import Scope, local_bindings
from deviate.analyse.source.syntax import called_name, dotted_text, unpacked
from deviate.analyse.texts.building import format_text, is_list, is_textual
from deviate.analyse.texts.parts import tag_of, tagged, take_apart
from deviate.analyse.texts.reported import Part, ReportedValue, as_mapping, change_values, with_label

#: Gives the parts of what a call reports; None where it reports nothing.
Reader = Callable[[Evaluator, ast.Call, Scope], list[Part] | None]

#: Position of an argument that is given by name alone.
BY_NAME = 99
#: Arguments of reporting calls that are no values.
_NO_VALUES = word_lists(__file__)["arguments that are no values"]
#: Functions that make an array of a list.
_ARRAYS = {"array", "asarray", "tensor", "as_tensor", "Tensor", "FloatTensor", "DoubleTensor"}
#: Functions that put the points of several curves beside one another.
_STACKS = {"column_stack", "hstack", "stack", "vstack"}
#: A field of ``%``; not a percent sign after a number in braces.
#: Names of mappings that a program fills to report them.
_FILLED = re.compile(words_like("stats?|logs?", "metric|statistic|result|loss|score"))
_PERCENT = re.compile(r"%[-+#0]*(\*|\d+)?(\.(\*|\d+))?[hlL]?[diouxXeEfFgGcrsa]")


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """Find an argument by its position or one of its names."""
    if position < len(call.args):
        value = call.args[position]
        return None if isinstance(value, ast.Starred) else value
    return next((key.value for key in call.keywords if key.arg in names), None)


def texts(most: int | None = None) -> Reader:
    """Read the arguments, or the first few of them, as texts in a row."""
    return lambda flow, call, scope: [
        part for argument in call.args[:most] for part in (*take_apart(flow, argument, scope), " ")
    ]


def first_text(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read the first argument as one text."""
    return take_apart(flow, call.args[0], scope) if call.args else None


def shown_text(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part]:
    """Read the text that a progress bar shows: ``set_description(desc=text)``."""
    text = argument(call, 0, "desc", "s")
    return [] if text is None else [*take_apart(flow, text, scope), " "]


def message(start: int = 0) -> Reader:
    """Read ``info(message, *values)``: the message is formatted by ``%`` with the values, or in braces."""

    def read(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part]:
        args = call.args[start:]
        if len(args) < 2:
            return take_apart(flow, args[0], scope) if args else []
        text = format_text(flow, args[0], scope)
        if text is not None and _PERCENT.search(text) is None:
            return _filled(flow, call, args, scope)
        right = args[1] if len(args) == 2 and isinstance(args[1], ast.Dict) else ast.Tuple(args[1:], ast.Load())
        formatted = ast.BinOp(args[0], ast.Mod(), ast.copy_location(right, args[1]))
        return take_apart(flow, ast.copy_location(formatted, args[0]), scope)

    return read


def _filled(flow: Evaluator, call: ast.Call, args: list[ast.expr], scope: Scope) -> list[Part]:
    """Read a message whose fields stand in braces, or that has none, and the values that a logger puts there."""
    formatted = ast.Call(ast.Attribute(args[0], "format", ast.Load()), args[1:], call.keywords)
    parts = take_apart(flow, ast.copy_location(formatted, call), scope)
    if any(isinstance(part, ReportedValue) for part in parts):
        return parts
    return [part for arg in args for part in (*take_apart(flow, arg, scope), " ")]


def with_tag(flow: Evaluator, tag: ast.expr | None, value: ast.expr, scope: Scope) -> list[Part]:
    """Parts of a value reported under a tag."""
    text, label = tag_of(flow, tag, scope) if tag is not None else ("", None)
    return with_label(tagged(flow, text, value, scope) if text else take_apart(flow, value, scope), label)


def tag_and_value(tag: int, value: int) -> Reader:
    """Read a value and its tag: ``add_scalar(tag, value)``."""
    tag_names = ("tag", "name", "key", "title", "metric_name")
    value_names = ("scalar_value", "value", "data", "val", "tensor", "metric_value", "tag_scalar_dict", "scalar")

    def read(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
        expr = argument(call, value, *value_names)
        return None if expr is None else with_tag(flow, argument(call, tag, *tag_names), expr, scope)

    return read


def tag_and_last(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read a tag and the last argument: ``channel_send("loss", step, loss)``."""
    value = argument(call, len(call.args) - 1, "y", "value") if len(call.args) > 1 else argument(call, BY_NAME, "y")
    return with_tag(flow, call.args[0], value, scope) if call.args and value is not None else None


def bar_values(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read what a progress bar shows beside its position: ``update(step, [("loss", loss)])``."""
    values = argument(call, BY_NAME, "values")
    if values is None and len(call.args) == 2 and isinstance(call.args[1], ast.List):
        pairs = (isinstance(pair, ast.Tuple) and isinstance(pair.elts[0], ast.Constant) for pair in call.args[1].elts)
        values = call.args[1] if all(pairs) else None
    return take_apart(flow, values, scope) if values is not None else None


def keyword(name: str, *tag_names: str) -> Reader:
    """Read one keyword, and the keyword that tags it."""

    def read(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
        expr = argument(call, BY_NAME, name)
        return None if expr is None else with_tag(flow, argument(call, BY_NAME, *tag_names), expr, scope)

    return read


def plotted_point(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read the one number that is drawn of ``line(Y=np.array([loss]), win="loss")``."""
    expr = argument(call, BY_NAME, "Y") or (call.args[0] if call.args else None)
    while expr is not None:
        inner = expr.elts if isinstance(expr, (ast.List, ast.Tuple)) else []
        made = expr.args if isinstance(expr, ast.Call) and called_name(expr) in _ARRAYS | _STACKS else []
        if len(inner) != 1 and not made:
            break
        expr = (*inner, *made)[0]
    return None if expr is None else with_tag(flow, argument(call, BY_NAME, "name", "win"), expr, scope)


def mapping(position: int) -> Reader:
    """Read a mapping of values, and values given as keywords."""

    def read(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part]:
        parts: list[Part] = []
        first = next((at for at, arg in enumerate(call.args) if not _is_text(flow, arg, scope)), position)
        whole = argument(
            call, max(position, first), "data", "dictionary", "ordered_dict", "metrics", "scalars", "values"
        )
        if whole is not None:
            parts.extend(part for arg in call.args[:first] for part in take_apart(flow, arg, scope))
            parts.extend(as_mapping(take_apart(flow, whole, scope)))
        for key in call.keywords:
            if key.arg is None or (key.arg not in _NO_VALUES and key.value is not whole):
                parts.extend([*tagged(flow, key.arg, key.value, scope), "\n"])
        return parts

    return read


def filled_mappings(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read the arguments that are mappings which the program fills, by what is known of them or by their names."""
    parts: list[Part] = []
    for expr in (*call.args, *(key.value for key in call.keywords)):
        if isinstance(expr, (ast.Name, ast.Dict, ast.DictComp)):
            value = flow.value(expr, scope)
            is_named = _FILLED.search(dotted_text(expr)) is not None
            if value.keys or value.element is not None or is_named:
                parts.extend(as_mapping(take_apart(flow, expr, scope)))
    return parts or None


def anything(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part]:
    """Read a text, a tag and a value, or a mapping, by what the first argument is."""
    if not call.args or not (_is_text(flow, call.args[0], scope) or _is_key(call)):
        return mapping(0)(flow, call, scope) or []
    if len(call.args) > 1:
        return with_tag(flow, call.args[0], call.args[1], scope)
    return take_apart(flow, call.args[0], scope)


def _is_key(call: ast.Call) -> bool:
    """Whether the second argument is an item under the first: ``log(name, values[name])``."""
    tag, value = call.args[0], call.args[1] if len(call.args) > 1 else None
    items = (node for node in ast.walk(value) if isinstance(node, ast.Subscript)) if value is not None else ()
    return isinstance(tag, ast.Name) and any(dotted_text(item.slice) == tag.id for item in items)


def _is_text(flow: Evaluator, node: ast.expr, scope: Scope) -> bool:
    value = flow.resolved(node, scope)  # ``self.log(name, value)`` in a method that is given the name
    return is_textual(flow, node, scope) or (value.has(From.TEXT) and value.element is None and not value.keys)


def item_of_receiver(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read ``run["train/loss"].append(loss)``: the key is the tag."""
    base = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(base, ast.Subscript) or not call.args:
        return None
    is_run = dotted_text(base.value).removeprefix("self.") in {"run", "neptune_run", "_run", "experiment"}
    return with_tag(flow, base.slice, call.args[0], scope) if is_run else None


def elements_of(flow: Evaluator, expr: ast.expr, scope: Scope) -> list[Part]:
    """Parts of an argument; a list that was built elsewhere in the function gives its elements."""
    parts = take_apart(flow, expr, scope)
    is_whole = len(parts) == 1 and isinstance(parts[0], ReportedValue) and parts[0].expr is expr
    bindings = local_bindings(expr.id, scope) if is_whole and isinstance(expr, ast.Name) else []
    if not any(is_list(unpacked(binding)) for binding in bindings):
        return parts
    elements = [
        part
        for binding in bindings
        if (value := unpacked(binding)) is not None and binding.kind in {"assign", "aug", "element", "merge"}
        for part in [*take_apart(flow, value, binding.scope, 2), "\n"]
    ]
    return elements if any(isinstance(part, ReportedValue) for part in elements) else parts


def accumulated(flow: Evaluator, expr: ast.expr, scope: Scope, tag: str | None = None) -> list[Part]:
    """Parts of a list that was filled over time: what was put into it, named by the list unless by a key."""
    while isinstance(expr, ast.Call) and called_name(expr) in _ARRAYS and expr.args:
        expr = expr.args[0]
    name = tag or dotted_text(expr).rpartition(".")[2]
    return change_values(elements_of(flow, expr, scope), lambda value: replace(value, tag=value.tag or name))


def lists(start: int, end: int) -> Reader:
    """Read arguments that are lists filled over time."""
    return lambda flow, call, scope: [part for arg in call.args[start:end] for part in accumulated(flow, arg, scope)]


def drawn(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read what a curve of a chart shows, ``Scatter(x=steps, y=losses)``; the parameter that is drawn a mean of."""
    curve = argument(call, BY_NAME, "y")
    if curve is None:
        return None
    params = [param for param in flow.value(curve, scope).params() if param.unit is scope.unit]
    if not params or forwarded_param(flow, curve, scope) is not None:
        return accumulated(flow, curve, scope)
    given = [param for param in params if flow.program.arguments(flow, param)]
    return [ReportedValue(ast.copy_location(ast.Name(param.name, ast.Load()), curve), scope) for param in given[:1]]


def named_lists(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part]:
    """Read keywords that are lists filled over time."""
    return [part for key in call.keywords for part in accumulated(flow, key.value, scope, key.arg)]


def dumped(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read the mapping that is the first of two arguments: ``json.dump(stats, file)``."""
    return as_mapping(elements_of(flow, call.args[0], scope)) if len(call.args) > 1 else None


def file_text(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read the text that is written to a file."""
    if not call.args:
        return None
    return texts(1)(flow, call, scope) if flow.value(call.args[0], scope).origins else []


def estimated(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part]:
    """Read what an Estimator is given to report: ``EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)``."""
    loss = argument(call, 2, "loss")
    metrics = argument(call, 4, "eval_metric_ops")
    parts = tagged(flow, "loss", loss, scope) if loss is not None else []
    return [*parts, "\n", *(as_mapping(take_apart(flow, metrics, scope)) if metrics is not None else [])]
