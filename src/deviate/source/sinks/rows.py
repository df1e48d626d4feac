"""The calls that report, one row a sink, and what they are called on."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from deviate.lexicon.words import BEGINS, LOG, TRAIN, UNNAMED, meaning_of, words_like
from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import External, From, Instance, Param
from deviate.source.index import Binding, CallSite, ClassScope, Nesting, Scope, Store, Unit, bindings_of, local_bindings
from deviate.source.sinks.stores import (
    BY_NAME,
    Reader,
    accumulated,
    anything,
    argument,
    bar_values,
    dumped,
    elements_of,
    estimated,
    file_text,
    first_text,
    item_of_receiver,
    keyword,
    lists,
    mapping,
    message,
    named_lists,
    plotted_point,
    shown_text,
    tag_and_value,
    texts,
    with_tag,
)
from deviate.source.syntax import annotations_of, called_name, dotted_text, text_of, written_items
from deviate.source.text_parts import take_apart
from deviate.source.texts import Part, ReportedValue, as_mapping, change_values, surround

#: Names of names are followed this far.
MAX_DEPTH = 4


def original_calls(flow: Evaluator, call: ast.Call, scope: Scope) -> Iterator[ast.Call]:
    """Yield the calls that a call under another name stands for, with the arguments that this one gives."""
    yield from _originals(flow, call, scope, {dotted_text(call.func)}, 0)


def _originals(flow: Evaluator, call: ast.Call, scope: Scope, seen: set[str], depth: int) -> Iterator[ast.Call]:
    """Follow each name once: what many callers pass on under the same names has more ways than can be gone."""
    for value in _given(flow, call.func, scope) if depth <= MAX_DEPTH else ():
        name = dotted_text(value)
        original = _called_through(value, call) if name not in seen or not name else None
        if original is not None:
            seen.add(name)
            yield original
            yield from _originals(flow, original, scope, seen, depth + 1)


def _given(flow: Evaluator, func: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """Yield what the name of a called function was given: by assignment, as an argument or by default."""
    for binding in _bindings(flow, func, scope):
        values = [binding.value] if binding.kind == "assign" and not binding.path else []
        if binding.kind == "param" and isinstance(binding.scope, Unit):
            passed = flow.program.arguments(flow, Param(binding.scope, binding.key))
            values = [binding.value, *(expr for expr, _ in passed)]
        for value in values:
            yield from _choices(value)


def _bindings(flow: Evaluator, func: ast.expr, scope: Scope) -> list[Binding]:
    if isinstance(func, ast.Name):
        return bindings_of(func.id, scope)
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.attr in flow.program.attributes:
        refs = [ref for ref in flow.value(func.value, scope).refs if isinstance(ref, Instance)]
        return [binding for ref in refs for binding in ref.cls.attributes.get(func.attr, [])]
    return []


def _choices(value: ast.expr | None) -> Iterator[ast.expr]:
    """Yield the ends of a choice: ``print if verbose else nothing``, ``verbose and print or nothing``."""
    if isinstance(value, (ast.IfExp, ast.BoolOp)):
        for choice in (value.body, value.orelse) if isinstance(value, ast.IfExp) else value.values:
            yield from _choices(choice)
    elif value is not None:
        yield value


def _called_through(value: ast.expr, call: ast.Call) -> ast.Call | None:
    """Call what a name was given with the arguments of a call of the name."""
    if isinstance(value, (ast.Name, ast.Attribute)):
        return ast.copy_location(ast.Call(value, call.args, call.keywords), call)
    if isinstance(value, ast.Call) and called_name(value) == "partial" and value.args:
        args, keywords = [*value.args[1:], *call.args], [*value.keywords, *call.keywords]
        return ast.copy_location(ast.Call(value.args[0], args, keywords), call)
    if isinstance(value, ast.Lambda) and isinstance(value.body, ast.Call):
        return _through_lambda(value, value.body, call)
    return None


def _through_lambda(function: ast.Lambda, body: ast.Call, call: ast.Call) -> ast.Call | None:
    """Call what a lambda calls, with the arguments of the call in place of the lambda's parameters."""
    parameters = [arg.arg for arg in function.args.args]
    extra = function.args.vararg.arg if function.args.vararg is not None else ""
    arguments = dict(zip(parameters, call.args, strict=False))
    arguments |= {key.arg: key.value for key in call.keywords if key.arg in parameters}
    given: list[ast.expr] = []
    for arg in body.args:
        inner = arg.value if isinstance(arg, ast.Starred) else arg
        if isinstance(inner, ast.Name) and inner.id == extra and extra:
            given.extend(call.args[len(parameters) :])
        else:
            given.append(_Replaced(arguments).visit(copy.deepcopy(inner)))
    return ast.copy_location(ast.Call(body.func, given, []), call) if arguments or given else None


class _Replaced(ast.NodeTransformer):
    """Put arguments in the place of parameters; they stay the very nodes of the call."""

    def __init__(self, arguments: dict[str, ast.expr]) -> None:
        self.arguments = arguments

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.arguments.get(node.id, node)


# What a data frame holds that is written to a file: rows and columns, given at once or one after another.

_MAX_DEPTH = 12
_MAKERS = {"DataFrame", "from_dict", "from_records", "Series"}
#: Views of a frame through which rows and cells are set.
_VIEWS = {"loc", "iloc", "at", "iat"}


def data_frame(flow: Evaluator, call: ast.Call, scope: Scope) -> list[Part] | None:
    """Read what the data frame was made of whose method is called: ``pd.DataFrame(rows).to_csv(path)``."""
    return _frame_parts(flow, call.func.value, scope) if isinstance(call.func, ast.Attribute) else None


def _frame_parts(flow: Evaluator, frame: ast.expr, scope: Scope, depth: int = 0) -> list[Part]:
    if depth > _MAX_DEPTH:
        return []
    if isinstance(frame, ast.Name):
        made = [
            part
            for binding in bindings_of(frame.id, scope)
            if isinstance(binding.value, ast.Call) and binding.kind == "assign"
            for part in (*_frame_parts(flow, binding.value, binding.scope, depth + 1), "\n")
        ]
        return [*made, *_set_parts(flow, frame, scope)]
    if isinstance(frame, ast.Call):
        name = called_name(frame)
        held = argument(frame, 0, "data") if name in _MAKERS else None
        if held is not None:
            return as_mapping(_columns(flow, held, scope) or elements_of(flow, held, scope))
        if frame.args and name == "concat":
            parts = frame.args[0].elts if isinstance(frame.args[0], (ast.List, ast.Tuple)) else []
            return [part for one in parts for part in _frame_parts(flow, one, scope, depth + _MAX_DEPTH // 2)]
        if isinstance(frame.func, ast.Attribute):
            return _frame_parts(flow, frame.func.value, scope, depth + 1)
    return []


def _columns(flow: Evaluator, held: ast.expr, scope: Scope) -> list[Part]:
    """Read columns that are lists filled over time: ``{"loss": losses}``; nothing where one is no variable."""
    if not isinstance(held, ast.Dict):
        return []
    keys = [key.value for key in held.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    if len(keys) != len(held.keys) or not all(isinstance(value, ast.Name) for value in held.values):
        return []
    columns = zip(keys, held.values, strict=True)
    return [part for key, value in columns for part in (*_named(accumulated(flow, value, scope), key, ""), "\n")]


def _set_parts(flow: Evaluator, frame: ast.Name, scope: Scope) -> list[Part]:
    """Read what is set in a frame: ``frame.loc[epoch] = [epoch, loss]``, ``frame["loss"] = losses``."""
    parts: list[Part] = []
    for store in scope.unit.stores:
        target = store.target
        if not isinstance(target, ast.Subscript):
            continue
        holder = target.value
        is_view = isinstance(holder, ast.Attribute) and holder.attr in _VIEWS
        base = holder.value if is_view and isinstance(holder, ast.Attribute) else holder
        if not isinstance(base, ast.Name) or base.id != frame.id:
            continue
        key = target.slice.elts[-1] if isinstance(target.slice, ast.Tuple) and target.slice.elts else target.slice
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
        read = elements_of(flow, store.value, store.scope) if is_view else accumulated(flow, store.value, store.scope)
        item = f"{frame.id}['{name}']" if name and not isinstance(store.value, (ast.Name, ast.Attribute)) else ""
        parts.extend([*_named(read, name, item), "\n"])
    return parts


def _named(parts: list[Part], name: str, item: str) -> list[Part]:
    return change_values(parts, lambda value: replace(value, tag=name or value.tag, known_as=item or value.known_as))


# Objects of the program whose ``log`` is a framework's: modules of Lightning, trainers of Hugging Face.

_LOGGING_BASES = re.compile(
    r"\bLightning(Data)?Module$|^(transformers|trl|sentence_transformers|setfit|optimum)\b.*Trainer$"
)


def is_logging_class(flow: Evaluator, cls: ClassScope) -> bool:
    """Whether the ``log`` of a class is the framework's: its epoch values are means over batches, computed later."""
    return any(map(_LOGGING_BASES.search, flow.program.external_bases(flow, cls)))


def is_logging_object(flow: Evaluator, call: ast.expr | ast.stmt, scope: Scope) -> bool:
    """Whether a method of such an object is called, wherever it was handed to: ``module.log("loss", loss)``."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    if _is_given_module(call.func.value, scope):
        return True
    refs = flow.resolved(call.func.value, scope).refs
    return any(isinstance(ref, Instance) and is_logging_class(flow, ref.cls) for ref in refs)


def _is_given_module(node: ast.expr, scope: Scope) -> bool:
    """Whether an expression is the module that Lightning hands to a callback's method: ``pl_module``."""
    if not isinstance(node, ast.Name) or node.id not in scope.unit.parameters or scope.unit.enclosing_class is None:
        return False
    declared = annotations_of(scope.unit).get(node.id)
    return node.id == "pl_module" or (declared is not None and "LightningModule" in text_of(declared))


Condition = Callable[[Evaluator, ast.Call, Scope], bool]

#: Sinks of text, files and figures, and containers that are shown later: what reaches them may be anything.
#: All others take numbers.
TEXT_SINKS = {"print", "logging", "file", "figure", "visdom", "kept"}

#: Trackers that take numbers alone.
SCALARS = {"tensorboard", "tf1-summary"}
#: What is given to these under a tag is a number that somebody wants to follow.
TRACKERS = {"tensorboard", "wandb", "mlflow", "keras", "tracker", "logger", "lightning", "accelerate"}

#: Names of objects that report.
_LOGGER = re.compile(
    f"{LOG}|^run$|^self$|[.]run$|^live$|"
    + words_like(
        "aim|fabric", "progress|wandb|mlflow|trackio|experiment|neptune|comet|swanlab|accelerator|clearml|dvclive"
    )
    + f"|{TRAIN}er(?![a-z])|(?i:track|writ|record)er(?![a-z])"
)
#: Packages and classes of libraries that log: ``loguru.logger``, and not ``catalog``.
_LOGGING = re.compile(LOG)
#: ``ax[0]`` and ``axes``, and not ``softmax``.
_AXES = r"(?<![a-z])(plt|ax(s|es)?|pyplot|pylab)(?![a-z])"
_NUMBERS_LIBRARY = re.compile(r"(np|numpy|torch|math|jnp|tf|F)$")
_NUMBERS_FUNCTION = re.compile(r"(numpy|torch|math|tensorflow|jax(\.numpy)?)(\.math)?\.log\d*$")
_FILE = re.compile(
    r"^(f|fp|fo|fh|fd|fw|fout|f_out|file|out|output|log|logf|log_?file|stats_?file|csv_?file|txt|writer|csv_?writer"
    r"|.*\.(stdout|stderr|logfile|file|log|f))$|_(f|file|log)$",
    re.IGNORECASE,
)


#: Keywords of visdom that say which plot is meant and what is added to it.
_PLOTTED = {"X", "Y", "env", "name", "opts", "update", "win"}


@dataclass(frozen=True)
class Sink:
    """A kind of call that reports."""

    #: Under which findings list it.
    name: str
    #: Functions and methods, separated by spaces.
    calls: str
    read: Reader
    #: What the object must be called whose method it is: a regular expression.
    receiver: str = ""
    when: Condition | None = None

    def matches(self, flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
        """Whether a call of the right name is one to this sink."""
        if self.receiver and not re.search(self.receiver, receiver_text(call)):
            return False
        return self.when is None or self.when(flow, call, scope)


def receiver_text(call: ast.Call) -> str:
    """Dotted name of the object whose method is called, or the key it is taken by; empty for a function."""
    base = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(base, ast.Subscript) and isinstance(base.slice, ast.Constant) and isinstance(base.slice.value, str):
        return base.slice.value  # ``parts["wandb"].log(loss)``
    return dotted_text(base) if base is not None else ""


def _is_logger(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether a message's receiver is named like a logger, or made by a library for logging."""
    if _LOGGER.search(receiver_text(call)):
        return True
    refs = flow.value(call.func.value, scope).refs if isinstance(call.func, ast.Attribute) else ()
    return any(isinstance(ref, External) and _LOGGING.search(ref.dotted) for ref in refs)


def _logs_values(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether ``log`` is a tracker's, not the logarithm."""
    receiver = receiver_text(call)
    dotted = next((ref.dotted for ref in flow.value(call.func, scope).refs if isinstance(ref, External)), "")
    if _NUMBERS_FUNCTION.match(dotted):
        return False  # ``self.log = torch.log``
    is_named = bool(receiver) and _LOGGER.search(receiver) is not None
    return (is_named or _LOGGING.search(dotted.rpartition(".")[0]) is not None) and not _NUMBERS_LIBRARY.search(
        receiver
    )


def _has_level(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether the first argument is a level: ``logger.log(level, message)``."""
    level = dotted_text(call.args[0]) if len(call.args) > 1 else ""
    names = {"level", "lvl", "log_level", "loglevel"}
    is_level = level.startswith("logging.") or level.rpartition(".")[2].lower() in names
    return is_level and _logs_values(flow, call, scope)


def _has_no_step(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether a summary has no step: TensorFlow 1 evaluates it later."""
    return len(call.args) < 3 and not any(key.arg == "step" for key in call.keywords)


def _writes_file(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return bool(_FILE.search(receiver_text(call))) or flow.value(receiver, scope).has(From.PATH)


def _is_plot(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether ``line`` adds a point to a plot of visdom: ``draw.line([(left, top), (right, top)])`` draws a line."""
    is_named = any(key.arg in _PLOTTED for key in call.keywords)
    return is_named or re.search(rf"{BEGINS}(?i:vis|viz|plot)", receiver_text(call)) is not None


def _advances(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether a progress bar is moved on, and its fields are given: ``progress.update(task, advance=1, loss=loss)``."""
    return any(key.arg in {"advance", "completed"} for key in call.keywords)


def _has_arguments(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    return bool(call.args)


_SUMMARY_WRITER = f"{LOG}|{words_like('tb|board|t(f|ensor)?board', 'summ|record|tensorboard')}|(?i:writer)"
_CONSOLE = r"^$|^tf$|console|tqdm|" + words_like("dist|xm|rich|fabric|self|tensorflow", "accel")
#: ``pbar`` and ``progressBar``, and not ``barrier``.
_BAR = "tqdm|^mb$|" + words_like(r"([a-z]|prog|progress|epoch|batch|train|val|valid|test|status|outer|inner)?bar")

#: The first row whose name and conditions match, and which reads something, wins.
SINKS = (
    Sink("print", "echo secho pprint master_print print_rank_0 print_once print_on_master rprint", texts()),
    Sink("print", "print", texts(), receiver=_CONSOLE),
    Sink("print", "log", texts(), receiver=r"console$"),
    Sink("tqdm", "set_description set_description_str set_postfix_str", shown_text),
    Sink("logging", "debug info warning warn error critical exception success fatal notice", message(), "", _is_logger),
    Sink("print", "write", texts(1), receiver=r"(stdout|stderr)$"),
    Sink("tqdm", "write", texts(1), receiver=_BAR),
    Sink("tqdm", "log_message", texts(1), receiver=_BAR),
    # A value and its tag.
    Sink("tf1-summary", "scalar_summary", tag_and_value(0, 1), when=_has_no_step),
    Sink("tensorboard", "add_scalar log_value scalar_summary write_scalar add_scalars", tag_and_value(0, 1)),
    Sink("tf1-summary", "scalar", tag_and_value(0, 1), receiver=_SUMMARY_WRITER, when=_has_no_step),
    Sink("tensorboard", "scalar", tag_and_value(0, 1), receiver=_SUMMARY_WRITER),
    Sink("tensorboard", "add Value", keyword("simple_value", "tag"), receiver=r"value$|Summary$"),
    Sink("tracker", "log_scalar log_metric log_scalar_value add_scalar_value", tag_and_value(0, 1)),
    Sink("tracker", "report_scalar", tag_and_value(1, 2)),
    # The loss and the metrics that an Estimator reports by itself.
    Sink("tf1-summary", "EstimatorSpec TPUEstimatorSpec", estimated),
    Sink("logger", "logkv logkv_mean record_mean record_tabular record_value", tag_and_value(0, 1)),
    Sink("logger", "put_scalar log_tabular", tag_and_value(0, 1)),
    Sink("logger", "record", tag_and_value(0, 1), receiver=_SUMMARY_WRITER),
    # Mappings.
    Sink("tracker", "log_metrics write_metrics collect_metrics", mapping(0), receiver="^(?!self$)"),
    Sink("lightning", "log_dict", mapping(0)),
    Sink("tqdm", "set_postfix", mapping(0)),
    Sink("logger", "logkvs put_scalars", mapping(0)),
    Sink("tensorboard", "write_scalars add_hparams", mapping(1)),
    Sink("tracker", "report", mapping(0), receiver=rf"{BEGINS}(?i:tune|train|session|ray|trial|nni|chainer|reporter)"),
    Sink("tracker", "report_intermediate_result report_final_result", texts(1)),
    Sink("tracker", "track", tag_and_value(1, 0), receiver=rf"{BEGINS}(?i:run|aim)", when=_has_arguments),
    Sink("logger", "store", mapping(BY_NAME), receiver=LOG, when=lambda flow, call, scope: bool(call.keywords)),
    Sink("rich", "update", mapping(BY_NAME), when=_advances),
    Sink("tqdm", "update add", bar_values),
    Sink("tracker", "update", mapping(0), receiver=r"summary$|(?i:plot_?loss)"),
    Sink("tracker", "append log extend", item_of_receiver),
    Sink("visdom", "line", plotted_point, when=_is_plot),
    # Files, tables and figures.
    Sink("csv", "writerow writerows", first_text),
    Sink("json", "dump", dumped, receiver=r"json$"),
    Sink("file", "write_text", file_text),
    Sink("file", "write writelines", file_text, when=_writes_file),
    Sink("file", "savez savez_compressed", named_lists),
    Sink("csv", "to_csv to_json to_excel to_parquet to_pickle to_feather", data_frame),
    Sink("figure", "plot semilogy semilogx loglog scatter", lists(0, 2), _AXES, _has_arguments),
    Sink("file", "save savetxt", lists(1, 2), r"^(np|numpy)$", lambda flow, call, scope: len(call.args) > 1),
    # Trackers that take anything.
    Sink("logging", "log log_message log_row print", message(1), when=_has_level),
    Sink("wandb", "log log_message log_row print", anything, r"(?i)wandb", _logs_values),
    Sink("mlflow", "log log_message log_row print", anything, r"(?i)mlflow", _logs_values),
    Sink("accelerate", "log log_message log_row print", anything, r"(?i)accelerator", _logs_values),
    Sink("lightning", "log log_message log_row print", anything, r"^self", _logs_values),
    Sink("lightning", "log", anything, when=is_logging_object),
    Sink("tracker", "log log_message log_row print", anything, when=_logs_values),
)  # fmt: skip

BY_CALL: dict[str, list[Sink]] = {}
for _sink in SINKS:
    for _call in _sink.calls.split():
        BY_CALL.setdefault(_call, []).append(_sink)


# A call or an assignment that reports, and the values it reports.

#: Methods whose results Lightning logs, before it had ``self.log``, and under which keys.
_RETURNING = re.compile(r"^(training|validation|test)_(step|step_end|end|epoch_end)$")
_LOGGED_KEYS = {"log", "progress_bar"}
_BAR_ATTRIBUTES = {"comment", "suffix", "desc", "postfix", "message"}
#: Sinks of which each call shows a line.
_LINES = {"print", "logging"}
#: Mappings whose items a framework reports.
_MAPPINGS = (("keras", re.compile(r"^logs$")), ("wandb", re.compile(r"\.summary$")))


@dataclass(frozen=True, eq=False)
class Report:
    """A call or an assignment that reports."""

    sink: str
    values: list[ReportedValue]
    scope: Scope
    nesting: Nesting | None
    #: The call, or the assignment, that reports.
    node: ast.expr | ast.stmt
    #: Name and class of the project's object whose method reports.
    hint: str = ""

    @property
    def line(self) -> int:
        """First line of the call."""
        return self.node.lineno

    @property
    def end_line(self) -> int:
        """Last line of the call."""
        return self.node.end_lineno or self.node.lineno


def report_of_call(flow: Evaluator, site: CallSite) -> Report | None:
    """Recognise a reporting call of a library, under its own name or another."""
    call, scope = site.node, site.scope
    for original in (call, *original_calls(flow, call, scope)):
        for sink in BY_CALL.get(called_name(original), ()):
            if sink.matches(flow, original, scope) and (parts := sink.read(flow, original, scope)) is not None:
                return Report(sink.name, _headed(site, sink.name, surround(parts)), scope, site.nesting, call)
    return None


def _headed(site: CallSite, sink: str, values: list[ReportedValue]) -> list[ReportedValue]:
    """Name a value that is shown alone after the line above: ``print("Accuracy:")``, ``print(right / total)``."""
    if sink not in _LINES or len(values) != 1 or values[0].mapping or re.search(r"\w", values[0].before):
        return values
    home, field = (site.nesting.node, site.nesting.branch) if site.nesting else (site.scope.unit.node, "body")
    block = getattr(home, field, None)
    statements: list[ast.AST] = block if isinstance(block, list) else []
    place = next((at for at, statement in enumerate(statements) if statement is site.statement), 0)
    line = statements[place - 1] if place else None
    above = line.value if isinstance(line, ast.Expr) else None
    if not isinstance(above, ast.Call) or text_of(above.func) != text_of(site.node.func) or len(above.args) != 1:
        return values
    heading = above.args[0].value if isinstance(above.args[0], ast.Constant) else None
    is_heading = isinstance(heading, str) and heading.rstrip().endswith((":", "="))
    return [replace(values[0], before=str(heading))] if is_heading else values


def report_of_store(flow: Evaluator, store: Store) -> Report | None:
    """Recognise an assignment that reports: ``bar.suffix = text``, ``logs["x"] = value``."""
    target, value, scope = store.target, store.value, store.scope
    parts: list[Part] | None = None
    sink = "tqdm"
    if isinstance(target, ast.Attribute) and target.attr in _BAR_ATTRIBUTES:
        parts = take_apart(flow, value, scope) if flow.value(value, scope).has(From.TEXT) else None
    elif isinstance(target, ast.Attribute) and target.attr == "simple_value":
        sink, parts = "tensorboard", with_tag(flow, _named_beside(store), value, scope)
    elif isinstance(target, ast.Subscript):
        name = dotted_text(target.value)
        sink = next((sink for sink, mapping in _MAPPINGS if mapping.search(name)), "")
        if sink == "keras" and not any(binding.kind == "param" for binding in bindings_of(name, scope)):
            sink = ""  # a mapping of the program's own
        parts = with_tag(flow, target.slice, value, scope) if sink else None
    return Report(sink, surround(parts), scope, store.nesting, store.statement) if parts is not None else None


def reports_of_returns(flow: Evaluator, unit: Unit) -> Iterator[Report]:
    """Yield what methods of Lightning's modules hand back to be logged: ``return {"loss": loss, "log": logs}``."""
    tests = unit.name.startswith("test") and "test" not in flow.program.calls
    if unit.owner is None or tests or not _RETURNING.search(unit.name):
        return
    for result, scope in unit.returns:
        bindings = local_bindings(result.id, scope) if isinstance(result, ast.Name) else []
        for whole, key, value in (*_items_of(result), *(item for each in bindings for item in _items_given(each))):
            if key in _LOGGED_KEYS:
                yield Report("tracker", surround(as_mapping(take_apart(flow, value, scope))), scope, None, whole)


def _items_given(binding: Binding) -> Iterator[tuple[ast.expr, str, ast.expr]]:
    """Yield what a binding puts under written keys of a mapping."""
    if binding.value is not None and binding.kind == "key":
        yield binding.value, binding.key, binding.value
    elif binding.value is not None and binding.kind in {"assign", "merge"}:
        yield from _items_of(binding.value)


def _items_of(whole: ast.expr) -> Iterator[tuple[ast.expr, str, ast.expr]]:
    return ((whole, key, value) for key, value in written_items(whole))


def _named_beside(store: Store) -> ast.expr | None:
    """Tag that is set beside the value of a summary: ``value.tag = name; value.simple_value = loss``."""
    assert isinstance(store.target, ast.Attribute)
    holder = dotted_text(store.target.value)
    return next(
        (
            other.value
            for other in store.scope.unit.stores
            if isinstance(other.target, ast.Attribute) and other.target.attr == "tag"
            and dotted_text(other.target.value) == holder
        ),
        None,
    )  # fmt: skip


# What names a reported value where it stands, so that its name need not be sought with those who pass it.


def does_nothing(unit: Unit) -> bool:
    """Whether a function has no body: a stand-in for a writer that is not wanted."""
    body = getattr(unit.node, "body", [])
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def hands_on(unit: Unit) -> bool:
    """Whether a method hands all that it is given to one of its own name: ``self.writer.add_scalar(*args)``."""
    return unit.vararg is not None and any(
        isinstance(site.node.func, ast.Attribute)
        and site.node.func.attr == unit.name
        and any(isinstance(arg, ast.Starred) and dotted_text(arg.value) == unit.vararg for arg in site.node.args)
        for site in unit.calls
    )


def names_items(reported: ReportedValue) -> bool:
    """Whether the mapping is a comprehension of the reporting function that names the items: ``{f"gpu {i}": ...}``."""
    node: ast.expr | None = reported.expr
    if isinstance(node, ast.Name):
        bindings = local_bindings(node.id, reported.scope)
        made = [binding.value for binding in bindings if isinstance(binding.value, ast.DictComp)]
        node = made[0] if made else None
    if not isinstance(node, ast.DictComp):
        return False
    texts = [part.value for part in ast.walk(node.key) if isinstance(part, ast.Constant)]
    return any(isinstance(text, str) and text.strip("_/ .") for text in texts)


def number_of(expr: ast.expr) -> ast.expr:
    """Take the methods off that read a number: ``loss.item()`` is ``loss``."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and not expr.args:
        expr = expr.func.value
    return expr


def names_metric(expr: ast.expr) -> bool:
    """Whether a value is an attribute that is named like a metric, whatever object it is of: ``net.reg_loss``."""
    number = number_of(expr)
    return isinstance(number, ast.Attribute) and meaning_of(number.attr) not in (None, UNNAMED)
