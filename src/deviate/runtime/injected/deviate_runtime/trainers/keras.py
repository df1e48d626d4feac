"""``model.fit`` of Keras 3, Keras 2 and ``tf.keras``: the logs of each epoch."""

from . import Observer, tick_of


def observe_fit(module, process):
    """Observe the start and the end of epochs."""
    callbacks = getattr(module, "CallbackList", None)
    observer = Observer(process)

    def report(self, epoch, logs=None):
        observer.report(final_logs(self, epoch, logs))

    observer.before(callbacks, "on_epoch_begin", tick_of(observer))
    observer.after(callbacks, "on_epoch_end", report)


def final_logs(callbacks, epoch, logs):
    """Return what the history took down for `epoch`: a callback of the user may have added to the logs."""
    history = getattr(callbacks, "_history", None)
    if history is None or not getattr(history, "epoch", None) or history.epoch[-1] != epoch:
        return logs
    return {key: values[-1] for key, values in history.history.items() if len(values) == len(history.epoch)}
