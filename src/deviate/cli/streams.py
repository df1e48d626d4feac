"""Standard streams that cannot fail in the middle of a job: a lost standard output is said, lost messages are not."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

from deviate.errors import OutputLost


class ReaderGone(Exception):  # noqa: N818
    """Who read standard output (head, less) reads no more. No `BrokenPipeError`: libraries end the process on that."""


def guard_streams() -> None:
    """Make the standard streams of this process safe to write; those that tests have replaced are left alone.

    A descriptor that is closed would be given to the next file that is opened, and that file would be printed into.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free descriptor is taken, which is this one.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _guarded(sys.stdout, sys.__stdout__, 1, _Output)
    sys.stderr = _guarded(sys.stderr, sys.__stderr__, 2, _Messages)


def drop_output() -> None:
    """Send what is still to be written to standard output nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _guarded(stream: TextIO | None, original: TextIO | None, descriptor: int, kind: type[io.FileIO]) -> TextIO:
    if stream is None:
        return open(descriptor, "w", encoding="utf-8", closefd=False)
    if stream is not original or not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(descriptor, "w", closefd=False)),
        encoding=stream.encoding,
        # A name that the terminal's encoding lacks is printed by its number.
        errors="backslashreplace",
        line_buffering=stream.line_buffering or descriptor == 2,
    )


class _Output(io.FileIO):
    """Standard output."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            drop_output()
            raise ReaderGone from None
        except OSError as error:
            raise OutputLost(
                f"standard output cannot be written: {error.strerror}",
                hint="what is stored is whole; type the command again with another output, or with -o FILE",
            ) from error


class _Messages(io.FileIO):
    """Standard error: a message that cannot be printed must not stop a training."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data).cast("B"))  # type: ignore[arg-type]
