"""Calls that run a whole training inside a library, what is reported of it, and calls that make its objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from deviate.lexicon.words import word_lists
from deviate.source.flow.attributes import called_above
from deviate.source.flow.program import Evaluator, Program
from deviate.source.flow.values import External, Instance, Param
from deviate.source.index import Binding, CallSite, ClassScope, Scope, Unit, bindings_of
from deviate.source.syntax import called_name, dotted_text, text_of, unpacked


def types_of(flow: Evaluator, made: ast.expr, scope: Scope) -> list[str]:
    """Return the dotted names that an object may be of; of a class of the project, those that it derives from."""
    refs = flow.resolved(made, scope).refs
    dotted = [ref.dotted for ref in refs if isinstance(ref, External)]
    below = [ref.cls for ref in refs if isinstance(ref, Instance)]
    return [*dotted, *(base for cls in below for base in flow.program.external_bases(flow, cls))]


def given_to(made: ast.expr, classes: Collection[str], scope: Scope) -> list[dict[str | None, ast.expr]]:
    """Return the keywords of each call that makes an object of some classes, where a name is bound to it."""
    values = [each.value for each in bindings_of(made.id, scope)] if isinstance(made, ast.Name) else []
    calls = [value for value in values if isinstance(value, ast.Call) and called_name(value) in classes]
    return [{key.arg: key.value for key in call.keywords} for call in calls]


def is_nothing(given: ast.expr | None) -> bool:
    """Whether what is given is written as nothing: ``validation_data=None``, ``verbose=0``."""
    return isinstance(given, ast.Constant) and not given.value


# What Stable-Baselines3 logs while one of its algorithms learns.

_PACKAGES = ("stable_baselines3.", "sb3_contrib.")
#: Of every algorithm: reward and length of the last episodes, and what they cost.
_OF_EACH = ("rollout/ep_rew_mean", "rollout/ep_len_mean", "time/fps", "time/time_elapsed")
_CLIPPED = (
    "train/loss", "train/policy_gradient_loss", "train/value_loss", "train/entropy_loss", "train/approx_kl",
    "train/clip_fraction", "train/explained_variance",
)  # fmt: skip
_ENTROPIC = ("train/actor_loss", "train/critic_loss", "train/ent_coef", "train/ent_coef_loss")
_OF_ALGORITHM = {
    "PPO": _CLIPPED, "RecurrentPPO": _CLIPPED, "MaskablePPO": _CLIPPED,
    "A2C": ("train/policy_loss", "train/value_loss", "train/entropy_loss", "train/explained_variance"),
    "TRPO": ("train/policy_objective", "train/value_loss", "train/kl_divergence_loss", "train/explained_variance"),
    "DQN": ("train/loss",), "QRDQN": ("train/loss",),
    "SAC": _ENTROPIC, "TQC": _ENTROPIC, "CrossQ": _ENTROPIC,
    "DDPG": ("train/actor_loss", "train/critic_loss"), "TD3": ("train/actor_loss", "train/critic_loss"),
}  # fmt: skip
#: Of a callback that evaluates.
_EVALUATED = ("eval/mean_reward", "eval/mean_ep_length")


def learned(flow: Evaluator, site: CallSite) -> Iterator[str]:
    """Yield the names under which a call of ``learn`` logs, where it shows or keeps what it logs."""
    if called_name(site.node) != "learn" or not isinstance(site.node.func, ast.Attribute):
        return
    model = site.node.func.value
    parts = [
        part for name in types_of(flow, model, site.scope) if name.startswith(_PACKAGES) for part in name.split(".")
    ]
    algorithms = [part for part in dict.fromkeys(parts) if part in _OF_ALGORITHM]
    if not algorithms or _makes_silent(given_to(model, algorithms, site.scope)):
        return
    yield from dict.fromkeys((*_OF_EACH, *(name for each in algorithms for name in _OF_ALGORITHM[each])))
    if flow.program.calls.get("EvalCallback"):
        yield from _EVALUATED


def _makes_silent(made: list[dict[str | None, ast.expr]]) -> bool:
    """Whether models are made to show nothing (``verbose=0``, the default) and to keep nothing."""
    return bool(made) and all(
        None not in given
        and "tensorboard_log" not in given
        and ("verbose" not in given or is_nothing(given["verbose"]))
        for given in made
    )


_LISTS = word_lists("fitting")
_FITS = _LISTS["fitting methods"]
_RUNS = _LISTS["running methods"]
_KEYWORDS = _LISTS["training keywords"]
_FUNCTIONS = _LISTS["training functions"]
_COMPILED = _LISTS["compiled loops"]
_COMPILED_NAMES = {dotted.rpartition(".")[2] for dotted in _COMPILED}
_NAMES = {dotted.rpartition(".")[2] for dotted in _FUNCTIONS}
_TRAINERS = re.compile(r"(trainer|engine|runner|learner|learn|estimator|session|experiment)$", re.IGNORECASE)
_MODELS = re.compile(r"(model|net|network|trainer|learn|learner|gan|vae|autoencoder|classifier|agent|policy|"
                     r"ppo|engine)\d*$", re.IGNORECASE)  # fmt: skip
_NOT_MODELS = re.compile(r"(scaler|pca|(?<!auto)encoder|tokenizer|vectorizer|transformer|imputer|tsne|kmeans|binarizer|"
                         r"svd|enc|gmm|curve|regressor|lr|logreg|knn|svm|(^|[._])le)$", re.IGNORECASE)  # fmt: skip
#: What runs single steps of a graph.
_SESSION = re.compile(r"sess(ion)?$", re.IGNORECASE)
_LOOP_TYPES = "Trainer|Engine|Runner|Learner|Estimator|Fabric|PPO|A2C|DQN|SAC|TD3"
#: Types of objects, whatever these are called, whose ``train`` runs a loop; that of a model sets its mode.
_OWN_LOOP = re.compile(rf"({_LOOP_TYPES})$")
_TRAINER_TYPES = re.compile(rf"({_LOOP_TYPES}|Model|Sequential|NeuralNet\w*)$")


def is_fitting_call(flow: Evaluator, site: CallSite) -> bool:
    """Whether a call trains a model in a loop of a library."""
    name = called_name(site.node)
    if _is_function(flow, site) or any(map(_is_fit, site.node.args)):
        return True
    if (name not in _FITS and name not in _RUNS) or not isinstance(site.node.func, ast.Attribute):
        return False
    own = [unit for unit in flow.program.targets(flow, site) if unit in flow.program.reached]
    if called_above(site.node) == site.scope.unit.name or not all(_hands_up(unit, name) for unit in own):
        return False
    receiver = dotted_text(site.node.func.value)
    keywords = {key.arg for key in site.node.keywords}
    refs = flow.value(site.node.func.value, site.scope).refs
    types = [ref.dotted for ref in refs if isinstance(ref, External)]
    types.extend(
        base for ref in refs if isinstance(ref, Instance) for base in flow.program.external_bases(flow, ref.cls)
    )
    alike = flow.program.called_like(site.node) if not types else []
    if not types and (_is_own_loop(flow.program, name) or not all(_hands_up(unit, name) for unit in alike)):
        return False
    typed = any(_TRAINER_TYPES.search(dotted.rpartition(".")[2]) for dotted in types)
    if name in _FITS:
        if _NOT_MODELS.search(receiver):
            return False
        if any(dotted.startswith("sklearn.") for dotted in types):
            return bool(keywords & _KEYWORDS)  # what is cloned need not be of sklearn
        return bool(keywords & _KEYWORDS) or typed or (bool(_MODELS.search(receiver)) and bool(site.node.args))
    if name == "train" and not site.node.args and not site.node.keywords:
        return bool(_TRAINERS.search(receiver)) or any(map(_OWN_LOOP.search, types))
    if name == "train" and _MODELS.search(receiver) and not _TRAINERS.search(receiver):
        return bool(keywords & _KEYWORDS)
    return (
        bool(_TRAINERS.search(receiver) or (name == "train" and any(map(_OWN_LOOP.search, types))))
        and (name != "run" or typed or bool(site.node.args or keywords))
        and not _SESSION.search(receiver)
    )


def is_compiled_loop(flow: Evaluator, site: CallSite) -> bool:
    """Whether a call makes a loop that a compiler runs of a function: ``jax.lax.scan(step, state)``."""
    if called_name(site.node) not in _COMPILED_NAMES:
        return False
    refs = flow.value(site.node.func, site.scope).refs
    return any(isinstance(ref, External) and ref.dotted in _COMPILED for ref in refs)


def _is_fit(arg: ast.expr) -> bool:
    """Whether an argument is the training of a library, handed on to be called: ``quietly(trainer.fit, model=net)``."""
    is_method = isinstance(arg, ast.Attribute) and arg.attr == "fit"
    return is_method and bool(_TRAINERS.search(dotted_text(arg.value)))  # type: ignore[attr-defined]


def _hands_up(unit: Unit, name: str) -> bool:
    """Whether a method leaves its work to the one above it, of a library's class: ``super().train(data)``."""
    return any(called_above(site.node) == name for site in unit.calls)


def _is_function(flow: Evaluator, site: CallSite) -> bool:
    """Whether a call is of a library's function that trains, whatever it is imported as."""
    name, aliases = called_name(site.node), flow.program.aliases
    if name == "LightningCLI" or _is_own_cli(flow, site):
        return not any(key.arg == "run" and isinstance(key.value, ast.Constant) for key in site.node.keywords)
    if name not in _NAMES and not any(name in aliases.get(one, ()) for one in _NAMES):
        return False
    refs = flow.value(site.node.func, site.scope).refs
    return any(isinstance(ref, External) and not ref.made and ref.dotted in _FUNCTIONS for ref in refs)


def _is_own_cli(flow: Evaluator, site: CallSite) -> bool:
    """Whether a class of the project that derives from Lightning's command line is called."""
    if "cli" not in called_name(site.node).lower():
        return False
    classes = [ref for ref in flow.value(site.node.func, site.scope).refs if isinstance(ref, ClassScope)]
    bases = (base for cls in classes for base in flow.program.external_bases(flow, cls))
    return any(base.rpartition(".")[2] == "LightningCLI" for base in bases)


def _is_own_loop(program: Program, name: str) -> bool:
    """Whether a call of unknown object may run a loop of the project: one that a configuration makes, say."""
    return any(unit in program.reached and unit.loops for unit in program.methods.get(name, []))


# What LightGBM, XGBoost and CatBoost report of a training: each metric, on each set that is evaluated.

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


# What Keras shows of a model with steps of its own: the keys of the mapping that ``train_step`` returns.

_MODEL = re.compile(r"\bkeras\.(.*\.)?(Model|Sequential|Functional)$")
_METRIC = re.compile(r"\bkeras\.metrics\.")


def steps_of(flow: Evaluator, site: CallSite) -> dict[str, Unit]:
    """Return by name the steps that the model of a fitting call, an object of a class of the project, has itself."""
    assert isinstance(site.node.func, ast.Attribute)
    refs = flow.resolved(site.node.func.value, site.scope).refs
    classes = next((flow.program.ancestors(flow, ref.cls) for ref in refs if isinstance(ref, Instance)), [])
    if not classes or not any(map(_MODEL.search, flow.program.external_bases(flow, classes[0]))):
        return {}
    return {name: unit for each in reversed(classes) for name, unit in each.methods.items() if name.endswith("_step")}


def shown_names(flow: Evaluator, step: Unit, standard: list[str]) -> list[str]:
    """Name what Keras shows after a step; `standard` are the names that its own step gives."""
    names = list(flow.returned(step).keys)
    if any(called_above(site.node) == step.name for site in step.calls):
        names = [*standard, *names]
    if any(map(_gives_all, (result for result, _ in step.returns))) and step.owner is not None:
        added = [name for each in flow.program.ancestors(flow, step.owner) for name in _held(flow, each)]
        names = [*names, *(added or standard)]
    return list(dict.fromkeys(names)) or standard


def _gives_all(result: ast.expr) -> bool:
    """Whether the metrics of the model are returned: ``{each.name: each.result() for each in self.metrics[:-1]}``."""
    if not isinstance(result, ast.DictComp):
        return False
    given = result.generators[0].iter
    return dotted_text(given.value if isinstance(given, ast.Subscript) else given) == "self.metrics"


def _held(flow: Evaluator, cls: ClassScope) -> Iterator[str]:
    """Yield the names of the metrics of Keras that a model holds."""
    for binding in (each for given in cls.attributes.values() for each in given):
        call = binding.value
        refs = flow.value(call.func, binding.scope).refs if isinstance(call, ast.Call) else ()
        if any(isinstance(ref, External) and _METRIC.search(ref.dotted) for ref in refs):
            yield metric_name(call)


def metric_name(node: ast.expr | None) -> str:
    """Name under which Keras logs a metric."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Call):
        name = next((key.value for key in node.keywords if key.arg == "name"), None)
        if isinstance(name, ast.Constant):
            return str(name.value)
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", called_name(node)).lower()
    return dotted_text(node).rpartition(".")[2] if node is not None else ""


# What skorch shows of each epoch.

_CLASSIFIERS = {"NeuralNetClassifier", "NeuralNetBinaryClassifier"}
_NETS = {"NeuralNet", "NeuralNetRegressor", *_CLASSIFIERS}


def shown_epochs(flow: Evaluator, site: CallSite) -> Iterator[str]:
    """Yield the heads of the table that a call of ``fit`` or ``partial_fit`` shows, but for the epoch's number."""
    if not isinstance(site.node.func, ast.Attribute):
        return
    net = site.node.func.value
    nets = {name.rpartition(".")[2] for name in types_of(flow, net, site.scope) if name.startswith("skorch.")} & _NETS
    given = {key: value for keywords in given_to(net, nets, site.scope) for key, value in keywords.items()}
    if not nets or is_nothing(given.get("verbose")):
        return
    yield "train_loss"
    if not is_nothing(given.get("train_split")):
        yield "valid_loss"
        yield from ["valid_acc"] * bool(nets & _CLASSIFIERS)
    yield from _scored(flow)
    yield "dur"


def _scored(flow: Evaluator) -> Iterator[str]:
    """Yield the names of what callbacks score in each epoch: ``EpochScoring("roc_auc", name="auc")``."""
    for site in flow.program.calls.get("EpochScoring", []):
        named = next((key.value for key in site.node.keywords if key.arg == "name"), None)
        text = named if named is not None else next(iter(site.node.args), None)
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text.value
