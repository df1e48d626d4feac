"""How texts, lists and mappings are built that can be taken apart, and the text a reported value stands in."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import METRIC_ORIGINS, From, Instance
from deviate.source.index import Binding, Scope, Unit, bindings_of, in_force, local_bindings
from deviate.source.syntax import called_name, dotted_text, is_namespace

# A value that a report gives, and the text it stands in.

#: Format specifications of numbers.
NUMERIC_SPEC = re.compile(r"[deEfFgGn%]$|^\.\d+$")

#: Those that say how many digits stand behind the point; ``%`` shows a share in hundredths.
_PLACES = re.compile(r"\.(?P<digits>\d+)(?P<kind>[fF%])$")


@dataclass(frozen=True, eq=False)
class ReportedValue:
    """A value that a report gives."""

    expr: ast.expr
    scope: Scope
    #: Format specification without its colon or percent sign.
    spec: str = ""
    #: Constant key or tag under which it is reported.
    tag: str = ""
    #: Dynamic part of the tag, where there is exactly one.
    label: ast.expr | None = None
    #: Attributes read by the format text itself: ``{loss.avg}``.
    reads: str = ""
    #: Name the value was given as text before it was reported (``total_time_str = str(total_time)``).
    known_as: str = ""
    #: The whole mapping is reported, each item under its key.
    mapping: bool = False
    #: Constant text just before and after.
    before: str = ""
    after: str = ""
    #: Stands after other values of the same text.
    position: int = 0

    @property
    def decimals(self) -> int | None:
        """How many digits of the value are shown behind its point; None where the text leaves that open."""
        places = _PLACES.search(self.spec)
        return None if places is None else int(places["digits"]) + 2 * (places["kind"] == "%")

    @property
    def in_percent(self) -> bool:
        """Whether a percent sign follows the value, which is then in percent."""
        return not self.spec.endswith("%") and self.after.lstrip(" ").startswith("%")


Part = str | ReportedValue


def surround(parts: list[Part]) -> list[ReportedValue]:
    """Give each value the constant text around it."""
    values: list[ReportedValue] = []
    before = ""
    for index, part in enumerate(parts):
        if isinstance(part, str):
            before += part
            continue
        after = "".join(takewhile(lambda part: isinstance(part, str), parts[index + 1 :]))  # type: ignore[arg-type]
        values.append(replace(part, before=part.before or before, after=part.after or after, position=len(values)))
        before = ""
    return values


def change_values(parts: list[Part], change: Callable[[ReportedValue], ReportedValue]) -> list[Part]:
    """Change the values among the parts of a text."""
    return [part if isinstance(part, str) else change(part) for part in parts]


def constant_text(node: ast.expr | None) -> str:
    """Join the constant parts of a format specification."""
    if isinstance(node, ast.JoinedStr):
        return "".join(constant_text(value) for value in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def with_spec(parts: list[Part], spec: str) -> list[Part]:
    """Give values without a format specification this one; what is shown as a number is no mapping."""
    is_number = NUMERIC_SPEC.search(spec) is not None
    return change_values(
        parts, lambda value: replace(value, spec=value.spec or spec, mapping=value.mapping and not is_number)
    )


def as_mapping(parts: list[Part]) -> list[Part]:
    """Mark the values of an argument that is a mapping as mappings, unless they were taken apart."""
    return change_values(parts, lambda value: value if value.tag else replace(value, mapping=True))


def with_label(parts: list[Part], label: ast.expr | None, *, replaces: bool = False) -> list[Part]:
    """Give values the dynamic part of their tag, in place of one they have or where they have none."""
    if label is None:
        return parts
    return change_values(parts, lambda value: replace(value, label=label if replaces else value.label or label))


#: Sums of constant texts are followed this far, repeated ones to this length.
MAX_TEXT_DEPTH = 60
MAX_TEXT = 10_000
TEXT_METHODS = {"strip", "rstrip", "lstrip", "ljust", "rjust", "center", "upper", "lower", "title", "replace", "zfill",
                "capitalize", "encode", "expandtabs"}  # fmt: skip


def is_converted(value: ast.expr | None) -> bool:
    """``str(value)``."""
    return isinstance(value, ast.Call) and called_name(value) == "str" and len(value.args) == 1


def is_own_method(value: ast.expr, expr: ast.expr) -> bool:
    """Whether a name is given the result of a method of its own: ``text = text.strip()``."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    receiver = dotted_text(value.func.value)
    return receiver != "" and receiver == dotted_text(expr) and value.func.attr not in {"format", "join"}


def bindings_within(flow: Evaluator, expr: ast.Name | ast.Attribute, scope: Scope) -> list[Binding]:
    """Find what a name, or an attribute of an object of the project, is bound to within the function."""
    if isinstance(expr, ast.Name):
        return local_bindings(expr.id, scope)
    for ref in flow.value(expr.value, scope).refs:
        if isinstance(ref, Instance):
            stores = ref.cls.attributes.get(expr.attr, [])
            return [binding for binding in stores if binding.scope.unit is scope.unit]
    return []


def builds(flow: Evaluator, binding: Binding) -> bool:
    """Whether a binding makes text, a list or a mapping that can be taken apart."""
    value = binding.value
    if value is None or binding.path:
        return False
    if binding.kind == "key" or isinstance(value, (ast.JoinedStr, ast.Dict)):
        return True
    if isinstance(value, (ast.List, ast.Tuple)):
        return bool(value.elts)
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        return is_textual(flow, value.elt, binding.scope.module.inner.get(value, binding.scope))
    if isinstance(value, ast.Call):
        name = called_name(value)
        if name in {"format", "join", "dumps", "str"}:
            return flow.value(value, binding.scope).has(From.TEXT)
        if name in TEXT_METHODS and isinstance(value.func, ast.Attribute):
            return isinstance(value.func.value, ast.Call) and is_textual(flow, value.func.value, binding.scope)
        return (name == "dict" and bool(value.keywords)) or name == "map" or _is_made_text(flow, value, binding.scope)
    if isinstance(value, ast.BinOp):
        return is_textual(flow, value, binding.scope) or _adds_lists(value)
    if not isinstance(value, ast.IfExp) or not _is_written(value, binding.scope):
        return False
    return not (isinstance(value.body, ast.Constant) and isinstance(value.orelse, ast.Constant))


def _is_made_text(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether one function of the project makes a text of the values that it is given, or a method of those it has."""
    units = [ref for ref in flow.value(call.func, scope).refs if isinstance(ref, Unit)]
    if len(units) != 1 or not may_be_text(units[0]) or not (call.args or call.keywords or units[0].is_method):
        return False
    return bool(units[0].returns) and all(_is_written(result, home) for result, home in units[0].returns)


def _is_written(expr: ast.expr, scope: Scope, names: frozenset[str] = frozenset()) -> bool:
    """Whether an expression, or all that a name of the function is assigned, is a text by its form.

    What a name is made of itself tells nothing; `names` are those that are looked at already.
    """
    if isinstance(expr, ast.Name):
        assigned = [binding for binding in local_bindings(expr.id, scope) if binding.kind == "assign"]
        assigned = [binding for binding in assigned if not _mentions(binding.value, expr.id)]
        return expr.id not in names and bool(assigned) and all(
            not isinstance(binding.value, (ast.Name, type(None))) and not binding.path
            and _is_written(binding.value, binding.scope, names | {expr.id})
            for binding in assigned
        )  # fmt: skip
    if isinstance(expr, ast.BinOp):
        left = _is_written(expr.left, scope, names)
        return left or (isinstance(expr.op, ast.Add) and _is_written(expr.right, scope, names))
    if isinstance(expr, ast.IfExp):
        return _is_written(expr.body, scope, names) and _is_written(expr.orelse, scope, names)
    if isinstance(expr, ast.Call):
        return called_name(expr) in {"str", "format", "join", "dumps"}
    return isinstance(expr, ast.JoinedStr) or (isinstance(expr, ast.Constant) and isinstance(expr.value, str))


def _mentions(value: ast.expr | None, name: str) -> bool:
    return value is not None and any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))


def _adds_lists(value: ast.BinOp) -> bool:
    """``[epoch] + [loss] + list(metrics)``."""
    sides = (value.left, value.right)
    return isinstance(value.op, ast.Add) and any(
        isinstance(side, ast.List) or (isinstance(side, ast.BinOp) and _adds_lists(side)) for side in sides
    )


def is_grown_mapping(bindings: list[Binding]) -> bool:
    """Whether a mapping is written out or filled key by key."""
    return any(
        binding.kind == "key" or (binding.kind == "assign" and isinstance(binding.value, ast.Dict))
        for binding in bindings
    )


def is_open(binding: Binding) -> bool:
    """Whether a binding gives a mapping items under keys that are not written out."""
    value = binding.value
    if binding.kind in {"element", "key"}:
        return binding.kind == "element"
    if isinstance(value, ast.Dict):
        return any(key is None or not isinstance(key, ast.Constant) for key in value.keys)
    return not (isinstance(value, ast.Call) and called_name(value) in {"dict", "OrderedDict"} and not value.args)


def is_list(value: ast.expr | None) -> bool:
    """Whether a list is made, whatever is put into it later."""
    return isinstance(value, ast.List) or (isinstance(value, ast.Call) and called_name(value) in {"list", "deque"})


def is_textual(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether an expression makes text, by its form: text added to text, text formatted."""
    if depth > 40:
        return False
    if isinstance(expr, ast.BinOp):
        if isinstance(expr.op, ast.Mod):
            return is_textual(flow, expr.left, scope, depth + 1)
        if isinstance(expr.op, ast.Add):
            return is_textual(flow, expr.left, scope, depth + 1) or is_textual(flow, expr.right, scope, depth + 1)
        return isinstance(expr.op, ast.Mult) and is_textual(flow, expr.left, scope, depth + 1)
    if isinstance(expr, ast.Constant):
        return isinstance(expr.value, str)
    if isinstance(expr, ast.Call):
        return called_name(expr) in {"str", "format", "join", "dumps", "repr"} or called_name(expr) in TEXT_METHODS
    if isinstance(expr, ast.Name):
        value = flow.value(expr, scope)
        return value.has(From.TEXT) and not value.has(*METRIC_ORIGINS) and value.element is None
    return isinstance(expr, ast.JoinedStr)


def constant_string(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int = 0) -> str | None:
    """Text of a constant string, of constants added or repeated, or of a name bound once to such."""
    if isinstance(expr, ast.Constant):
        return expr.value if isinstance(expr.value, str) else None
    if depth > MAX_TEXT_DEPTH:
        return None
    if isinstance(expr, ast.BinOp):
        return _computed_string(flow, expr, scope, depth)
    if isinstance(expr, ast.Name):
        bindings = in_force(expr, bindings_of(expr.id, scope))
        binding = bindings[0] if len(bindings) == 1 else None
        is_whole = binding is not None and binding.kind == "assign" and not binding.path
        if binding is not None and is_whole and isinstance(binding.value, (ast.Constant, ast.BinOp)):
            return constant_string(flow, binding.value, binding.scope, depth + 1)
    return None


def _computed_string(flow: Evaluator, expr: ast.BinOp, scope: Scope, depth: int) -> str | None:
    left = constant_string(flow, expr.left, scope, depth + 1)
    if left is None:
        return None
    if isinstance(expr.op, ast.Add):
        right = constant_string(flow, expr.right, scope, depth + 1)
        return left + right if right is not None else None
    times = expr.right.value if isinstance(expr.op, ast.Mult) and isinstance(expr.right, ast.Constant) else None
    return left * times if isinstance(times, int) and 0 <= times * len(left) <= MAX_TEXT else None


def format_text(flow: Evaluator, expr: ast.expr, scope: Scope) -> str | None:
    """Text of a format; what is computed of one that is added up is left out, or a digit within a field."""
    text = constant_string(flow, expr, scope)
    if text is not None or not (isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add)):
        return text
    whole = ""
    for operand in _added(expr):
        part = constant_string(flow, operand, scope)
        if part is None:
            part = "1" if whole.count("{") > whole.count("}") else ""
        whole += part
    return whole if "{" in whole or "%" in whole else None


def _added(expr: ast.expr) -> list[ast.expr]:
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        return [*_added(expr.left), *_added(expr.right)]
    return [expr]


def is_padding(expr: ast.BinOp) -> bool:
    """``[""] * 5``, ``"=" * 40``."""
    repeated = expr.left.value if isinstance(expr.left, ast.Constant) else expr.left
    return isinstance(expr.op, ast.Mult) and isinstance(repeated, (str, ast.List))


def is_written_list(expr: ast.expr) -> bool:
    """Whether an expression is a list that is written out, or several added up."""
    if isinstance(expr, ast.BinOp):
        return isinstance(expr.op, ast.Add) and (is_written_list(expr.left) or is_written_list(expr.right))
    return isinstance(expr, (ast.List, ast.ListComp))


def may_be_text(unit: Unit) -> bool:
    """Whether a function returns something else than arithmetic, and a method than one number of its object."""
    return not all(_is_arithmetic(result, of_object=unit.is_method) for result, _ in unit.returns)


#: Functions and methods that give a number.
_NUMBERS = {"mean", "nanmean", "average", "median", "std", "sum", "max", "min", "float", "int", "round", "item"}


def _is_arithmetic(result: ast.expr, *, of_object: bool) -> bool:
    match result:
        case ast.Constant(value=int() | float()):  # what an average of nothing is
            return True
        case ast.Attribute(attr=name):
            return name in {"nan", "inf"}
        case ast.BinOp(op=op):
            return not isinstance(op, (ast.Add, ast.Mod))
        case ast.UnaryOp(op=op):
            return not isinstance(op, ast.Not)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_arithmetic(body, of_object=of_object) and _is_arithmetic(orelse, of_object=of_object)
        case ast.ListComp(elt=element):
            return _is_arithmetic(element, of_object=of_object)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"))):  # an item of what a meter keeps
            return of_object
        case ast.Call():
            return of_object and called_name(result) in _NUMBERS
    return False


def named_key(binding: Binding) -> ast.expr | None:
    """Key of ``d[f"acc_{k}"] = v``, which names the item though a part of it varies."""
    statement = binding.statement
    if binding.kind != "element" or not isinstance(statement, ast.Assign):
        return None
    keys = [target.slice for target in statement.targets if isinstance(target, ast.Subscript)]
    texts = [node.value for key in keys for node in ast.walk(key) if isinstance(node, ast.Constant)]
    is_built = len(keys) == 1 and isinstance(keys[0], (ast.JoinedStr, ast.BinOp, ast.Call))
    return keys[0] if is_built and any(isinstance(text, str) and text.strip("_/ ") for text in texts) else None


def named_beside(binding: Binding) -> str:
    """Return the name that the same statement binds, ``loss`` of ``log["l"] = loss = f(x)``; empty where none is."""
    targets = binding.statement.targets if isinstance(binding.statement, ast.Assign) else []
    return next((target.id for target in targets if isinstance(target, ast.Name)), "")


def is_whole_mapping(value: ReportedValue, unit: Unit) -> bool:
    """Whether a value is a mapping of a function, reported under its name and no key."""
    return value.mapping and not value.tag and value.scope.unit is unit and isinstance(value.expr, ast.Name)


def is_of_caller(flow: Evaluator, value: ReportedValue, unit: Unit) -> bool:
    """Whether a value is computed from parameters of a function, or elsewhere."""
    if value.mapping and isinstance(value.expr, ast.Call):
        return False
    params = flow.value(value.expr, value.scope).params()
    return value.scope.unit is not unit or any(param.unit is unit for param in params)


# Split a format text into its words and the fields between them, each with the value that fills it.

_PERCENT = re.compile(r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+))?[hlL]?"
                      r"(?P<kind>[diouxXeEfFgGcrsa%])")  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A field of a format text and the expression that fills it."""

    value: ast.expr
    #: Format specification without its colon or percent sign.
    spec: str = ""
    #: Key of the mapping that the text is formatted with.
    key: str = ""
    #: Attributes that the text itself reads off the value: ``{loss.avg}``; one key is a part of the value instead.
    reads: str = ""
    #: Of a mapping or list that is spread, the whole is known and not the item.
    spread: str = ""


def percent_fields(text: str, right: ast.expr) -> Iterator[str | Field]:
    """Split ``text % right``."""
    values = list(right.elts) if isinstance(right, ast.Tuple) else [right]
    at = 0
    for field in _PERCENT.finditer(text):
        yield text[at : field.start()]
        at = field.end()
        if field["kind"] == "%":
            yield "%"
            continue
        values = values[(field["width"] == "*") + (field["precision"] == "*") :]
        value = _keyed(right, field["key"]) if field["key"] else (values.pop(0) if values else None)
        if value is not None:
            yield Field(value, field[0][1:] if field["kind"] not in "sr" else "", field["key"] or "")
    yield text[at:]


def _keyed(right: ast.expr, key: str) -> ast.expr | None:
    if is_namespace(right):
        return _name_at(key, right)
    items = zip(right.keys, right.values, strict=True) if isinstance(right, ast.Dict) else ()
    return next((value for name, value in items if isinstance(name, ast.Constant) and name.value == key), None)


def _name_at(name: str, node: ast.expr) -> ast.expr | None:
    """Return a name as it is read where an expression stands; its own end is not in the source."""
    return ast.Name(name, ast.Load(), lineno=node.lineno, col_offset=node.col_offset) if name.isidentifier() else None


def brace_fields(text: str, call: ast.Call) -> Iterator[str | Field]:
    """Split ``text.format(...)``; `ValueError` says that the text is no format."""
    keywords = {key.arg: key.value for key in call.keywords if key.arg}
    names = next((key.value for key in call.keywords if key.arg is None and is_namespace(key.value)), None)
    automatic = 0
    for before, name, spec, _ in list(string.Formatter().parse(text)):
        yield before
        if name is None:
            continue
        first, _, reads = re.sub(r"\[([^\]]*)\]", r".[\1]", name).partition(".")
        if not first:
            first, automatic = str(automatic), automatic + 1
        automatic += (spec or "").count("{}")
        is_position = first.isdigit() and int(first) < len(call.args)
        value = keywords.get(first) or (call.args[int(first)] if is_position else None)
        if value is None and names is not None:
            value = _name_at(first, names)
        if value is not None and not isinstance(value, ast.Starred):
            item = _item_read(value, reads)
            yield Field(item, spec or "", reads=reads if item is value else "")
        else:
            yield from _spread(call)


def _item_read(value: ast.expr, reads: str) -> ast.expr:
    """Return the item that a text reads under one key, ``{meters[loss]:.3f}``; the value where it reads another way."""
    key = re.fullmatch(r"\[([^\]]*)\]", reads)
    if key is None:
        return value
    at = ast.Constant(int(key[1]) if key[1].isdigit() else key[1])
    return ast.Subscript(value, at, ast.Load(), lineno=value.lineno, col_offset=value.col_offset)


def _spread(call: ast.Call) -> Iterator[Field]:
    """``format(*values)`` and ``format(**values)``."""
    yield from [Field(arg.value, spread="list") for arg in call.args if isinstance(arg, ast.Starred)][:1]
    yield from [Field(key.value, spread="mapping") for key in call.keywords if key.arg is None][:1]
