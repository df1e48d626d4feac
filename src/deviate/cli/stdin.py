"""Standard input of this tool, as far as it was given for the training."""

from __future__ import annotations

import os
import select
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil

from deviate.cli.printing import say, show_size
from deviate.core.errors import BadOption

#: Bytes that are kept at most: more is no list of settings, and a file has a name that the command can read it by.
MOST_BYTES = 1 << 28

#: Seconds within which a pipe that nobody else on this machine writes into has its first bytes, and the next ones.
PATIENCE = 1.0

#: Programs that start another one, stay, and read nothing themselves.
LAUNCHERS = frozenset({"uv", "uvx", "pixi", "rye", "hatch", "sudo", "time", "timeout", "stdbuf", "strace", "perf"})

#: Seconds between two looks at who writes.
LOOK_EVERY = 0.5

_CHUNK = 1 << 20


@contextmanager
def given_input(descriptor: int = 0) -> Iterator[Path | None]:
    """Give what was given by `descriptor` in a file of its own; None where nothing was.

    A terminal is never read. What is the standard input of the process that started this one, too, is that one's: the
    list that a shell's loop reads, the script that a shell is fed with, the pipe of a service.

    Raises BadOption if it does not end, or is too large to be kept.
    """
    try:
        status = os.fstat(descriptor)
    except OSError:
        yield None
        return
    is_file, is_pipe = stat.S_ISREG(status.st_mode), stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)
    if not (is_file or is_pipe):
        yield None
    elif _is_parents(status, descriptor):
        if _has_more(status, descriptor):
            say(
                "standard input is that of the shell, too, and is left to it: runs read nothing; to give them a file, "
                "type < FILE behind the command",
                err=True,
            )
        yield None
    else:
        with tempfile.NamedTemporaryFile(prefix="deviate-stdin-") as kept:
            size = _copy(descriptor, kept) if is_file else _drain(descriptor, kept)
            kept.flush()
            if size:
                say(f"standard input: {show_size(size)}, kept; each run reads them from the start", err=True)
            yield Path(kept.name) if size else None


def _is_parents(status: os.stat_result, descriptor: int) -> bool:
    """Tell whether the process that started this one has the same standard input; launchers only hand it on."""
    with suppress(OSError, psutil.Error):
        parent = psutil.Process(os.getppid())
        while parent.name() in LAUNCHERS and parent.ppid():
            parent = psutil.Process(parent.ppid())
        parents = os.stat(f"/proc/{parent.pid}/fd/{descriptor}")
        return (parents.st_dev, parents.st_ino) == (status.st_dev, status.st_ino)
    return False


def _has_more(status: os.stat_result, descriptor: int) -> bool:
    if stat.S_ISREG(status.st_mode):
        return os.lseek(descriptor, 0, os.SEEK_CUR) < status.st_size
    return bool(_ready(descriptor, 0.0)) and not _has_ended(descriptor)


def _copy(descriptor: int, kept: IO[bytes]) -> int:
    offset = start = os.lseek(descriptor, 0, os.SEEK_CUR)
    while chunk := os.pread(descriptor, _CHUNK, offset):
        kept.write(chunk)
        offset += len(chunk)
        _require_small(offset - start)
    return offset - start


def _drain(descriptor: int, kept: IO[bytes]) -> int:
    size, heard = 0, time.monotonic()
    while True:
        if _ready(descriptor, LOOK_EVERY):
            if not (chunk := os.read(descriptor, _CHUNK)):
                return size
            kept.write(chunk)
            size, heard = size + len(chunk), time.monotonic()
            _require_small(size)
        elif _has_writer(descriptor):
            heard = time.monotonic()  # a single look that fails to see it, as processes come and go, ends nothing
        elif time.monotonic() - heard >= PATIENCE:
            if not size:
                say(f"nothing came by standard input within {PATIENCE:g} s: runs read nothing", err=True)
                return 0
            raise BadOption(
                f"standard input does not end: {show_size(size)} came, and nobody on this machine writes more",
                hint="put what runs are to read into a file, and type < FILE behind the command",
            )


def _ready(descriptor: int, seconds: float) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def _has_ended(descriptor: int) -> bool:
    """Tell whether nothing is in a pipe, and nobody will write into it."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return not any(events & select.POLLIN for _, events in poll.poll(0))


def _has_writer(descriptor: int) -> bool:
    """Tell whether a program that was started beside this one, as in ``program | deviate``, has the pipe open."""
    with suppress(OSError, psutil.Error):
        pipe = os.readlink(f"/proc/self/fd/{descriptor}")
        beside = [each for each in psutil.Process(os.getppid()).children() if each.pid != os.getpid()]
        return any(pipe in _opened(process.pid) for process in beside)
    return False


def _opened(pid: int) -> set[str]:
    links = set()
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                links.add(os.readlink(entry.path))
    return links


def _require_small(size: int) -> None:
    if size > MOST_BYTES:
        raise BadOption(
            f"standard input has more than {show_size(MOST_BYTES)}, which is not kept for each run",
            hint="have the command read it by itself: deviate run -- bash -c 'python train.py < FILE'",
        )
