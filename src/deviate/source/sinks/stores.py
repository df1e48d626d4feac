"""The values that a reporting call reports, at once or from containers in which they were kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from deviate.lexicon.words import is_bookkeeping, is_counting, word_lists
from deviate.source.flow.calls import forwarded_param
from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import From, Instance, Param
from deviate.source.index import ClassScope, ModuleIndex, Scope, Unit, local_bindings, lookup
from deviate.source.syntax import called_name, dotted_text, text_of, unpacked
from deviate.source.text_parts import tag_of, tagged, take_apart
from deviate.source.texts import (
    Part,
    ReportedValue,
    as_mapping,
    change_values,
    format_text,
    is_list,
    is_textual,
    with_label,
)

#: An attribute of a class, a global of a module, or a name of a function.
Container = tuple[ClassScope | ModuleIndex | Unit, str]

#: Of what a reported value is made, so many expressions are looked at.
MAX_EXPRESSIONS = 120
#: Methods that put a value into a list, a meter or a queue.
_ADDING = {
    "append", "add", "update", "push", "put", "extend", "appendleft", "insert", "record", "log", "observe", "add_",
}  # fmt: skip
#: Methods that give what is kept under a key.
_GIVING = {"setdefault", "get"}
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
_SETTINGS = frozenset({From.SETTING, From.CONSTANT})
_WEIGHING = frozenset({From.TOTAL, From.COUNT, *_SETTINGS})
_TEXT_METHODS = ("__str__", "__repr__", "__format__")


@dataclass(frozen=True, eq=False)
class Kept:
    """A parameter that a function keeps under a key, the parameter that is the key, and where."""

    value: str
    #: Empty where the value is a mapping that brings its keys along.
    key: str
    containers: tuple[Container, ...]


def kept_by(flow: Evaluator, unit: Unit) -> list[Kept]:
    """List the parameters that a function keeps under keys that its callers give."""
    kept: dict[str, Kept] = {}
    if unit.name in {"__init__", "__setattr__", "__setstate__"}:
        return []
    for holder, key, stored, scope in _keeping(unit):
        value = _within_entry(flow, _last(stored), key, scope)
        forwarded = forwarded_param(flow, value, scope)
        param = forwarded or _only_param(flow, value, scope)
        if param is None or param.unit is not unit or param.name == "t" or is_bookkeeping(param.name):
            continue  # not what is kept, but when
        container, keys = _without_keys(holder, key)
        if _is_made_for(stored, keys):
            continue
        found = (_key_param(flow, one, scope, param) for one in keys)
        key_param = next((name for name in found if name is not None), None) if keys else ""
        if forwarded is None and key_param and Param(unit, key_param) in flow.value(value, scope).params():
            continue  # computed of all that a loop takes together: ``for name, x, y in zip(names, given, wanted)``
        containers = tuple(_containers(flow, container, scope))
        if key_param is not None and containers:
            kept.setdefault(param.name, Kept(param.name, key_param, containers))
    return list(kept.values())


def _keeping(unit: Unit) -> Iterator[tuple[ast.expr, ast.expr | None, ast.expr, Scope]]:
    """Yield container, key and value wherever a function puts a value under a key; no key for a whole mapping."""
    for store in unit.stores:
        if isinstance(store.target, ast.Subscript) and not isinstance(store.target.slice, ast.Slice):
            yield store.target.value, store.target.slice, store.value, store.scope
    for site in unit.calls:
        call = site.node
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _ADDING or not call.args:
            continue
        holder, value = call.func.value, call.args[0]
        if isinstance(holder, ast.Subscript) and not isinstance(holder.slice, ast.Slice):
            yield holder.value, holder.slice, value, site.scope
        elif isinstance(holder, ast.Call) and called_name(holder) in _GIVING and holder.args:
            if isinstance(holder.func, ast.Attribute):
                yield holder.func.value, holder.args[0], value, site.scope
        elif isinstance(value, ast.Tuple) and len(value.elts) == 2:
            yield holder, value.elts[0], value.elts[1], site.scope
        elif isinstance(value, ast.Dict) and len(value.keys) == 1 and value.keys[0] is not None:
            yield holder, value.keys[0], value.values[0], site.scope
        elif isinstance(value, ast.Call) and called_name(value)[:1].isupper() and len(_given(value)) > 1:
            yield holder, _given(value)[0], _given(value)[1], site.scope
        elif call.func.attr == "update" and isinstance(value, ast.Name) and len(call.args) == 1:
            yield holder, None, value, site.scope


def _given(made: ast.Call) -> list[ast.expr]:
    """Return what an entry of a list is made of, its key first: ``Entry(name, value)``."""
    return [*made.args, *(key.value for key in made.keywords)]


def _last(value: ast.expr) -> ast.expr:
    """Take the value out of a pair of a position and a value: ``[(step, value)]``."""
    while isinstance(value, (ast.List, ast.Tuple)) and value.elts:
        value = value.elts[-1]
    return value


def _within_entry(flow: Evaluator, value: ast.expr, key: ast.expr | None, scope: Scope) -> ast.expr:
    """Take what callers always give out of the entry that is made of it: ``row[key] = Entry(value, quiet)``."""
    if not isinstance(value, ast.Call) or not called_name(value)[:1].isupper():
        return value
    for each in _given(value):
        param = forwarded_param(flow, each, scope) if key is None or text_of(each) != text_of(key) else None
        if param is not None and param.name not in scope.unit.defaults:
            return each
    return value


def _is_made_for(stored: ast.expr, keys: list[ast.expr]) -> bool:
    """Whether a meter is made for each name: ``meters[name] = Mean(name=name)``."""
    if not isinstance(stored, ast.Call) or not called_name(stored)[:1].isupper():
        return False
    given = {node.id for arg in _given(stored) for node in ast.walk(arg) if isinstance(node, ast.Name)}
    named = [key.value for key in stored.keywords if key.arg == "name"]
    return bool(named) and any(isinstance(key, ast.Name) and key.id in given for key in keys)


def _without_keys(holder: ast.expr, key: ast.expr | None) -> tuple[ast.expr, list[ast.expr]]:
    """Return the container and its keys, the first one first: ``self.rows[name][epoch]``."""
    keys = [] if key is None else [key]
    while True:
        if isinstance(holder, ast.Subscript):
            keys.insert(0, holder.slice)
            holder = holder.value
        elif isinstance(holder, ast.Call) and called_name(holder) in _GIVING and isinstance(holder.func, ast.Attribute):
            keys[:0] = holder.args[:1]
            holder = holder.func.value
        else:
            return holder, keys


def _containers(flow: Evaluator, container: ast.expr, scope: Scope) -> Iterator[Container]:
    """Yield the attributes, globals or local names that hold what is put into an expression."""
    if isinstance(container, ast.Attribute):
        for ref in flow.value(container.value, scope).refs:
            if isinstance(ref, Instance):
                yield ref.cls, container.attr
    elif isinstance(container, ast.Name):
        definition = lookup(container.id, scope)
        if definition is not None and any(binding.kind == "assign" for binding in definition[1]):
            home = definition[0]
            if home is scope.unit and scope.unit.returns:
                return  # what a function makes of its arguments: its callers report that
            yield home.module if home.kind == "module" else home.unit, container.id


def _only_param(flow: Evaluator, value: ast.expr, scope: Scope) -> Param | None:
    """Find the parameter that a value is computed from, the first one of several that is no counter and no setting."""
    own = [param for param in flow.value(value, scope).params() if param.unit is scope.unit]
    names = scope.unit.parameters
    own = [param for param in own if param.name in names and not is_counting(param.name)]
    if flow.value(value, scope).has(From.LIVE):  # a loss may be weighted by a parameter
        own = [param for param in own if not flow.param(param).origins <= _SETTINGS]
    # What a value is weighed by is no value: ``sums[key] += size * value``.
    own = [param for param in own if not flow.param(param).origins <= _WEIGHING] or own
    return min(own, key=lambda param: names.index(param.name), default=None)


def _key_param(flow: Evaluator, key: ast.expr, scope: Scope, value: Param) -> str | None:
    """Name the parameter that a key is; empty where it comes out of the kept mapping, None where it is neither."""
    keyed = flow.value(key, scope)
    if isinstance(key, ast.Constant) or (keyed.has(From.COUNT) and not keyed.has(From.TEXT)):
        return None
    own = forwarded_param(flow, key, scope)
    params = [param for param in keyed.params() if param.unit is value.unit]
    params = [own, *params] if own is not None and own.unit is value.unit else params
    params = params or _text_params(key, scope)
    other = next((param.name for param in params if param.name != value.name and not is_counting(param.name)), None)
    is_item = any(param.name == value.name for param in params) or _is_key_of(key, scope)
    return other if other is not None else "" if is_item else None


def _text_params(key: ast.expr, scope: Scope) -> list[Param]:
    """Find the parameters that the text of a key is made of."""
    names = [node.id for node in ast.walk(key) if isinstance(node, ast.Name)]
    unit = scope.unit
    return [Param(unit, name) for name in names if name in unit.parameters and not (unit.is_method and name == "self")]


def _is_key_of(key: ast.expr, scope: Scope) -> bool:
    """Whether a key is the variable of a loop over a mapping."""
    names = [node.id for node in ast.walk(key) if isinstance(node, ast.Name)]
    found = (lookup(name, scope) for name in names)
    bindings = [binding for definition in found if definition is not None for binding in definition[1]]
    return any(
        binding.kind == "for"
        and isinstance(binding.value, ast.Call)
        and called_name(binding.value) in {"items", "keys"}
        for binding in bindings
    )


def shown_by(flow: Evaluator, expr: ast.expr, scope: Scope, names: set[str]) -> set[Container]:
    """Find the containers of these names that a reported value is taken from, through names, loops and methods."""
    shown: set[Container] = set()
    waiting: list[tuple[ast.expr, Scope]] = [(expr, scope), *_texts_of(flow, expr, scope)]
    seen: set[int] = set()
    while waiting and len(seen) < MAX_EXPRESSIONS:
        node, at = waiting.pop()
        if id(node) in seen or isinstance(node, ast.Constant):
            continue
        seen.add(id(node))
        if isinstance(node, ast.Name):
            if node.id in names:
                shown.update(_containers(flow, node, at))
            waiting.extend(_bound(node, at))
            continue
        if isinstance(node, ast.Attribute):
            if node.attr in names:
                shown.update(_containers(flow, node, at))
            waiting.append((node.value, at))
            continue
        if isinstance(node, ast.Call):
            if called_name(node) == "len":
                continue
            waiting.extend(_made_by(flow, node, at))
        inner = at.module.inner.get(node, at)
        waiting.extend((child, inner) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        if isinstance(node, _COMPREHENSIONS):
            waiting.extend((generator.iter, inner) for generator in node.generators)
    return shown


def _made_by(flow: Evaluator, call: ast.Call, scope: Scope) -> list[tuple[ast.expr, Scope]]:
    return [result for ref in flow.value(call.func, scope).refs if isinstance(ref, Unit) for result in ref.returns]


def _texts_of(flow: Evaluator, node: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]]:
    methods = [
        ref.cls.methods[name]
        for ref in flow.value(node, scope).refs
        if isinstance(ref, Instance)
        for name in _TEXT_METHODS
        if name in ref.cls.methods and not (isinstance(node, ast.Name) and node.id == "self")
    ]
    return [result for method in methods for result in method.returns]


def _bound(node: ast.Name, scope: Scope) -> list[tuple[ast.expr, Scope]]:
    definition = lookup(node.id, scope)
    if definition is None or definition[0].unit is not scope.unit:
        return []
    return [(binding.value, binding.scope) for binding in definition[1] if binding.value is not None]


# The values that a reporting call reports: values under tags, mappings, several values in a row, tables.

#: Gives the parts of what a call reports; None where it reports nothing.
Reader = Callable[[Evaluator, ast.Call, Scope], list[Part] | None]

#: Position of an argument that is given by name alone.
BY_NAME = 99
#: Arguments of reporting calls that are no values.
_NO_VALUES = word_lists("readers")["arguments that are no values"]
#: Functions that make an array of a list.
_ARRAYS = {"array", "asarray", "tensor", "as_tensor", "Tensor", "FloatTensor", "DoubleTensor"}
#: Functions that put the points of several curves beside one another.
_STACKS = {"column_stack", "hstack", "stack", "vstack"}
#: A field of ``%``; not a percent sign after a number in braces.
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
