"""How a run ended: typed values, stored as ``outcome.json``."""

from __future__ import annotations

import signal
from typing import ClassVar

import msgspec

from deviate.experiment import SCHEMA, Status


class Ending(msgspec.Struct, frozen=True, kw_only=True, tag_field="status"):
    """What every outcome says."""

    status: ClassVar[Status]
    #: False where the same command makes the run again.
    done: ClassVar[bool] = True

    schema: int = SCHEMA
    #: Wall time of the command; None for a run that was imported and whose time nothing tells.
    seconds: float | None
    #: Local time of the end in ISO 8601.
    ended: str = ""
    #: What a reader of the results has to know, such as a linked input that the run wrote to.
    warnings: list[str] = []


class Completed(Ending, frozen=True, kw_only=True, tag="completed"):
    """The command ended by itself with status 0, and it was instrumented."""

    status: ClassVar[Status] = "completed"


class Unfinished(Ending, frozen=True, kw_only=True):
    """The run gives no sample; says why, and what to do."""

    reason: str
    hint: str = ""
    #: Exit status of the command; None where a signal ended it.
    exit_code: int | None = None
    #: Name of the signal that ended it, such as ``SIGSEGV``.
    signal: str | None = None
    #: The last lines of the run's standard error.
    stderr: list[str] = []


class Failed(Unfinished, frozen=True, kw_only=True, tag="failed"):
    """The command ended with another status than 0, or by a signal of its own."""

    status: ClassVar[Status] = "failed"


class TimedOut(Unfinished, frozen=True, kw_only=True, tag="timed-out"):
    """The command was ended because it ran for longer than allowed."""

    status: ClassVar[Status] = "timed-out"


class Cancelled(Unfinished, frozen=True, kw_only=True, tag="cancelled"):
    """The user stopped Deviate while the command ran; the same command makes the run again."""

    status: ClassVar[Status] = "cancelled"
    done: ClassVar[bool] = False


class NotInstrumented(Unfinished, frozen=True, kw_only=True, tag="not-instrumented"):
    """The command ended well, but nothing was heard from it, so nothing was measured."""

    status: ClassVar[Status] = "not-instrumented"


Outcome = Completed | Failed | TimedOut | Cancelled | NotInstrumented


def signal_name(number: int) -> str:
    """Return ``SIGKILL`` for 9, and ``signal 99`` for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
