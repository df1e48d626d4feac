"""A time limit for what cannot be asked to stop: a regular expression that tries all ways to divide a line, a pipe."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Seconds that a pattern may take for one line, and a file to open.
PATIENCE = 2.0


class Limit:
    """Whether the time passed."""

    passed: bool = False


class _TimePassedError(Exception):
    """Ends what takes too long."""


@contextmanager
def time_limit(seconds: float) -> Iterator[Limit]:
    """End what is within after `seconds`, and say so; only the main thread can, in others nothing is ended."""
    limit = Limit()
    if threading.current_thread() is not threading.main_thread():
        yield limit
        return
    before = signal.signal(signal.SIGALRM, _end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield limit
    except _TimePassedError:
        limit.passed = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _end(number: int, frame: FrameType | None) -> None:
    raise _TimePassedError
