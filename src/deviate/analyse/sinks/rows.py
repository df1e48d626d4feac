"""The calls that report, one row a sink: what is called, on what, and how its arguments are read."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import External, From
from deviate.analyse.naming.words import BEGINS, LOG, TRAIN, words_like, words_of
from deviate.analyse.sinks.frames import data_frame
from deviate.analyse.sinks.modules import is_logging_object
from deviate.analyse.sinks.readers import (
    BY_NAME,
    Reader,
    anything,
    bar_values,
    drawn,
    dumped,
    estimated,
    file_text,
    filled_mappings,
    first_text,
    item_of_receiver,
    keyword,
    lists,
    mapping,
    message,
    named_lists,
    plotted_point,
    shown_text,
    tag_and_last,
    tag_and_value,
    texts,
)
from deviate.analyse.source.index import Scope
from deviate.analyse.source.syntax import dotted_text

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

#: Words for tables: those of ``PrettyTable``, and not of ``stable_baselines3``.
_TABLES = {"sheet", "table", "tables", "tbl", "texttable", "worksheet"}

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


def _writes_mapping(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether what is written is no text: ``logger.write({"loss": loss})``."""
    return len(call.args) == 1 and (isinstance(call.args[0], ast.Dict) or bool(flow.value(call.args[0], scope).keys))


def _is_plot(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether ``line`` adds a point to a plot of visdom: ``draw.line([(left, top), (right, top)])`` draws a line."""
    is_named = any(key.arg in _PLOTTED for key in call.keywords)
    return is_named or re.search(rf"{BEGINS}(?i:vis|viz|plot)", receiver_text(call)) is not None


def _is_table(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether the receiver is a table of a library, by its name or by what made it."""
    refs = flow.value(call.func.value, scope).refs if isinstance(call.func, ast.Attribute) else ()
    names = [receiver_text(call), *(ref.dotted for ref in refs if isinstance(ref, External))]
    return any(not _TABLES.isdisjoint(words_of(name)) for name in names)


def _advances(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether a progress bar is moved on, and its fields are given: ``progress.update(task, advance=1, loss=loss)``."""
    return any(key.arg in {"advance", "completed"} for key in call.keywords)


def _has_arguments(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    return bool(call.args)


_SUMMARY_WRITER = f"{LOG}|{words_like('tb|board|t(f|ensor)?board', 'summ|record|tensorboard')}|(?i:writer)"
_KEEPER = f"{LOG}|{words_like(begun='track|json')}|(?i:writer)"
_CONSOLE = r"^$|^tf$|console|tqdm|" + words_like("dist|xm|rich|fabric|self|tensorflow", "accel")
#: ``pbar`` and ``progressBar``, and not ``barrier``.
_BAR = "tqdm|^mb$|" + words_like(r"([a-z]|prog|progress|epoch|batch|train|val|valid|test|status|outer|inner)?bar")

#: The first row whose name and conditions match, and which reads something, wins.
SINKS = (
    Sink("print", "echo secho pprint master_print print_rank_0 print_once print_on_master rprint", texts()),
    Sink("print", "print", texts(), receiver=_CONSOLE),
    Sink("print", "cprint", texts(1)),
    Sink("print", "ic", texts(), receiver=r"^$"),
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
    # Tag, position and value, or tag and value.
    Sink("tracker", "send_metric channel_send", tag_and_last),
    # The loss and the metrics that an Estimator reports by itself.
    Sink("tf1-summary", "EstimatorSpec TPUEstimatorSpec", estimated),
    Sink("logger", "logkv logkv_mean record_mean record_tabular record_value", tag_and_value(0, 1)),
    Sink("logger", "put_scalar log_tabular", tag_and_value(0, 1)),
    Sink("logger", "record", tag_and_value(0, 1), receiver=_SUMMARY_WRITER),
    # Mappings.
    Sink("tracker", "log_metrics write_metrics collect_metrics", mapping(0)),
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
    Sink("tracker", "write", mapping(0), _KEEPER, _writes_mapping),
    Sink("file", "write writelines", file_text, when=_writes_file),
    Sink("file", "savez savez_compressed", named_lists),
    Sink("print", "add_row append_row", texts(), when=_is_table),
    Sink("csv", "to_csv to_json to_excel to_parquet to_pickle to_feather", data_frame),
    Sink("figure", "plot semilogy semilogx loglog scatter", lists(0, 2), _AXES, _has_arguments),
    Sink("figure", "Scatter Scattergl lineplot", drawn),
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

#: A program's own functions that are named like reports; tried last.
OWN_FUNCTION = Sink("tracker", "", filled_mappings)
OWN_NAMES = re.compile(
    r"(log|write|update|save|report|record|print|dump|track)_"
    r"(summary|metrics?|stats|scalars|results?|log|losses|scores|history|performance|evaluation)$"
)

BY_CALL: dict[str, list[Sink]] = {}
for _sink in SINKS:
    for _call in _sink.calls.split():
        BY_CALL.setdefault(_call, []).append(_sink)
