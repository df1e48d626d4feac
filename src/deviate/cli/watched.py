"""What ``deviate watch`` serves: progress as it is now, and the report on the runs that have ended."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from deviate.core.errors import DeviateError
from deviate.facts.live import LiveReader

if TYPE_CHECKING:
    from deviate.report.page import Section
    from deviate.store.folders import ExperimentFolder


class Watched:
    """The page of one experiment; made anew only where files have changed, for one request at a time."""

    def __init__(self, folder: ExperimentFolder) -> None:
        self._reader = LiveReader(folder)
        self._lock = threading.Lock()
        self._version, self._page = "", ""
        self._ended = 0
        self._report: Sequence[Section] = []

    def version(self) -> str:
        """Return a text that changes with the page."""
        return self._reader.version()

    def page(self) -> str:
        """Return the page as HTML."""
        from deviate.report.topics.live import live_page
        from deviate.report.writers.html.page import render_html

        with self._lock:
            version = self._reader.version()
            if version != self._version:
                # An experiment that is removed while it is watched leaves the last page.
                with suppress(OSError, DeviateError):
                    self._page = render_html(live_page(self._reader.read(), self._sections()), live=True)
                    self._version = version
            return self._page

    def leave(self, seconds: float) -> bool:
        """Make no page any more; return whether none is being made, at the latest after `seconds`."""
        return self._lock.acquire(timeout=seconds)

    def _sections(self) -> Sequence[Section]:
        """Return the report on the runs that have ended; read anew only where more have, since it takes a second."""
        ended = self._reader.ended()
        if ended != self._ended:
            self._report = _report(self._reader.folder)
            self._ended = ended
        return self._report


def _report(folder: ExperimentFolder) -> Sequence[Section]:
    from deviate.facts.experiment import experiment_facts
    from deviate.facts.stored import read_results
    from deviate.report.views import experiment_view

    try:
        results = read_results(folder, curves=True)
    except (OSError, DeviateError):
        # Files change while they are read; the next look finds them whole.
        return []
    facts = experiment_facts(results, datetime.now().astimezone())
    return experiment_view(facts, results.recorded).page("full").sections
