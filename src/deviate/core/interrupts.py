"""Ctrl-C, and what terminals and schedulers send instead, where something is to be put in order before the end.

Elsewhere in the command line such a signal ends the process by its default action, see `deviate.__main__`. No handler
here raises an exception: it could strike between a start and its being noted, or be lost in a library.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

#: From the keyboard, from a scheduler, from a terminal that is closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: Seconds in which a text has to be written once a signal came: who reads it may have stopped.
WHOLE_WITHIN = 1.0

#: Seconds between two looks at whether to stop waiting.
LOOK_EVERY = 0.1


class Stopped(KeyboardInterrupt):
    """A signal asked to stop, and what went on has been ended."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def number_of(stop: KeyboardInterrupt) -> int:
    """Return the signal that an exception stands for."""
    return stop.number if isinstance(stop, Stopped) else signal.SIGINT


class StopRequests:
    """How often the user asked to stop: once to end cleanly, twice to end at once."""

    def __init__(self) -> None:
        self.count = 0
        #: The latest signal.
        self.number: int = signal.SIGINT

    def ask(self, number: int = signal.SIGINT) -> None:
        """Ask once more."""
        self.count += 1
        self.number = number

    def wait(self, seconds: float) -> None:
        """Wait, at most until the user asks to stop."""
        until = time.monotonic() + seconds
        while not self.count and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_EVERY))

    def obey(self) -> None:
        """Raise `Stopped` if the user asked to stop."""
        if self.count:
            raise Stopped(self.number)


#: All that listen now, what is cleared before a signal ends the process, and the handlers that there were before.
_listening: list[StopRequests] = []
_to_clear: list[Callable[[], object]] = []
_before: dict[int, Any] = {}


@contextmanager
def listening(requests: StopRequests | None = None) -> Iterator[StopRequests]:
    """Turn signals into requests, for who looks at them often, and obeys them when all is in order.

    Several may listen and end in any order: each hears every signal, and who comes late those that were heard before.
    Signals the tool was told to ignore (``nohup``) stay ignored. Outside the main thread there is nothing to hear.
    """
    requests = requests or StopRequests()
    if not _is_main():
        yield requests
        return
    if _listening:
        first = max(_listening, key=lambda each: each.count)
        requests.count, requests.number = first.count, first.number
    _listening.append(requests)
    _take_signals()
    try:
        yield requests
    finally:
        _listening.remove(requests)
        _take_signals()


def ask_all() -> None:
    """Ask all that listen to stop, as a signal would; from any thread."""
    for each in list(_listening):
        each.ask()


@contextmanager
def at_any_end(clear: Callable[[], object]) -> Iterator[None]:
    """Call `clear` on exit, and also where a signal ends the process before; it may be called twice."""
    _to_clear.append(clear)
    _take_signals()
    try:
        yield
    finally:
        try:
            clear()
        finally:
            _to_clear.remove(clear)
            _take_signals()


@contextmanager
def whole() -> Iterator[None]:
    """Let a signal wait until what is written here is whole, at most for `WHOLE_WITHIN`; a second one ends at once."""
    stop = _Writing()
    try:
        with listening(stop):
            yield
    finally:
        stop.obey()


class _Writing(StopRequests):
    def ask(self, number: int = signal.SIGINT) -> None:
        super().ask(number)
        if self.count > 1:
            end(number)
        signal.signal(signal.SIGALRM, lambda *_: end(number))
        signal.setitimer(signal.ITIMER_REAL, WHOLE_WITHIN)


def end(number: int) -> NoReturn:
    """Clear what is to be cleared, and end this process by a signal, as it would end without a handler.

    So a shell sees 130 after Ctrl-C and 143 after SIGTERM, and ends the loop in which the command stands.
    """
    for each in SIGNALS:
        # Another one ends the process at once.
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, signal.SIG_DFL)
    while _to_clear:
        with suppress(Exception):
            _to_clear.pop()()
    signal.raise_signal(number)
    raise SystemExit(128 + number)  # where the signal is blocked


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _take_signals() -> None:
    """Set handlers where somebody wants to hear of signals, and else those that there were before."""
    for number in SIGNALS if _is_main() else ():
        was_taken = number in _before
        before = _before[number] if was_taken else signal.getsignal(number)
        is_default = before is signal.SIG_DFL
        takes = before not in (signal.SIG_IGN, None) and bool(_listening or (_to_clear and is_default))
        if takes and not was_taken:
            _before[number] = before
            signal.signal(number, _hear)
        elif was_taken and not takes:
            signal.signal(number, _before.pop(number))


def _hear(number: int, frame: FrameType | None) -> None:
    before = _before.get(number, signal.SIG_DFL)
    if not _listening:
        end(number) if before is signal.SIG_DFL else before(number, frame)
    for each in list(_listening):
        each.ask(number)
