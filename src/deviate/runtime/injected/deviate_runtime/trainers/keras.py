"""``model.fit`` of Keras 3, Keras 2 and ``tf.keras``: the logs of each epoch; and those of ``model.evaluate``."""

from . import Observer, tick_of

#: Before the names of what an evaluation outside a training logs.
EVALUATED = "evaluate:"


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
