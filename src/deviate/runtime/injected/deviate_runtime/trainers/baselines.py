"""Stable-Baselines3: what an algorithm logs, each time that it writes out what it logged."""

from ..names import PREFIX
from . import Observer


def observe_logger(module, process):
    """Observe what is written out of the names that the analysis foresaw; a program may log others itself."""
    observer = Observer(process)
    statics = process.recorder.names.statics

    def report(self, *args, **kwargs):
        observer.report({key: value for key, value in self.name_to_value.items() if PREFIX + key in statics})

    observer.before(getattr(module, "Logger", None), "dump", report)
