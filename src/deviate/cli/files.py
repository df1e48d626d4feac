"""``-o FILE``: what a command says, as a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from deviate.cli.printing import say
from deviate.errors import BadOption


def write_output(path: Path, parts: Iterable[str]) -> None:
    """Write text, which comes in parts, to `path` and say so on standard error.

    A file that is there stays as it was until the new one is whole. It is noted that this is no source of a training.

    Raises
    ------
    BadOption
        If the file cannot be written.
    """
    from deviate.replicate.snapshot.own_files import note_written
    from deviate.replicate.workspace.files import write_parts

    try:
        if path.exists() and not path.is_file():
            # Such as /dev/stdout: a pipe or a device is written to, not replaced.
            with path.open("w", encoding="utf-8") as file:
                file.writelines(parts)
        else:
            write_parts(path.resolve(), (part.encode() for part in parts))
            note_written(path)
    except OSError as problem:
        raise BadOption(
            f"cannot write {path}: {problem.strerror}", hint="name a file in a folder that is there"
        ) from problem
    say(f"written to {path}", err=True)
