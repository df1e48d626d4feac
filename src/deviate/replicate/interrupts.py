"""Ctrl-C, and what terminals and schedulers send instead, as a request that is heard between two looks at the runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: From the keyboard, from a scheduler, from a terminal that is closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """How often the user asked to stop: once to end cleanly, twice to end at once."""

    def __init__(self) -> None:
        self.count = 0

    def ask(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Ask once more; also a signal handler."""
        self.count += 1


@contextmanager
def listening() -> Iterator[StopRequests]:
    """Turn signals into requests instead of exceptions, which could strike between a start and its being noted.

    Signals the tool was told to ignore (``nohup``) stay ignored. Outside the main thread there is nothing to hear.
    """
    requests = StopRequests()
    if threading.current_thread() is not threading.main_thread():
        yield requests
        return
    numbers = [number for number in SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    before = {number: signal.signal(number, requests.ask) for number in numbers}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
