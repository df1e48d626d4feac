"""The Trainer of Hugging Face transformers: what it logs."""

from .observe import before


def attend(module, observer):
    """Observe the logs, or the start of epochs."""
    if hasattr(module, "Trainer"):
        before(observer, module.Trainer, "log", lambda self, logs, *args, **kwargs: observer.report(logs))
    if hasattr(module, "CallbackHandler"):
        before(observer, module.CallbackHandler, "on_epoch_begin", lambda *args, **kwargs: observer.tick())
