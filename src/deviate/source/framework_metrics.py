"""Metrics that a framework reports by itself while it trains: no expression of the source holds their values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from deviate.core.experiment import Capture, Metric
from deviate.core.paths import globbed
from deviate.lexicon.words import UNNAMED, aggregate_of, meaning_of
from deviate.source.files import read_texts
from deviate.source.flow.expressions import makes_mapping
from deviate.source.flow.program import Evaluator, Program
from deviate.source.flow.values import External, Instance
from deviate.source.index import CallSite, Nesting, Scope, Unit, bindings_of, enclosing_branches, only_binding
from deviate.source.settings.options import Known
from deviate.source.sinks.rows import Report, is_logging_class, is_logging_object
from deviate.source.syntax import called_name, dotted_text, imported_names, text_of, written_items
from deviate.source.texts import ReportedValue
from deviate.source.trainers import (
    boosted,
    is_nothing,
    learned,
    metric_name,
    shown_epochs,
    shown_names,
    steps_of,
)

# Values that a framework logs and reports itself: Lightning's ``self.log``, TF 1 summaries.

#: Before the keys under which a framework's training loop reports.
PREFIX = "fit:"
#: Stands for any text in a key.
ANY = "{}"
#: Attributes in which a framework holds what it reported, by sink.
_HISTORIES = {
    "lightning": {"callback_metrics", "logged_metrics", "progress_bar_metrics"},
    "hf-trainer": {"log_history"},
    "keras": {"history"},
}
#: Assignments are followed this far.
_DEEPEST = 4


def framework_capture(flow: Evaluator, reported: ReportedValue, report: Report, label: str) -> Capture | None:
    """Say how the framework reports a value that it logs; None where the source has the value that is reported.

    Lightning logs a value of one batch and reports its mean over an epoch, validation by validation: that is what is
    monitored, and what ``trainer.callback_metrics`` holds.
    """
    if report.sink == "tf1-summary":
        return Capture(how="framework", key=reported.tag, label=label)
    if report.sink == "lightning" and _logs_by_framework(flow, report):
        return Capture(how="framework", key=PREFIX + (reported.tag or ANY), label=label)
    return None


def key_of(reported: ReportedValue, report: Report) -> str:
    """Return the name under which a framework may report a value once more that the source yields."""
    return PREFIX + reported.tag if report.sink in {"lightning", "keras"} and reported.tag else ""


def is_framework_logged(capture: Capture | None) -> bool:
    """Whether a framework reports the value, and under a name that the source gives it."""
    return capture is not None and capture.how == "framework" and bool(capture.key)


def is_read_back(expr: ast.expr, scope: Scope, sinks: set[str], depth: int = 0) -> bool:
    """Whether a value is read from where one of the frameworks holds what it reported."""
    node: ast.expr | None = expr
    while node is not None and not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute) and any(node.attr in _HISTORIES.get(sink, ()) for sink in sinks):
            return True
        node = _taken_from(node)
    bindings = bindings_of(node.id, scope) if node is not None and depth < _DEEPEST else []
    return any(
        binding.value is not None and is_read_back(binding.value, binding.scope, sinks, depth + 1)
        for binding in bindings
    )


def _taken_from(node: ast.expr) -> ast.expr | None:
    """Return what an attribute, an item, a method's result, a number or a comprehension is taken from."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return node.value
    if isinstance(node, ast.Call):
        return node.func if isinstance(node.func, ast.Attribute) else next(iter(node.args), None)
    return node.generators[0].iter if isinstance(node, (ast.DictComp, ast.ListComp, ast.GeneratorExp)) else None


def _logs_by_framework(flow: Evaluator, report: Report) -> bool:
    owner = report.scope.unit.enclosing_class
    own = owner is not None and is_logging_class(flow, owner)
    return own or is_logging_object(flow, report.node, report.scope)


# The version of a library that a project says it runs with.

#: Files that say it, those that a package manager reads before those that people read.
_SAYING = (
    ("requirements*.txt", "requirements/*.txt", "environment*.y*ml", "pyproject.toml", "setup.py", "setup.cfg"),
    ("README*",),
)

Version = tuple[int, ...]


def stated_version(root: Path, library: str) -> Version | None:
    """Return the newest version of a library that a project allows by its files; None where they leave it open.

    The files of `root` count, then, where none of them names one version, those of the folder around it.
    """
    exact = re.compile(
        rf"(?<![\w./-]){re.escape(library)}(\[[\w, -]*\])?['\"]?\s*(={{1,3}}|<=)\s*['\"]?v?(\d+(\.\d+)+)"
    )
    for folder in (root, root.parent):
        for patterns in _SAYING:
            stated = [exact.finditer(text) for _, text in read_texts(globbed(folder, *patterns))]
            versions = [tuple(map(int, match[3].split("."))) for matches in stated for match in matches]
            if versions:
                return max(versions)
    return None


# How Keras calls the accuracy that it logs: ``acc`` before Keras 2.3 and TensorFlow 2, ``accuracy`` since.

#: By the name that a program imports Keras under: the library that has a version, and the first that says ``accuracy``.
_SINCE = (("keras", "keras", (2, 3)), ("keras", "Keras", (2, 3)), ("tensorflow", "tensorflow", (2,)),
          ("tensorflow", "tensorflow-gpu", (2,)))  # fmt: skip
#: What a program reads of a history, gives a callback to watch, or writes into the name of a checkpoint.
_READ = re.compile(
    r"""(?:['"{]val_(?:[a-z]\w*_)?|(?:history\[|logs\[|logs\.get\(|monitor ?= ?)['"])(acc|accuracy)(?=['":}])"""
)
_OPTIMIZERS = ("SGD", "Adam", "Adamax", "Nadam", "RMSprop", "Adagrad", "Adadelta")
#: An accuracy whose name the program writes out stays what it is in every version.
_ACCURACY = re.compile(r"(?<!categorical_)(?<!binary_)(?<![a-z0-9])accuracy$")


def as_logged(program: Program, names: Iterable[str]) -> list[str]:
    """Return the names of metrics as the version of Keras logs them that the program is written for."""
    written = list(names)
    is_short = any(map(_ACCURACY.search, written)) and _is_short(program)
    return [_ACCURACY.sub("acc", name) for name in written] if is_short else written


def _is_short(program: Program) -> bool:
    """Whether an accuracy is ``acc``: by what the program reads, by the version it states, by how it is written."""
    read = {name for module in program.modules for line in module.lines for name in _READ.findall(line)}
    if len(read) == 1:
        return "acc" in read
    imported = _imported(program)
    for name, library, since in _SINCE:
        version = stated_version(program.imports.root, library) if imported == {name} else None
        if version is not None:
            return version < since
    return imported == {"keras"} and any(map(_is_of_old, _made(program)))


def _imported(program: Program) -> set[str]:
    """Return whether Keras is imported by itself, as a part of TensorFlow, or both."""
    nodes = (node for module in program.modules for node, _, _ in module.imports)
    dotted = (name.split(".") for node in nodes for name in imported_names(node))
    return {parts[0] for parts in dotted if "keras" in parts[:3]} & {"keras", "tensorflow"}


def _made(program: Program) -> list[CallSite]:
    return [site for name in _OPTIMIZERS for site in program.calls.get(name, ())]


def _is_of_old(site: CallSite) -> bool:
    """Whether an optimizer has a learning rate under the name that Keras gave it until 2.3."""
    return any(key.arg == "lr" for key in site.node.keywords)


#: What a Hugging Face Trainer logs in every training, and what it logs when it evaluates.
_HF_TRAINING = ("loss", "grad_norm", "train_loss", "train_runtime", "train_samples_per_second",
                "train_steps_per_second")  # fmt: skip
_HF_EVALUATION = ("eval_loss", "eval_runtime", "eval_samples_per_second", "eval_steps_per_second")
#: The first version of ``transformers`` that logs them, of what not every version does.
_HF_SINCE = {
    "grad_norm": (4, 38), "train_loss": (4, 7), "train_steps_per_second": (4, 7), "eval_steps_per_second": (4, 7),
    "train_runtime": (4, 2), "train_samples_per_second": (4, 2), "eval_runtime": (4, 2),
    "eval_samples_per_second": (4, 2),
}  # fmt: skip
#: Trainers of TRL that log how many tokens are right.
_TOKEN_TRAINERS = {"SFTTrainer"}
#: Arguments of a Hugging Face training that say when it evaluates.
_HF_WHEN = ("eval_strategy", "evaluation_strategy", "evaluate_during_training")
#: Options of a command that ask for an evaluation, and what leaves it out.
_HF_ASKED = ("eval_strategy", "do_eval")
_HF_NEVER = (None, False, "no")
#: Most certain; the rest is bookkeeping of the same run.
_HF_MAIN = {"loss", "eval_loss"}
_FITS = {"fit", "fit_generator"}
#: Before the names of what ``evaluate`` of Keras shows.
EVALUATED = "evaluate:"
_OF_KERAS = {"keras", "tensorflow", "tf_keras"}
#: Libraries whose models are fitted as well, and report nothing as Keras does.
_OTHERS = {"catboost", "lightgbm", "lightning", "pytorch_lightning", "sklearn", "xgboost"}
#: Callbacks of Keras that show no loss and no metric.
_SILENT = {"BackupAndRestore", "EarlyStopping", "LearningRateScheduler", "ReduceLROnPlateau", "TerminateOnNaN"}


def framework_metrics(flow: Evaluator, fitting: list[CallSite]) -> list[Metric]:
    """List what the calls that train in a framework's own loop report."""
    metrics: dict[tuple[str, Unit], Metric] = {}
    for site in fitting:
        trees = (_metric(site, name, library, 0.9) for library, name in boosted(flow, site))
        # What is logged in training is shown with the next rollout, which a short one does not come to.
        agents = (
            _metric(site, key, "stable-baselines3", 0.7 if "train/" in key else 0.9) for key in learned(flow, site)
        )
        epochs = (_metric(site, name, "skorch", 0.9) for name in shown_epochs(flow, site))
        for metric in (*_keras(flow, site), *_hugging_face(flow, site), *trees, *agents, *epochs):
            metrics.setdefault((metric.variable, site.scope.unit), metric)
    for site in flow.program.calls.get("evaluate", []):
        for metric in _keras_evaluation(flow, site):
            metrics.setdefault((metric.variable, site.scope.unit), metric)
    return list(metrics.values())


def _keras(flow: Evaluator, site: CallSite) -> Iterator[Metric]:
    if called_name(site.node) not in _FITS or not isinstance(site.node.func, ast.Attribute):
        return
    libraries = _libraries(flow, site)
    if libraries and libraries <= _OTHERS:
        return
    compiled = _compiled_with(flow, site, _compile_calls(flow.program))
    steps = steps_of(flow, site)
    if not (compiled or "train_step" in steps) or _is_silent(flow, site):
        return
    added = (name for each in flow.program.calls.get("add_metric", []) for name in _added_names(flow, each))
    own = dict.fromkeys(name for call in compiled for name in _compiled_names(flow, call))
    standard = ["loss", *dict.fromkeys([*as_logged(flow.program, own), *added])]
    names = shown_names(flow, steps["train_step"], standard) if "train_step" in steps else standard
    if any(
        key.arg in {"validation_data", "validation_split"} and not is_nothing(key.value) for key in site.node.keywords
    ):
        validated = shown_names(flow, steps["test_step"], standard) if "test_step" in steps else standard
        names = [*names, *(f"val_{name}" for name in validated)]
    for name in names:
        yield _metric(site, name, "keras", 0.95)


def _keras_evaluation(flow: Evaluator, site: CallSite) -> Iterator[Metric]:
    """Yield what ``model.evaluate(x, y)`` shows, where the program does nothing with it, or prints it as a list."""
    whole = site.statement.value if isinstance(site.statement, ast.Expr) else None
    is_printed = isinstance(whole, ast.Call) and called_name(whole) == "print" and whole.args == [site.node]
    is_dropped = whole is site.node or is_printed
    verbose = next((key.value for key in site.node.keywords if key.arg == "verbose"), None)
    if not is_dropped or _is_quiet(verbose) or not isinstance(site.node.func, ast.Attribute) or not site.node.args:
        return
    compiled = _compiled_with(flow, site, _compile_calls(flow.program))
    if not compiled or not (
        _libraries(flow, site) & _OF_KERAS or any(_receiver(site) == _receiver(each) for each in compiled)
    ):
        return
    own = dict.fromkeys(name for call in compiled for name in _compiled_names(flow, call))
    for name in ("loss", *as_logged(flow.program, own)):
        yield _metric(site, name, "keras", 0.8, EVALUATED)


def _libraries(flow: Evaluator, site: CallSite) -> set[str]:
    """Return the libraries that the fitted model may be of; one that the function assigns itself is what counts."""
    assert isinstance(site.node.func, ast.Attribute)
    model = site.node.func.value
    own = [store.value for store in site.scope.unit.stores if text_of(store.target) == text_of(model)]
    refs = [ref for made in own or [model] for ref in flow.value(made, site.scope).refs]
    return {ref.dotted.partition(".")[0] for ref in refs if isinstance(ref, External)}


def _is_silent(flow: Evaluator, site: CallSite) -> bool:
    """Whether Keras shows nothing of a training, hands it to no callback, and the program takes no history of it."""
    keywords = {key.arg: key.value for key in site.node.keywords}
    is_dropped = isinstance(site.statement, ast.Expr) and site.statement.value is site.node
    is_kept = "callbacks" in keywords and not _are_silent(flow, keywords["callbacks"], site.scope)
    return _is_quiet(keywords.get("verbose")) and is_dropped and not is_kept and None not in keywords


def _is_quiet(verbose: ast.expr | None) -> bool:
    return isinstance(verbose, ast.Constant) and verbose.value in (0, False)


def _are_silent(flow: Evaluator, callbacks: ast.expr, scope: Scope) -> bool:
    """Whether a list is written out of callbacks of Keras that show no value: ``[EarlyStopping(patience=3)]``."""
    if not isinstance(callbacks, ast.List):
        return False
    return all(_is_silent_callback(flow, item, scope) for item in callbacks.elts)


def _is_silent_callback(flow: Evaluator, item: ast.expr, scope: Scope) -> bool:
    refs = flow.resolved(item, scope).refs
    names = {ref.dotted.rpartition(".")[2] if isinstance(ref, External) else "" for ref in refs}
    binding = only_binding(item.id, scope) if isinstance(item, ast.Name) else None
    made = binding.value if binding is not None else item
    given = {key.arg: key.value for key in made.keywords} if isinstance(made, ast.Call) else None
    # What is kept of the best model is said where ``verbose`` asks for it.
    is_told = given is None or not _is_quiet(given.get("verbose", ast.Constant(0)))
    return bool(names) and names <= (_SILENT if is_told else {*_SILENT, "ModelCheckpoint"})


def _compile_calls(program: Program) -> list[CallSite]:
    sites = program.calls.get("compile", [])
    return [site for site in sites if any(key.arg in {"loss", "optimizer", "metrics"} for key in site.node.keywords)
            or len(site.node.args) >= 2]  # fmt: skip


def _compiled_with(flow: Evaluator, site: CallSite, compiled: list[CallSite]) -> list[CallSite]:
    """Keep the calls that compile the model of a fitting call; all, where none names it."""
    model = _receiver(site)
    same = [one for one in compiled if _receiver(one) == model]
    within = [one for one in same if one.scope.unit is site.scope.unit]
    return within or _before_call(flow, site.scope.unit, same) or same or compiled


def _before_call(flow: Evaluator, unit: Unit, compiled: list[CallSite]) -> list[CallSite]:
    """Keep the calls that stand in no other branch of a function than its call of the one that fits."""
    callers = flow.program.callers(flow, unit)
    return [
        one
        for one in compiled
        if any(one.scope.unit is call.scope.unit and not _are_exclusive(one.nesting, call.nesting) for call in callers)
    ]


def _are_exclusive(one: Nesting | None, other: Nesting | None) -> bool:
    """Whether two pieces of code stand in different branches of a condition."""
    branches = {id(node): branch for node, branch in enclosing_branches(one)}
    return any(branches.get(id(node), branch) != branch for node, branch in enclosing_branches(other))


def _receiver(site: CallSite) -> str:
    return dotted_text(site.node.func.value) if isinstance(site.node.func, ast.Attribute) else ""


def _compiled_names(flow: Evaluator, compiled: CallSite) -> Iterator[str]:
    loss = next((key.value for key in compiled.node.keywords if key.arg == "loss"), None)
    outputs = _keys_of(flow, loss, compiled) or _named_outputs(flow.program, loss)
    if len(outputs) > 1:
        yield from (f"{output}_loss" for output in outputs)
    metrics = next((key.value for key in compiled.node.keywords if key.arg == "metrics"), None)
    if metrics is None and len(compiled.node.args) > 2:
        metrics = compiled.node.args[2]
    if isinstance(metrics, ast.Name):
        values = [binding.value for binding in bindings_of(metrics.id, compiled.scope)]
        kinds = ast.Dict if len(outputs) > 1 else (ast.List, ast.Tuple)
        metrics = next((value for value in values if isinstance(value, kinds)), None)
    if isinstance(metrics, (ast.Attribute, ast.Call)):
        metrics = next(_listed_by_methods(flow, metrics), None)
    if isinstance(metrics, ast.Dict):
        for output, value in written_items(metrics):
            own = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
            yield from (f"{output}_{name}" for name in filter(None, map(metric_name, own)))
    if isinstance(metrics, (ast.List, ast.Tuple)):
        called = [name for each in metrics.elts if (name := _own_name(flow, each) or metric_name(each))]
        yield from called if len(outputs) < 2 else (f"{output}_{name}" for output in outputs for name in called)


def _own_name(flow: Evaluator, made: ast.expr) -> str:
    """Return what a metric of the project's own is called by default: ``def __init__(self, name="accuracy")``."""
    if not isinstance(made, ast.Call) or any(key.arg == "name" for key in made.keywords):
        return ""
    classes = flow.program.classes
    init = next((each.methods.get("__init__") for each in classes if each.name == called_name(made)), None)
    default = init.defaults.get("name") if init is not None else None
    return default.value if isinstance(default, ast.Constant) and isinstance(default.value, str) else ""


def _listed_by_methods(flow: Evaluator, metrics: ast.Attribute | ast.Call) -> Iterator[ast.expr]:
    """Yield the lists that methods or properties of a name return; those that no class below gives anew come first."""
    name = metrics.attr if isinstance(metrics, ast.Attribute) else called_name(metrics)
    methods = flow.program.methods.get(name, [])
    above = {
        base for each in methods if each.owner is not None for base in flow.program.ancestors(flow, each.owner)[1:]
    }
    for method in sorted(methods, key=lambda each: each.owner in above):
        yield from (result for result, _ in method.returns if isinstance(result, (ast.List, ast.Tuple)) and result.elts)


def _added_names(flow: Evaluator, added: CallSite) -> Iterator[str]:
    """Yield the names that ``model.add_metric(value, name=name)`` gives: a text, or the keys of a mapping in turn."""
    name = next((key.value for key in added.node.keywords if key.arg == "name"), None)
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        yield name.value
    for binding in bindings_of(name.id, added.scope) if isinstance(name, ast.Name) else ():
        items = binding.value
        if binding.kind == "for" and isinstance(items, ast.Call) and isinstance(items.func, ast.Attribute):
            yield from flow.resolved(items.func.value, binding.scope).keys


def _keys_of(flow: Evaluator, losses: ast.expr | None, compiled: CallSite) -> list[str]:
    """Find the outputs of a model that have a loss each: the keys of a mapping, written out, filled or returned."""
    keys: list[ast.expr | None] = []
    if isinstance(losses, ast.Name):
        bindings = bindings_of(losses.id, compiled.scope)
        filled = [binding.key for binding in bindings if binding.kind == "key"]
        written = [binding.value for binding in bindings if isinstance(binding.value, ast.Dict)]
        keys = [key for value in written if isinstance(value, ast.Dict) for key in value.keys]
        return list(dict.fromkeys([*_texts(keys), *filled])) or list(flow.value(losses, compiled.scope).keys)
    return _texts(losses.keys) if isinstance(losses, ast.Dict) else []


def _named_outputs(program: Program, losses: ast.expr | None) -> list[str]:
    """Name the outputs of a model that is compiled with a list of losses, after the layers that give them."""
    if not isinstance(losses, (ast.List, ast.Tuple)) or len(losses.elts) < 2:
        return []
    named = [
        tuple(_layer_name(output, site.scope) for output in given.elts)
        for site in program.calls.get("Model", ())
        for given in (*site.node.args[1:2], *(key.value for key in site.node.keywords if key.arg == "outputs"))
        if isinstance(given, (ast.List, ast.Tuple)) and len(given.elts) == len(losses.elts)
    ]
    return list(named[0]) if len(set(named)) == 1 and all(named[0]) else []


def _layer_name(output: ast.expr, scope: Scope) -> str:
    """Name of the layer that gives an output: ``Dense(1, name="age")(x)``, or of one that has a name: ``head(x)``."""
    made = output.func if isinstance(output, ast.Call) else output
    if isinstance(made, ast.Name):
        given = [each.value for each in bindings_of(made.id, scope) if each.kind == "assign" and not each.path]
        value = given[0] if len(given) == 1 else None
        if isinstance(output, ast.Name):
            return _layer_name(value, scope) if isinstance(value, ast.Call) else ""
        made = value or made
    names = [key.value for key in made.keywords if key.arg == "name"] if isinstance(made, ast.Call) else []
    return next(iter(_texts(list(names))), "")


def _texts(keys: list[ast.expr | None]) -> list[str]:
    return [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]


def _hugging_face(flow: Evaluator, site: CallSite) -> Iterator[Metric]:
    if called_name(site.node) != "train" or not isinstance(site.node.func, ast.Attribute):
        return
    made = _trainer_call(flow, site)
    if made is None:
        return
    keywords = {key.arg: key.value for key in made.keywords}
    names = list(_HF_TRAINING)
    dataset = flow.program.constants.taken(keywords.get("eval_dataset"), site.scope)
    is_spread = None in keywords and bool(flow.program.calls.get("evaluate"))
    is_given = dataset is not None and not (isinstance(dataset, ast.Constant) and dataset.value is None)
    # Of several sets, by their keys, each has names of its own: the run reports them.
    is_several = is_given and dataset is not None and makes_mapping(flow, dataset, site.scope)
    if is_spread or (is_given and not is_several and not _never_evaluates(flow, made, site)):
        names.extend(_HF_EVALUATION)
        names.extend(
            f"eval_{key.removeprefix('eval_')}" for key in _computed_keys(flow, keywords.get("compute_metrics"), site)
        )
    if called_name(made) in _TOKEN_TRAINERS:
        names += ["mean_token_accuracy", *["eval_mean_token_accuracy"] * ("eval_loss" in names)]
    version = stated_version(flow.program.imports.root, "transformers")
    for name in names if version is None else [each for each in names if version >= _HF_SINCE.get(each, ())]:
        is_bookkeeping = name in _HF_TRAINING + _HF_EVALUATION and name not in _HF_MAIN
        yield _metric(site, name, "hf-trainer", 0.7 if is_bookkeeping else 0.95)


def _never_evaluates(flow: Evaluator, made: ast.Call, site: CallSite) -> bool:
    """Whether nothing evaluates: the training does only where its arguments say when, and nothing else asks for it."""
    arguments = next((key.value for key in made.keywords if key.arg == "args"), None)
    if arguments is None and len(made.args) > 1:
        arguments = made.args[1]
    if arguments is None or flow.program.calls.get("evaluate"):
        return False
    constants = flow.program.constants
    binding = only_binding(arguments.id, site.scope) if isinstance(arguments, ast.Name) else None
    call = binding.value if binding is not None and not binding.path else arguments
    refs = flow.value(call.func, site.scope).refs if isinstance(call, ast.Call) else ()
    if not isinstance(call, ast.Call) or not any(map(_is_arguments, refs)):
        asked = (ast.copy_location(ast.Attribute(arguments, name, ast.Load()), arguments) for name in _HF_ASKED)
        answers = [constants.value(each, site.scope) for each in asked]
        return all(each is not None and each.value in _HF_NEVER for each in answers)
    when = [key.value for key in call.keywords if key.arg in _HF_WHEN]
    known = constants.value(when[0], site.scope) if when else Known(None)
    is_whole = bool(call.keywords) and all(key.arg is not None for key in call.keywords)
    return is_whole and known is not None and known.value in _HF_NEVER


def _is_arguments(ref: object) -> bool:
    return isinstance(ref, External) and ref.dotted.endswith(("Arguments", "Config"))


def _trainer_call(flow: Evaluator, site: CallSite) -> ast.Call | None:
    """Find the call that made the Trainer of the ``transformers`` family whose ``train`` is called."""
    func = site.node.func
    assert isinstance(func, ast.Attribute)
    made: ast.Call | None = None
    if isinstance(func.value, ast.Name):
        values = [binding.value for binding in bindings_of(func.value.id, site.scope)]
        calls = [value for value in values if isinstance(value, ast.Call)]
        made = next((call for call in calls if called_name(call).endswith("Trainer")), calls[0] if calls else None)
    for ref in flow.value(func.value, site.scope).refs:
        if isinstance(ref, External) and re.match(
            r"(transformers|trl|peft|sentence_transformers|setfit|optimum)\b.*Trainer$", ref.dotted
        ):
            return made or ast.Call(func=func, args=[], keywords=[])
        if isinstance(ref, Instance):
            bases = flow.program.external_bases(flow, ref.cls)
            if any(re.match(r"(transformers|trl)\b.*Trainer$", base) for base in bases):
                return ref.made or made or ast.Call(func=func, args=[], keywords=[])
    return None


def _computed_keys(flow: Evaluator, compute: ast.expr | None, site: CallSite) -> list[str]:
    """Keys of what ``compute_metrics`` returns, where they are constant."""
    if compute is None:
        return []
    units = [ref for ref in flow.value(compute, site.scope).refs if isinstance(ref, Unit)]
    return list(dict.fromkeys(key for unit in units for key in flow.returned(unit).keys))


def _metric(site: CallSite, name: str, sink: str, confidence: float, prefix: str = PREFIX) -> Metric:
    meaning = meaning_of(name) or UNNAMED
    return Metric(
        name=name if prefix == PREFIX else f"evaluate {name}", variable=f"{prefix}{name}", expression=f"{prefix}{name}",
        file=site.scope.module.file, line=site.node.lineno,
        end_line=site.node.end_lineno or site.node.lineno, function=site.scope.unit.display_name, sink=sink,
        kind=meaning.kind, direction=meaning.direction, aggregate=aggregate_of(meaning.kind, name),
        confidence=confidence, why=f"reported by {text_of(site.node.func)} itself", capture=Capture(how="framework"),
    )  # fmt: skip
