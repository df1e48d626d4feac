"""The Trainer of Lightning: the values that modules log."""

from .observe import before


def attend(module, observer):
    """Observe what goes to the loggers, whether or not there is one, or the start of epochs."""
    connector = getattr(module, "_LoggerConnector", None) or getattr(module, "LoggerConnector", None)
    before(connector, "log_metrics", lambda self, metrics, *args, **kwargs: observer.report(metrics))
    loop = getattr(module, "_FitLoop", None) or getattr(module, "FitLoop", None)
    before(loop, "on_advance_start", lambda *args, **kwargs: observer.tick())
