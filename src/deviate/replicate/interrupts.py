"""Ctrl-C, and what terminals and schedulers send instead, as a request that is heard between two looks at the runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: From the keyboard, from a scheduler, from a terminal that is closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """How often the user asked to stop: once to end cleanly, twice to end at once."""

    def __init__(self) -> None:
        self.count = 0

    def ask(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Ask once more; also a signal handler."""
        self.count += 1


#: All that listen now, and the handlers there were before the first of them.
_listening: list[StopRequests] = []
_before: dict[int, Any] = {}


@contextmanager
def listening() -> Iterator[StopRequests]:
    """Turn signals into requests instead of exceptions, which could strike between a start and its being noted.

    Several may listen and end in any order: each hears every signal, and who comes late those that were heard before.
    Signals the tool was told to ignore (``nohup``) stay ignored. Outside the main thread there is nothing to hear.
    """
    requests = StopRequests()
    if threading.current_thread() is not threading.main_thread():
        yield requests
        return
    requests.count = max((each.count for each in _listening), default=0)
    _listening.append(requests)
    if len(_listening) == 1:
        numbers = [number for number in SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
        _before.update({number: signal.signal(number, _hear) for number in numbers})
    try:
        yield requests
    finally:
        _listening.remove(requests)
        while not _listening and _before:
            signal.signal(*_before.popitem())


def _hear(number: int, frame: FrameType | None) -> None:
    for each in _listening:
        each.ask(number, frame)
