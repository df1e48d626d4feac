"""What LightGBM, XGBoost and CatBoost report of a training: each metric, on each set that is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import External, Param
from deviate.analyse.source.index import Binding, CallSite, Scope, Unit, bindings_of
from deviate.analyse.source.syntax import called_name, dotted_text, text_of, unpacked

#: Values and what they stand for are followed this far.
_DEEPEST = 6
#: Where a training is told what to evaluate: place and name of the sets and of their names.
_SETS = {"lightgbm": (3, "valid_sets"), "xgboost": (3, "evals")}
#: What stands between a set and a metric in what a library shows; CatBoost has a table.
_LINKS = {"lightgbm": "'s ", "xgboost": "-", "catboost": "_"}
#: What metrics are called among the parameters, and what computes the program's own.
_METRICS = ("metric", "metrics", "eval_metric")
_OWN = ("feval", "custom_metric", "eval_metric")
_OBJECTIVES = ("objective", "application", "loss_function")
#: What LightGBM calls a metric that it knows by several names.
_ALIASES = {
    "mse": "l2", "mean_squared_error": "l2", "regression": "l2", "regression_l2": "l2", "mae": "l1",
    "mean_absolute_error": "l1", "regression_l1": "l1", "root_mean_squared_error": "rmse", "l2_root": "rmse",
    "binary": "binary_logloss", "multiclass": "multi_logloss", "softmax": "multi_logloss",
}  # fmt: skip
#: What each library evaluates an objective by that is given no metric.
_BY_OBJECTIVE = {
    "lightgbm": _ALIASES,
    "xgboost": {
        "binary:logistic": "logloss", "multi:softmax": "mlogloss", "multi:softprob": "mlogloss",
        "reg:squarederror": "rmse", "reg:linear": "rmse", "reg:absoluteerror": "mae",
    },
    "catboost": {},
}  # fmt: skip
#: By the end of a class's name, what it minimises.
_BY_CLASS = {
    "lightgbm": {"Classifier": "binary_logloss", "Regressor": "l2"},
    "xgboost": {"Classifier": "logloss", "Regressor": "rmse"},
    "catboost": {"Classifier": "Logloss", "Regressor": "RMSE"},
}
#: Metrics of which there is one for each rank.
_RANKED = {"ndcg", "map", "lambdarank"}
_NONE = {"", "none", "custom", "na"}

#: An expression, and where it stands.
_Placed = tuple[ast.expr, Scope]


def boosted(flow: Evaluator, site: CallSite) -> Iterator[tuple[str, str]]:
    """Yield library and name of what a call reports that grows trees: ``valid_0's auc``."""
    call, name = site.node, called_name(site.node)
    if name == "train":
        refs = [ref for ref in flow.value(call.func, site.scope).refs if isinstance(ref, External) and not ref.made]
        library = next((ref.dotted.partition(".")[0] for ref in refs), "")
        if library in _SETS and not _is_silent(call):
            parameters = _argument(call, 0, "params")
            given = [(parameters, site.scope)] if parameters is not None else []
            yield from _named(library, _sets(flow, library, site), _metrics(flow, library, given, site, ""))
    elif name == "fit" and isinstance(call.func, ast.Attribute):
        made = _made(flow, (call.func.value, site.scope), 0)
        maker = next((each for each in made if _library_of(flow, each)), None)
        if maker is not None and not _is_silent(call) and not _is_silent(maker[0]):
            library = _library_of(flow, maker)
            sets = _sets_of_fit(flow, library, site)
            yield from _named(library, sets, _metrics(flow, library, [maker], site, called_name(maker[0])))


def _named(library: str, sets: list[str], metrics: list[str]) -> Iterator[tuple[str, str]]:
    link = _LINKS[library]
    yield from ((library, f"{each}{link}{metric}") for each in sets for metric in metrics)


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    given = (key.value for key in call.keywords if key.arg == name)
    plain = call.args[position] if position < len(call.args) else None
    return next(given, plain)


def _is_silent(call: ast.Call) -> bool:
    """Whether a call asks for no output, and for no record of what is evaluated."""
    keywords = {key.arg: key.value for key in call.keywords}
    if "evals_result" in keywords:
        return False
    told = [keywords[name] for name in ("verbose_eval", "verbose") if name in keywords]
    return any(isinstance(each, ast.Constant) and each.value in (0, False, None) for each in told)


# Models.


def _made(flow: Evaluator, placed: _Placed, depth: int) -> list[tuple[ast.Call, Scope]]:
    """Return the calls that may have made an object."""
    node, scope = placed
    if depth > _DEEPEST:
        return []
    if isinstance(node, ast.Call):
        made = [each for ref in flow.value(node.func, scope).refs if isinstance(ref, Unit) for each in ref.returns]
        if called_name(node) == "clone" and node.args:
            made = [(node.args[0], scope)]
        if not made:
            return [(node, scope)]
    else:
        made = _given(flow, node, scope)
    return [call for each in made for call in _made(flow, each, depth + 1)]


def _library_of(flow: Evaluator, maker: tuple[ast.Call, Scope]) -> str:
    """Return the library that an object is of which a call makes."""
    for ref in flow.value(maker[0].func, maker[1]).refs:
        library = ref.dotted.partition(".")[0] if isinstance(ref, External) else ""
        if library in _BY_CLASS and called_name(maker[0]).endswith((*_BY_CLASS[library], "CatBoost")):
            return library
    return ""


def _given(flow: Evaluator, node: ast.expr, scope: Scope) -> list[_Placed]:
    """Return what a name, a parameter or an attribute of the object is given, or what a condition chooses between."""
    if isinstance(node, ast.IfExp):
        taken = flow.program.constants.taken(node, scope)
        return [(each, scope) for each in ((node.body, node.orelse) if taken is node or taken is None else (taken,))]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        owner = scope.unit.enclosing_class
        homes = flow.program.ancestors(flow, owner) if owner is not None else []
        bindings = next((cls.attributes[node.attr] for cls in homes if node.attr in cls.attributes), [])
    else:
        bindings = bindings_of(node.id, scope) if isinstance(node, ast.Name) else []
    live = [each for each in bindings if flow.program.may_run(each.scope.unit, each.nesting)]
    given = [placed for each in live if each.kind == "assign" for placed in _assigned(flow, each)]
    for each in live:
        if each.kind == "param" and isinstance(each.scope, Unit):
            given += flow.program.arguments(flow, Param(each.scope, each.key))
    return given


def _assigned(flow: Evaluator, binding: Binding) -> list[_Placed]:
    """Return what a name is assigned, also where it is one of several that a function of the program returns."""
    value = unpacked(binding)
    if value is not None:
        return [(value, binding.scope)]
    call = binding.value
    if not isinstance(call, ast.Call) or len(binding.path) != 1:
        return []
    units = [ref for ref in flow.value(call.func, binding.scope).refs if isinstance(ref, Unit)]
    returned = [(value.elts, home) for unit in units for value, home in unit.returns if isinstance(value, ast.Tuple)]
    return [(items[binding.path[0]], home) for items, home in returned if -1 < binding.path[0] < len(items)]


# Sets.


def _written(flow: Evaluator, node: ast.expr | None, scope: Scope) -> _Placed | None:
    """Return the expression that a name stands for, where there is one."""
    for _ in range(_DEEPEST):
        if not isinstance(node, (ast.Name, ast.Attribute)):
            break
        given = _given(flow, node, scope)
        if len(given) != 1:
            break
        node, scope = given[0]
    return (node, scope) if node is not None else None


def _items(flow: Evaluator, node: ast.expr | None, scope: Scope) -> list[ast.expr]:
    written = _written(flow, node, scope)
    return list(written[0].elts) if written is not None and isinstance(written[0], (ast.List, ast.Tuple)) else []


def _texts(items: list[ast.expr]) -> list[str]:
    return [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def _sets(flow: Evaluator, library: str, site: CallSite) -> list[str]:
    """Name the sets that ``train`` of a library evaluates."""
    given = _argument(site.node, *_SETS[library])
    items = _items(flow, given, site.scope)
    if library == "xgboost":
        pairs = [item for item in items if isinstance(item, ast.Tuple) and len(item.elts) == 2]
        return _texts([pair.elts[1] for pair in pairs])
    if given is None:
        return []
    trained = _argument(site.node, 1, "train_set")
    return _names_of_sets(flow, items or [given], _argument(site.node, 4, "valid_names"), trained, site.scope)


def _names_of_sets(
    flow: Evaluator, sets: list[ast.expr], names: ast.expr | None, trained: ast.expr | None, scope: Scope
) -> list[str]:
    """Name the sets of LightGBM: as the program does, else by number, the very one that is trained on aside."""
    named = _texts(_items(flow, names, scope) or ([names] if names is not None else []))
    if names is not None:
        return named if len(named) == len(sets) else []
    own = _object_text(trained) if trained is not None else ""
    return ["training" if own and _object_text(each) == own else f"valid_{place}" for place, each in enumerate(sets)]


def _object_text(node: ast.expr) -> str:
    """Return the text of names, which give the same object each time; of what makes one anew, nothing."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return text_of(node) if all(map(dotted_text, parts)) else ""


def _sets_of_fit(flow: Evaluator, library: str, site: CallSite) -> list[str]:
    """Name the sets that ``fit`` of a model in the style of scikit-learn evaluates."""
    call = site.node
    given = next((key.value for key in call.keywords if key.arg in {"eval_set", "valid_sets"}), None)
    if library == "catboost":
        return ["learn", "test"] if given is not None else ["learn"]
    if given is None:
        return []
    items = _items(flow, given, site.scope)
    pairs = items if all(isinstance(item, (ast.Tuple, ast.Name)) for item in items) and items else [given]
    written = _written(flow, given, site.scope)
    if written is not None and isinstance(written[0], ast.Tuple):
        pairs = [written[0]]  # one pair, in no list
    if library == "xgboost":
        return [f"validation_{place}" for place, _ in enumerate(pairs)]
    names = next((key.value for key in call.keywords if key.arg == "eval_names"), None)
    trained = ast.Tuple(list(call.args[:2]), ast.Load()) if len(call.args) > 1 else None
    return _names_of_sets(flow, pairs, names, trained, site.scope)


# Metrics.


def _metrics(flow: Evaluator, library: str, given: list[_Placed], site: CallSite, cls: str) -> list[str]:
    """Name the metrics: those among the parameters or the arguments, else the one of what is minimised."""
    arguments = {key.arg: key.value for key in site.node.keywords}
    named = [name for each in given for name in _told(flow, library, each, _METRICS)]
    if "eval_metric" in arguments:
        named += _names(flow, library, arguments["eval_metric"], site.scope)
    own = [name for key in _OWN if key in arguments for name in _computed(flow, arguments[key], site.scope)]
    is_told = bool(named) and not (library == "lightgbm" and cls and "eval_metric" in arguments)
    usual = [] if is_told else _usual(flow, library, given, cls)
    known = (_ALIASES.get(name, name) if library == "lightgbm" else name for name in (*usual, *named, *own))
    return [name for name in dict.fromkeys(known) if name.lower() not in _NONE and name not in _RANKED]


def _usual(flow: Evaluator, library: str, given: list[_Placed], cls: str) -> list[str]:
    """Name the metric of the objective, or of the class of a model."""
    objective = [name for each in given for name in _told(flow, library, each, _OBJECTIVES)]
    if objective:
        usual = objective[0] if library == "catboost" else _BY_OBJECTIVE[library].get(objective[0])
        return [usual] if usual else []
    return [metric for end, metric in _BY_CLASS[library].items() if cls.endswith(end)]


def _told(flow: Evaluator, library: str, placed: _Placed, keys: tuple[str, ...], depth: int = 0) -> list[str]:
    """Return the names that stand under one of some keys in a mapping, or in the call that makes one or a model."""
    node, scope = placed
    if depth > _DEEPEST:
        return []
    values: list[_Placed] = [(value, where) for value, where in _stored(flow, node, scope, keys)]
    inner: list[_Placed] = []
    if isinstance(node, ast.Dict):
        pairs = list(zip(node.keys, node.values, strict=True))
        values += [(value, scope) for key, value in pairs if isinstance(key, ast.Constant) and key.value in keys]
        inner += [(value, scope) for key, value in pairs if key is None]
    elif isinstance(node, ast.Call):
        values += [(key.value, scope) for key in node.keywords if key.arg in keys]
        inner += [(key.value, scope) for key in node.keywords if key.arg is None]
        inner += [(each, scope) for each in node.args[:1] if called_name(node) in {"dict", "copy", "deepcopy"}]
    else:
        inner += _given(flow, node, scope)
    if values:
        return list(dict.fromkeys(name for value, where in values for name in _names(flow, library, value, where)))
    return list(dict.fromkeys(name for each in inner for name in _told(flow, library, each, keys, depth + 1)))


def _stored(flow: Evaluator, node: ast.expr, scope: Scope, keys: tuple[str, ...]) -> list[_Placed]:
    """Return what is put under one of some keys: ``params["metric"] = "auc"``, in any method of the object."""
    text = dotted_text(node)
    if not text:
        return []
    owner = scope.unit.enclosing_class
    classes = flow.program.ancestors(flow, owner) if owner is not None and text.startswith("self.") else []
    units = [unit for cls in classes for unit in cls.methods.values()] or [scope.unit]
    return [
        (store.value, store.scope)
        for unit in units
        for store in unit.stores
        if isinstance(store.target, ast.Subscript)
        and isinstance(store.target.slice, ast.Constant)
        and store.target.slice.value in keys
        and dotted_text(store.target.value) == text
        and flow.program.may_run(unit, store.nesting)
    ]


def _names(flow: Evaluator, library: str, node: ast.expr, scope: Scope) -> list[str]:
    """Return the names that an expression gives: a text, several in a list, or what a setting says."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        told = _told(flow, library, (node.value, scope), (str(node.slice.value),))
        if told:
            return told
    items = list(node.elts) if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]
    if len(items) == 1 and not isinstance(items[0], ast.Constant):
        written = _written(flow, items[0], scope)
        if written is not None and isinstance(written[0], (ast.List, ast.Tuple, ast.Set)):
            items, scope = list(written[0].elts), written[1]
    known = [flow.program.constants.value(item, scope) for item in items]
    texts = [each.value for each in known if each is not None and isinstance(each.value, str)]
    parts = [part.strip() for text in texts for part in text.split(",")] if library == "lightgbm" else texts
    return [part for part in parts if part]


def _computed(flow: Evaluator, node: ast.expr, scope: Scope) -> list[str]:
    """Return the name that a function of the program gives to what it computes: ``return "f1", value, True``."""
    units = [ref for ref in flow.value(node, scope).refs if isinstance(ref, Unit)]
    returned = [value for unit in units for value, _ in unit.returns]
    return _texts([value.elts[0] for value in returned if isinstance(value, ast.Tuple) and value.elts])
