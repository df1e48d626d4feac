"""Import what a report takes while runs go on, so that it need not be waited for when the last one has ended."""

from __future__ import annotations

import importlib
import threading
from contextlib import suppress
from types import TracebackType

from deviate.experiment import Run
from deviate.replicate.environment.hardware import usable_cores
from deviate.replicate.events import RunEnded, RunProgress, RunStarted
from deviate.replicate.executors.executor import Slot
from deviate.study.events import StudyEvent

#: With all that they import.
MODULES = (
    "deviate.inference.experiment",
    "deviate.report.pages.experiment.page",
    "deviate.report.views",
    "deviate.report.writers.markdown",
    "deviate.report.writers.registry",
    "deviate.report.writers.terminal",
)


class EarlyImports:
    """Imports in a thread, once, while a core is nobody's: no run is to take longer for it."""

    def __init__(self) -> None:
        self._cores = set(usable_cores())
        self._slots: dict[Run, Slot] = {}
        #: Whether nothing has begun or ended since a core was seen to be nobody's.
        self._seen = False
        self._thread: threading.Thread | None = None

    def observe(self, event: StudyEvent) -> None:
        """Take in one event."""
        match event:
            case RunStarted():
                self._slots[event.run] = event.slot
                self._seen = False
            case RunEnded():
                self._slots.pop(event.run, None)
                self._seen = False
            case RunProgress() if self._thread is None and self._has_core():
                # Where a run has just ended, the next is about to start.
                if self._seen:
                    self._thread = threading.Thread(target=_import, name="imports")
                    self._thread.start()
                self._seen = True

    def _has_core(self) -> bool:
        """Tell whether there is a core that no run is held to."""
        held = [slot.cores for slot in self._slots.values()]
        return None not in held and bool(self._cores.difference(*(cores or () for cores in held)))

    def __enter__(self) -> EarlyImports:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what is being imported: two threads that import from both ends may find half a module.

        Nor can a process end in order meanwhile: what is imported asks to be told of the end. After a signal nobody
        waits, since that ends the process at once.
        """
        if self._thread is not None and not isinstance(error, KeyboardInterrupt):
            self._thread.join()


def _import() -> None:
    # What is missing is said where it is needed.
    with suppress(ImportError):
        for module in MODULES:
            importlib.import_module(module)
