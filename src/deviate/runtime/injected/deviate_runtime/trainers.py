"""Values that a framework's own training loop reports. They are observed; nothing is added to the loop.

Keras
    Logs of each epoch of ``model.fit``, and those of ``model.evaluate``.
Lightning
    What modules log, as its Trainer collects it in ``callback_metrics``: a value logged for the epoch is the Trainer's
    mean over the batches, or what a metric object computes, and is read when the Trainer reports it. A value logged for
    the step only is recorded as it is logged.
Ignite
    Starts of epochs; what handlers report stands in the source.
skorch, Stable-Baselines3
    What they log, when it is written out.
LightGBM, XGBoost, CatBoost
    What they evaluate, under the words in which they show it. Each tree is an epoch.
TensorFlow 1
    Scalars of summaries, which exist only when the graph is run, where they are written.
"""

import functools
import os
import re
import weakref

from .frameworks import EPOCH, every
from .wraps import PREFIX

#: What frameworks log beside the metrics: schedules and counters. Recorded only where the user chose them.
BOOKKEEPING = frozenset(("epoch", "step", "global_step", "learning_rate", "lr", "total_flos"))


class Observer:
    """Records what a framework reports; a failure is noted and the framework goes on."""

    #: Weak references to what counts the epochs of a training, by id, whichever module it is of.
    trainings = {}

    def __init__(self, process):
        self.process = process

    def is_training(self, training):
        """Tell whether an object is known to count the epochs of a training."""
        known = self.trainings.get(id(training))
        return known is not None and known() is training

    def report(self, logs, prefix=PREFIX):
        """Record each number in `logs` as ``fit:KEY``, but for bookkeeping and what the source yields itself."""
        recorder = self.process.recorder
        names = recorder.names
        kept = {}
        for key in logs or ():
            name = prefix + str(key)
            if name not in names.sourced and (key not in BOOKKEEPING or name in names.statics):
                kept[key] = logs[key]
        if kept:
            recorder.mapping(None, kept, prefix)

    def tick(self, training, epoch=None):
        """Count an epoch as an iteration of the main loop, unless a loop in the source is the main loop.

        `training` is an object that each training has of its own.
        """
        if self.process.counts_source_loop:
            return
        if not self.is_training(training):
            self.process.is_entering = True
            self.trainings[id(training)] = weakref.ref(training)
        self.process.recorder.tick(epoch)

    def before(self, owner, name, observe):
        """Have ``observe(*args)`` called before ``owner.name(*args)``."""
        self.wrap(owner, name, observe, first=True)

    def after(self, owner, name, observe):
        """Have ``observe(*args)`` called after ``owner.name(*args)``, also where that raised: values were reported."""
        self.wrap(owner, name, observe, first=False)

    def wrap(self, owner, name, observe, first):
        """Wrap a method that is not wrapped yet; an owner that lacks it stays as it is."""
        plain = getattr(owner, name, None)
        if plain is None or hasattr(plain, "_deviate"):
            return

        def safely(args, kwargs):
            try:
                observe(*args, **kwargs)
            except Exception as error:
                self.process.recorder.failed(None, error)

        @functools.wraps(plain)
        def method(*args, **kwargs):
            if first:
                safely(args, kwargs)
                return plain(*args, **kwargs)
            try:
                return plain(*args, **kwargs)
            finally:
                safely(args, kwargs)

        method._deviate = True
        setattr(owner, name, method)


def observe_rows(module, process):
    """Observe the methods of `module` that the table of epochs has."""
    observer = Observer(process)
    for name, path, kind in every("epochs"):
        if name == module.__name__:
            owner, _, method = path.rpartition(".")
            observe = tick_of(observer) if kind == EPOCH else report_of(observer)
            observer.before(getattr(module, owner, None), method, observe)


def tick_of(observer):
    """Return a function that counts an epoch; it is called with what trains, and maybe with the epoch's number."""
    return lambda training, epoch=None, *args, **kwargs: observer.tick(training, epoch)


#: Before the names of what an evaluation outside a training logs.
EVALUATED = "evaluate:"


def report_of(observer):
    """Return a function that records the first argument of a method, apart of a Trainer that only evaluates."""

    def report(self, logs, *args, **kwargs):
        is_beside = observer.trainings and not observer.is_training(getattr(self, "callback_handler", None))
        observer.report(logs, EVALUATED if is_beside else PREFIX)

    return report


def observe_fit(module, process):
    """Observe the start and the end of epochs, and the end of evaluations that are no part of a training."""
    callbacks = getattr(module, "CallbackList", None)
    observer = Observer(process)
    training = []

    def report(self, epoch, logs=None):
        observer.report(final_logs(self, epoch, logs))

    def report_evaluation(self, logs=None):
        foreseen = process.recorder.names.statics
        if not training:
            observer.report({key: logs[key] for key in logs or () if EVALUATED + key in foreseen}, EVALUATED)

    observer.before(callbacks, "on_train_begin", lambda self, logs=None: training.append(True))
    observer.after(callbacks, "on_train_end", lambda self, logs=None: training.clear())
    observer.before(callbacks, "on_epoch_begin", tick_of(observer))
    observer.after(callbacks, "on_epoch_end", report)
    observer.after(callbacks, "on_test_end", report_evaluation)


def final_logs(callbacks, epoch, logs):
    """Return what the history took down for `epoch`: a callback of the user may have added to the logs."""
    history = getattr(callbacks, "_history", None)
    if history is None or not getattr(history, "epoch", None) or history.epoch[-1] != epoch:
        return logs
    return {key: values[-1] for key, values in history.history.items() if len(values) == len(history.epoch)}


#: What Lightning puts behind the name of a value that is logged for the step and for the epoch.
EPOCH_ENDING = "_epoch"
#: What it puts behind a name where there are several data loaders.
LOADER = "/dataloader_idx_"


def observe_lightning(module, process):
    """Observe what is collected: by batch, by epoch of training, by evaluation."""
    observer = Observer(process)
    results = getattr(module, "_ResultCollection", None) or getattr(module, "ResultCollection", None)
    observer.after(results, "log", lambda *args, **kwargs: observer.report(step_value(*args, **kwargs)))
    connector = getattr(module, "_LoggerConnector", None) or getattr(module, "LoggerConnector", None)
    evaluation = Evaluation(observer)
    observer.before(connector, "update_train_epoch_metrics", lambda self: observer.report(epoch_values(self)))
    observer.before(connector, "update_eval_epoch_metrics", evaluation.collect)
    observer.before(connector, "log_eval_end_metrics", evaluation.report)


def step_value(results, hook, name, value, *args, on_step=False, on_epoch=True, **kwargs):
    """Return a value that no epoch will report, as it is over all processes."""
    if on_epoch or not on_step:
        return {}
    kept = results.get("%s.%s" % (hook, name), value)
    return {name: getattr(kept, "_forward_cache", value)}


def epoch_values(connector):
    """Return what an epoch came to, each value once."""
    values = connector.metrics["callback"]
    return {name: values[name] for name in values if not is_repeated(name, values)}


def is_repeated(name, values):
    """Tell whether `name` is the second one of a value: ``loss_epoch``, also of one loader of several, of ``loss``."""
    bare, mark, loader = name.partition(LOADER)
    return bare.endswith(EPOCH_ENDING) and bare[: -len(EPOCH_ENDING)] + mark + loader in values


class Evaluation:
    """What a validation or a test comes to, data loader by data loader."""

    def __init__(self, observer):
        self.observer = observer
        self.values = {}

    def collect(self, connector):
        """Keep what a data loader came to, and what was logged after all of them."""
        self.values.update(epoch_values(connector))

    def report(self, connector, *args):
        """Record it, unless the evaluation only tried the code out."""
        values, self.values = self.values, {}
        if connector.trainer.sanity_checking:
            return
        recorder = self.observer.process.recorder
        for name, value in values.items():
            bare, several, _ = name.partition(LOADER)
            metric = recorder.names.statics.get(PREFIX + bare)
            if several and metric is not None:
                recorder.named(metric, name, value)
            else:
                self.observer.report({name: value})


def observe_ignite(module, process):
    """Observe the start of the epochs of engines that train; one that evaluates goes through its data once."""
    observer = Observer(process)

    def count(engine, event, *args, **kwargs):
        epochs = getattr(engine.state, "max_epochs", None)
        if str(getattr(event, "value", event)) == "epoch_started" and (epochs is None or epochs > 1):
            observer.tick(engine)

    observer.before(getattr(module, "Engine", None), "_fire_event", count)


def observe_skorch(module, process):
    """Observe the rows of the table that skorch shows, as far as the analysis foresaw their heads."""
    observer = Observer(process)

    def report(self, net, *args, **kwargs):
        row, foreseen = net.history[-1], process.recorder.names.statics
        observer.report({key: row[key] for key in row if PREFIX + key in foreseen})

    observer.after(getattr(module, "PrintLog", None), "on_epoch_end", report)


def observe_logger(module, process):
    """Observe what is written out of the names that the analysis foresaw; a program may log others itself."""
    observer = Observer(process)
    statics = process.recorder.names.statics

    def report(self, *args, **kwargs):
        observer.report({key: value for key, value in self.name_to_value.items() if PREFIX + key in statics})

    observer.before(getattr(module, "Logger", None), "dump", report)


def observe_lightgbm(module, process):
    """Observe what a booster evaluates: on the data that it is trained on, and on others."""
    booster = getattr(module, "Booster", None)
    observer = Observer(process)
    observer.before(booster, "update", tick_of(observer))
    for name in ("eval_train", "eval_valid"):
        observe_results(observer, booster, name)


def observe_results(observer, owner, name):
    """Record the results of a method that returns the set, the metric and the value of each."""
    plain = getattr(owner, name, None)
    if plain is None or hasattr(plain, "_deviate"):
        return

    @functools.wraps(plain)
    def method(*args, **kwargs):
        results = plain(*args, **kwargs)
        try:
            observer.report({"%s's %s" % (result[0], result[1]): result[2] for result in results})
        except Exception as error:
            observer.process.recorder.failed(None, error)
        return results

    method._deviate = True
    setattr(owner, name, method)


def observe_xgboost(module, process):
    """Observe the history that is kept for callbacks."""
    callbacks = getattr(module, "CallbackContainer", None)
    observer = Observer(process)

    def report(self, *args, **kwargs):
        if not getattr(self, "is_cv", False):
            observer.report(
                {
                    "%s-%s" % (name, metric): values[-1]
                    for name, metrics in self.history.items()
                    for metric, values in metrics.items()
                    if values
                }
            )

    observer.before(callbacks, "before_iteration", tick_of(observer))
    observer.after(callbacks, "after_iteration", report)


def observe_catboost(module, process):
    """Observe what a model has kept of its training, which runs outside Python."""
    observer = Observer(process)

    def report(self, *args, **kwargs):
        results = {
            "%s_%s" % ("test" if name == "validation" else name, metric): values
            for name, metrics in self.get_evals_result().items()
            for metric, values in metrics.items()
        }
        for step in range(max(map(len, results.values()), default=0)):
            observer.tick(self, step)
            observer.report({name: values[step] for name, values in results.items() if step < len(values)})

    observer.after(getattr(module, "CatBoost", None), "_fit", report)


def observe_summaries(module, process):
    """Observe what is handed to a writer of summaries."""
    observer = Observer(process)
    writers = Writers(module, observer)
    transformer = getattr(module, "SummaryToEventTransformer", None)
    observer.before(transformer, "__init__", writers.add_folder)
    observer.before(transformer, "add_summary", writers.record_summary)


class Writers:
    """The writers of this process, distinguished by their folders: ``train`` and ``test`` often write the same tags."""

    def __init__(self, module, observer):
        self.module = module
        self.observer = observer
        self.folders = set()

    def add_folder(self, writer, event_writer, *args, **kwargs):
        """Remember where a writer writes to."""
        self.folders.add(folder_of(event_writer))

    def record_summary(self, writer, summary, *args, **kwargs):
        """Record the scalars of a summary, which is a message or its bytes."""
        if isinstance(summary, bytes):
            summary = self.module.summary_pb2.Summary.FromString(summary)
        folder = folder_of(writer.event_writer) if len(self.folders) > 1 else ""
        for value in summary.value:
            if value.HasField("simple_value"):
                self.record(value.tag, value.simple_value, folder)

    def record(self, tag, value, folder):
        """Record a value under its tag, as the metric that the source names so where the graph added a scope."""
        names = self.observer.process.recorder.names
        bare = re.sub(r"_\d+$", "", tag.rpartition("/")[2])
        owner = names.statics.get(tag, names.statics.get(bare))
        if owner is None or (tag in names.statics and not folder):
            self.observer.report({tag: value}, prefix=folder and folder + "/")
        else:
            self.observer.process.recorder.named(owner, folder + "/" + tag if folder else tag, value)


def folder_of(event_writer):
    """Return the last part of the folder that is written to."""
    folder = os.fsdecode(event_writer.get_logdir())
    return os.path.basename(os.path.normpath(folder))
