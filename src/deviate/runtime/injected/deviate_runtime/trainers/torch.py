"""Trainers on PyTorch: that of Lightning, the Engine of Ignite, and nets of skorch.

What modules of Lightning log is read as its Trainer collects it in ``callback_metrics``: a value logged for the epoch
is the Trainer's mean over the batches, or what a metric object computes, and is read when the Trainer reports it. A
value logged for the step only is recorded as it is logged. Of Ignite, the start of epochs is observed; what handlers
report stands in the source.
"""

from ..names import PREFIX
from . import Observer

#: What Lightning puts behind the name of a value that is logged for the step and for the epoch.
EPOCH = "_epoch"
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
    return bare.endswith(EPOCH) and bare[: -len(EPOCH)] + mark + loader in values


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
