"""Readable names for metrics.

What the form of a reported expression tells of it: one number, an item of a mapping, part of a list.
"""

from __future__ import annotations

import ast
import re

from deviate.lexicon.words import (
    ARTICLES,
    LINKING,
    MAX_WORDS,
    clauses_of,
    is_counting,
    is_metric_word,
    is_settings_name,
    meaning_of,
    split_of,
    without_links,
    word_lists,
    words_like,
    words_of,
)
from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import METRIC_ORIGINS, External, From, Instance, Value
from deviate.source.index import (
    Binding,
    Scope,
    Unit,
    bindings_of,
    only_binding,
)
from deviate.source.sinks.rows import TEXT_SINKS, Report
from deviate.source.syntax import called_name, dotted_text, unpacked
from deviate.source.texts import NUMERIC_SPEC, ReportedValue

_LISTS = word_lists("metric_names")
_LABEL_NAMES = _LISTS["label variables"]
_UNITS = word_lists("printed_names")["units apart"]
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[/?[a-z ]+\]")
_BREAKS = re.compile(r"[\n\r\t|;,\[\]{}<>()*#]+|\s[-–—]+\s|={2,}|-{2,}|>{2,}| {3,}|\.\s|:\s+(?=\w)")
#: What belongs to the value before: ``/5`` of ``Epoch 3/5 acc: 0.9``, ``s`` of ``0.5s loss=0.3``; not ``3 min loss``.
_WHOLE = re.compile(
    rf"^\W{{0,2}}(?:/|(?:out )?of\b) ?\d+\b(?!\.\d)|^(?! min) ?(?:{'|'.join(map(re.escape, _UNITS))})(?=\s)"
)
#: A bracket around the values of one name: ``Precision [0.5, 0.4]``.
_OPENED = re.compile(r"(?<=\w) ?\[$")
_TRIM = " :=-–—_/\\.,'\"~+@!?&%$^`→"
#: What stands before the number of a class: ``Accuracy of class 3: 97.1``.
_NUMBERS_CLASS = re.compile(r"(?i)\bclass $")
#: What stands between two values of one name.
_BESIDE = {"/", "(", "|", "+/-", "+-", "\N{PLUS-MINUS SIGN}", "[", "%/", "% /"}
#: A clock reading that a duration is measured from.
_START = re.compile(r"(^|[._])(start|begin|before|since|tic|last|prev|t0)([._]|$)|^(t\d?|end|starttime|startTime)$")


def name_of(reported: ReportedValue, variable: str, earlier: str, speed: bool = False) -> str:
    """Name a value by its tag, the text before it, the text after it, or its variable.

    `earlier` is the name that the same text gave to the value before it; `speed` says that it is a time or a rate.
    """
    if reported.mapping and not reported.tag:
        return plain_variable(variable)
    if reported.tag and re.search(r"[A-Za-z{]", reported.tag):
        return re.sub(r"\s+", " ", reported.tag).strip(" :/=") or reported.tag
    after = _words_after(reported)
    known = meaning_of(earlier)
    if speed and known is not None and known.kind != "speed":
        # ``acc 0.93 (0.4s)``: a time beside a value of another kind is named by itself.
        earlier = ""
    own = words_before(reported) or (after if _only_links(reported) else "") or earlier or after
    if speed and own.lower() in {"total", "overall"}:
        return f"{own} time"
    if meaning_of(own) is None and meaning_of(earlier) is not None and meaning_of(variable) is not None:
        own = earlier
    if speed and own and meaning_of(own) is None and set(words_of(own)) < set(words_of(variable)):
        return f"{own} time" if meaning_of(variable) is not None else plain_variable(variable)
    if meaning_of(own) is None and (speed or len(own) <= 2):
        own = "" if meaning_of(variable) is not None or not speed else "time"
    if speed and not own and _START.search(variable):
        return "time"
    return own or plain_variable(variable)


def text_name(reported: ReportedValue, variable: str, earlier: str = "") -> str:
    """Name in the text around a value; empty when the text names nothing."""
    before = words_before(reported)
    if before or earlier:
        return before or earlier
    after = _words_after(reported)
    return after if after and (is_metric_word(after) or meaning_of(variable) is None) else ""


def names_also(earlier: str, variable: str) -> bool:
    """Whether the name of the value before means the same as a variable: ``Train loss 12 0.3``."""
    return bool(earlier) and meaning_of(earlier) is not None and meaning_of(earlier) == meaning_of(variable)


def continues(reported: ReportedValue) -> bool:
    """Whether a value stands beside the one before under the same words: ``MRR = 0.31/0.35``, ``loss 0.4 (0.5)``."""
    is_decimal = re.search(r"[feFEgG%]$", reported.spec) is not None
    return reported.position > 0 and is_decimal and reported.before.strip() in _BESIDE


def ends_label(reported: ReportedValue) -> bool:
    """Whether nothing but a colon stands between the value before and this one: ``Loss after epoch 3: 0.4``."""
    return reported.position > 0 and reported.before.strip() in {":", "=", "):"}


def words_before(reported: ReportedValue) -> str:
    """Last words before a value that can name it: ``converged after`` is ``converged``, ``s/epoch`` a unit."""
    if _follows_unit(reported):
        return ""
    return without_links(_last_clause(_WHOLE.sub("", reported.before) if reported.position else reported.before))


def _words_after(reported: ReportedValue) -> str:
    """First words after a value, unless they introduce the next one (``loss: ``)."""
    match = re.match(r"^[%)\]]* ?([A-Za-z][\w /%-]*)(.?)", reported.after)
    if match is None or match[2] in {":", "="}:
        return ""
    words = [word for word in match[1].strip(_TRIM).split() if word.lower() not in LINKING | ARTICLES]
    return " ".join(words) if 0 < len(words) <= 3 and len("".join(words)) > 1 else ""


def _only_links(reported: ReportedValue) -> bool:
    """Whether the words before a value only link it to the value before, or are its unit: ``after {} batches``."""
    if _follows_unit(reported):
        return True
    words = re.findall(r"[A-Za-z]+", _ESCAPES.sub("", reported.before))
    return bool(words) and reported.position > 0 and all(word.lower() in LINKING for word in words)


def _follows_unit(reported: ReportedValue) -> bool:
    """Whether nothing but the unit of the value before stands before a value: ``0.5 s/epoch 83 it/s``."""
    return reported.position > 0 and reported.before.strip(f"{_TRIM} ") in _UNITS


def _last_clause(text: str) -> str:
    """Last words of a text that can name something, without punctuation."""
    clean = _OPENED.sub("", _ESCAPES.sub("", text))
    ending = re.split(r"[|;\n\t\[\]]", clean)[-1]
    if not re.search(r"[A-Za-z]", ending):
        return ""
    named = [clause for clause in clauses_of(clean, _BREAKS, _TRIM) if re.search(r"[A-Za-z]", clause)]
    if not named:
        return ""
    split = split_of(named[0]) if len(named) > 1 and len(named[0].split()) <= 2 else ""
    words = named[-1].split()[-MAX_WORDS:]
    chosen = " ".join(words[1:] if len(words) > 1 and words[0].lower() in ARTICLES else words)
    return f"{split} {chosen}" if split and not split_of(chosen) else chosen


def without_settings(tag: str) -> str:
    """Leave parts out of a tag that nothing fills at run time: ``run_{args.name}/losses/box``."""
    parts = [part for part in tag.split("/") if "{" not in part]
    return "/".join(parts) if any(re.search(r"[A-Za-z]", part) for part in parts) else tag


def plain_variable(variable: str) -> str:
    """Variable as a name: without ``self.``, calls and quotes."""
    short = re.sub(r"\[(?:['\"]([^'\"\]]*)['\"]|(\d+)|[^\]]*)\]", _index_word, variable.removeprefix("self."))
    return re.sub(r"\(\)|[\"']", "", short).strip() or variable


def _index_word(index: re.Match[str]) -> str:
    """Key or number of an index; nothing for an index that varies."""
    word = index[1] or index[2]
    return f" {word}" if word else ""


def label_for(flow: Evaluator, reported: ReportedValue, others: list[ReportedValue]) -> ast.expr | None:
    """Find the plain name of a text, reported before the value in the same text, that tells series apart."""
    if reported.label is not None:
        return reported.label
    for other in others:
        # The name first: a text may have thousands of values, and each is asked about every other one.
        is_class = _NUMBERS_CLASS.search(other.before) is not None
        heads = ends_label(reported) and other.position == reported.position - 1  # ``f"{what}: {score}"``
        is_label = isinstance(other.expr, ast.Name) and (is_class or heads or other.expr.id in _LABEL_NAMES)
        # A value that a function of the text's computes is recorded there, where the text's own names are not known.
        if (
            not is_label
            or other.scope.unit is not reported.scope.unit
            or other.position >= reported.position
            or re.search(r"[dfeg]$", other.spec)
        ):
            continue
        value = flow.resolved(other.expr, other.scope)
        if (value.has(From.TEXT) and not value.has(*METRIC_ORIGINS)) or value.has(From.UNKNOWN) or not value.origins:
            return other.expr
        if is_class and not value.has(*METRIC_ORIGINS):
            return other.expr
    return None


#: Classes whose objects hold the numbers of a measurement.
_METER = {"average", "averages", "meter", "meters", "metric", "metrics", "running", "timer"}
_NUMBER_METHODS = {
    "item", "mean", "sum", "norm", "avg", "total_seconds", "result", "compute", "std", "median", "value", "numpy",
    "asnumpy", "asscalar",
}  # fmt: skip
#: Names given names are followed this far.
MAX_DEPTH = 5
#: Calls that give one number, whatever their arguments are.
_REDUCING = {
    "item", "float", "mean", "nanmean", "average", "median", "std", "max", "min", "sum", "len", "round", "reduce_mean",
    "reduce_sum",
}  # fmt: skip
_NUMBER_CALLS = {
    "float", "int", "round", "mean", "sum", "exp", "sqrt", "len", "max", "min", "average", "median", "abs", "std",
}  # fmt: skip


def is_number(flow: Evaluator, reported: ReportedValue, sink: str) -> bool:
    """Whether format, sink or form of the expression say that it is one number."""
    if reported.reads or sink not in TEXT_SINKS or NUMERIC_SPEC.search(reported.spec):
        return True
    value = flow.resolved(reported.expr, reported.scope)
    if _is_meter(value):
        return True
    return _is_number_by_form(reported.expr) or _is_given_number(flow, reported.expr, reported.scope, (), 0)


def _is_meter(value: Value) -> bool:
    """Whether an object, or each one of a list, is of a class of the project that holds numbers."""
    refs = value.element.refs if value.element is not None else value.refs
    return bool(refs) and all(
        isinstance(ref, Instance) and not _METER.isdisjoint(words_of(ref.cls.name)) for ref in refs
    )


def _is_number_by_form(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Div, ast.Mult, ast.Sub, ast.Pow, ast.FloorDiv, ast.Add))
    if isinstance(node, ast.Call):
        name = called_name(node)
        return name in _NUMBER_CALLS or (isinstance(node.func, ast.Attribute) and name in _NUMBER_METHODS)
    return isinstance(node, ast.Attribute) and node.attr in {"avg", "val", "global_avg", "mean"}


def _is_given_number(flow: Evaluator, node: ast.expr, scope: Scope, path: tuple[int, ...], depth: int) -> bool:
    """Whether a name, an item or a function's result is always given one number, as the forms of these tell."""
    if depth > MAX_DEPTH:
        return False
    if path and isinstance(node, (ast.Tuple, ast.List)):
        inner = node.elts[path[0]] if path[0] < len(node.elts) else None
        return inner is not None and _is_given_number(flow, inner, scope, path[1:], depth + 1)
    if isinstance(node, ast.Call) and depth > 0 and not path and called_name(node) in _REDUCING:
        return True
    if isinstance(node, ast.Call) and (path or not _is_number_by_form(node)):
        returns = [
            result for ref in flow.value(node.func, scope).refs if isinstance(ref, Unit) for result in ref.returns
        ]
        return bool(returns) and all(_is_given_number(flow, one, home, path, depth + 1) for one, home in returns)
    if path:
        return False
    if isinstance(node, ast.BinOp) and depth > 0:
        sides = (node.left, node.right)
        return any(_is_given_number(flow, side, scope, (), depth + 1) for side in sides)
    if isinstance(node, (ast.Name, ast.Subscript)):
        bindings = _bindings_of_number(node, scope)
        return bool(bindings) and all(
            binding.value is not None and _is_given_number(flow, binding.value, binding.scope, binding.path, depth + 1)
            for binding in bindings
        )
    return False


def _bindings_of_number(node: ast.Name | ast.Subscript, scope: Scope) -> list[Binding]:
    """Bindings of a name, or of one item of it, without the zero that it starts from."""
    name, key = (node, None) if isinstance(node, ast.Name) else (node.value, node.slice)
    bindings = bindings_of(name.id, scope) if isinstance(name, ast.Name) else []
    if isinstance(key, ast.Name):  # ``sums[i] += loss.item()``
        return [binding for binding in bindings if isinstance(binding.statement, ast.AugAssign) and not binding.path]
    if key is not None:
        text = key.value if isinstance(key, ast.Constant) else None
        return [binding for binding in bindings if binding.kind == "key" and binding.key == text]
    if any(binding.kind not in {"assign", "aug"} for binding in bindings):
        return []
    return [each for each in bindings if not isinstance(each.value, ast.Constant) and not _is_scaling(each)]


def _is_scaling(binding: Binding) -> bool:
    """Whether a number is made a mean or a percentage of what it was: ``total /= n``."""
    statement = binding.statement
    return isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Div, ast.Mult))


#: Functions of libraries that score predictions by a number. What makes a table or a curve cannot be recorded: the
#: numbers of a table that is shown are read off the output.
_SCORING = re.compile(r"^(sklearn|seqeval|sklearn_crfsuite)\.metrics\.(?!pairwise|.*(report|matrix|curve)$)[\w.]+$")


def is_scored_by_library(flow: Evaluator, expr: ast.expr, scope: Scope) -> bool:
    """Whether a library's function scores predictions, or a name is given its one result: ``cohen_kappa_score(y, p)``.

    A name for several results is taken apart elsewhere.
    """
    is_name = isinstance(expr, ast.Name)
    if isinstance(expr, ast.Name):
        binding = only_binding(expr.id, scope)
        if binding is None or binding.kind != "assign" or binding.path or not isinstance(binding.value, ast.Call):
            return False
        expr, scope = binding.value, binding.scope
    refs = flow.value(expr.func, scope).refs if isinstance(expr, ast.Call) else ()
    scoring = [ref.dotted for ref in refs if isinstance(ref, External) and not ref.made and _SCORING.match(ref.dotted)]
    return any(not (is_name and dotted.endswith("_support")) for dotted in scoring)


def _divides(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def is_share(flow: Evaluator, node: ast.expr, scope: Scope, path: tuple[int, ...] = (), depth: int = 0) -> bool:
    """Whether a value, or what a name or a function gives for it, is one quantity by another."""
    if depth > 2 * MAX_DEPTH:
        return False
    if path and isinstance(node, (ast.Tuple, ast.List)):
        return path[0] < len(node.elts) and is_share(flow, node.elts[path[0]], scope, path[1:], depth + 1)
    if isinstance(node, ast.BinOp):
        return any(map(_divides, ast.walk(node)))
    if isinstance(node, ast.Subscript):
        return is_share(flow, node.value, scope, path, depth + 1)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return is_share(flow, node.elt, scope.module.inner.get(node, scope), path, depth + 1)
    sources: list[tuple[ast.expr, Scope, tuple[int, ...]]] = []
    if isinstance(node, ast.Name):
        given = [each for each in bindings_of(node.id, scope) if each.kind in {"assign", "element", "for"}]
        sources = [(value, one.scope, way) for one in given for value, way in _given_by(one, path)]
    elif isinstance(node, ast.Call) and called_name(node) in _NUMBER_CALLS and node.args:
        sources = [(node.args[0], scope, path)]
    elif isinstance(node, ast.Call):
        units = [ref for ref in flow.value(node.func, scope).refs if isinstance(ref, Unit)]
        sources = [(result, home, path) for unit in units for result, home in unit.returns]
    return any(is_share(flow, value, home, way, depth + 1) for value, home, way in sources)


def _given_by(binding: Binding, path: tuple[int, ...]) -> list[tuple[ast.expr, tuple[int, ...]]]:
    """Return what a binding gives, and the positions to take of it; what a loop runs over stands for its elements."""
    value, way = binding.value, (*binding.path, *path)
    if binding.kind == "for" and isinstance(value, ast.Call) and way and called_name(value) == "zip":
        return [(value.args[way[0]], way[1:])] if way[0] < len(value.args) else []
    return [(value, way)] if value is not None else []


def is_read_off_settings(flow: Evaluator, reported: ReportedValue) -> bool:
    """Whether a value is an attribute of settings that nothing else assigns: ``self.args.steps``."""
    names = dotted_text(reported.expr).split(".")
    if len(names) < 2 or reported.reads or not any(map(is_settings_name, names[:-1])):
        return False
    return not any(names[-1] in module.attribute_stores for module in flow.program.modules)


_MAPPINGS = re.compile(
    words_like(
        "(train|val|valid|test|dev|eval|epoch|avg)?(logs?|stats?|accs?|perfs?|evals?)",
        "(train|val|valid|test|dev|eval|epoch|avg)?(logg|metric|statistic|result|summar|score|loss|histor|record|report|"
        "performance|evaluat|accurac)",
    )
)


def is_item_of_report(flow: Evaluator, reported: ReportedValue) -> bool:
    """Whether the mapping that the value is an item of is named like a report, or has a key that names a metric."""
    source = _items_source(reported)
    if source is None:
        return False
    name = dotted_text(source) or (called_name(source) if isinstance(source, ast.Call) else "")
    return _MAPPINGS.search(name) is not None or any(map(is_metric_word, flow.resolved(source, reported.scope).keys))


def _items_source(reported: ReportedValue) -> ast.expr | None:
    node = reported.expr
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Mult)):
        node = node.left
    while isinstance(node, (ast.Call, ast.Attribute)):
        node = node.func if isinstance(node, ast.Call) else node.value
    call = reported.expr
    if isinstance(call, ast.Call) and call.args and isinstance(node, ast.Name) and called_name(call) in _NUMBER_CALLS:
        node = call.args[0]
    for binding in bindings_of(node.id, reported.scope) if isinstance(node, ast.Name) else ():
        value = binding.value if binding.kind == "for" and binding.path == (1,) else None
        if isinstance(value, ast.Call) and called_name(value) == "items":
            return value.func.value if isinstance(value.func, ast.Attribute) else None
    return None


def is_position(expr: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether a value says where the least or greatest of several is: ``best = np.argmin(losses)``."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(expr, ast.Call):
        name = called_name(expr)
        inner = expr.func.value if name == "item" and isinstance(expr.func, ast.Attribute) else None
        inner = expr.args[0] if name == "int" and expr.args else inner
        return name in {"argmin", "argmax"} or (inner is not None and is_position(inner, scope, depth + 1))
    if isinstance(expr, ast.BinOp) and isinstance(expr.right, ast.Constant):
        return is_position(expr.left, scope, depth + 1)
    given = bindings_of(expr.id, scope) if isinstance(expr, ast.Name) else []
    found = [
        binding.kind == "assign" and (value := unpacked(binding)) is not None
        and is_position(value, binding.scope, depth + 1)
        for binding in given
    ]  # fmt: skip
    # ``best_epoch`` is one however else it may be found.
    return any(found) if isinstance(expr, ast.Name) and is_counting(expr.id) else bool(found) and all(found)


#: Statistics that tell something else of the same values than their mean does.
_STATISTICS = {
    "std": "std", "stdev": "std", "pstdev": "std", "nanstd": "std", "sem": "std", "var": "var", "variance": "var",
    "median": "median", "nanmedian": "median", "amin": "min", "amax": "max",
    "percentile": "percentile", "quantile": "percentile", "exp": "exp",
}  # fmt: skip


def statistic_of(expr: ast.expr) -> str:
    """Name the statistic that is taken of several values, where it is another one than their mean."""
    node = expr
    while isinstance(node, (ast.Call, ast.BinOp, ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Call):
            name = called_name(node)
            if name in _STATISTICS:
                return _STATISTICS[name]
            if name in {"min", "max"} and len(node.args) <= 1:
                return name
            is_method = isinstance(node.func, ast.Attribute) and not (
                name in {"float", "int", "round", "str"} or node.args
            )
            inner = (
                node.func.value if is_method and isinstance(node.func, ast.Attribute) else next(iter(node.args), None)
            )
            if inner is None:
                return ""
            node = inner
        elif isinstance(node, ast.Attribute):
            return _STATISTICS.get(node.attr, "")
        else:
            node = node.left if isinstance(node, ast.BinOp) else node.value
    return ""


_SAMPLE_KEY = re.compile(
    r"(image|img|sample|example|question|instance|video|doc|document|sentence|item)_?ids?$", re.IGNORECASE
)
#: Sides and corners of a box.
_SIDES = {"left", "top", "right", "bottom", "xmin", "ymin", "xmax", "ymax", "x1", "y1", "x2", "y2"}


def is_record_of_sample(report: Report, variables: set[str]) -> bool:
    """Whether a report writes what was predicted for one sample: ``{"image_id": ..., "score": ...}``, or a box."""
    is_written = report.sink in {"json", "csv", "file", "kept"}
    is_keyed = any(_SAMPLE_KEY.search(reported.tag) for reported in report.values)
    return is_written and (is_keyed or len(_SIDES & variables) > 2)
