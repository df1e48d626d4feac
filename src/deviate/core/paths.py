"""What lies in a user's folders, asked so that nothing there ends a command.

A link may lead to a place that may not be entered, to itself, or to a name that no file system has; `Path.is_dir` and
its like raise then. Where a user's files are asked about it is `os.path.isdir`, `isfile` and `exists`, which say no.
"""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

#: Bytes of a file of settings; larger ones hold data.
_MOST_SETTINGS = 1 << 20

#: It begins where a word does, and gives nothing back: a word of a megabyte is looked at once.
_LONG_NAME = re.compile(r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]{0,99}"|'[^'\n]{0,99}')[ \t]{0,9}\.[ \t]{0,9}){200}""")

#: Files whose text may name paths.
TEXT_SUFFIXES = frozenset({".py", ".sh", ".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".gin", ".conf"})


def real_path(path: str | Path) -> str:
    """Return where a path leads, as far as that may be known: links of ``/proc`` cannot be read by everybody."""
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)


def settings_text(path: Path) -> str:
    """Return what a file of settings holds.

    Raises OSError if it cannot be read, or is no file (a pipe would be waited for, a device has no end), or a large
    one. Raises ValueError if it is no text, or has names of hundreds of parts (``a.b.c``): the memory that TOML takes
    is their square.
    """
    if os.path.exists(path) and not (os.path.isfile(path) and os.path.getsize(path) <= _MOST_SETTINGS):
        raise OSError(errno.EINVAL, f"expected a file of at most {_MOST_SETTINGS >> 20} MiB")
    text = path.read_text(encoding="utf-8-sig")
    if _LONG_NAME.search(text):
        raise ValueError("a name has more than 200 parts")
    return text


def globbed(folder: Path, *patterns: str) -> list[Path]:
    """Return what matches one of the patterns in a folder, sorted; what cannot be asked about is passed over."""
    names = (name for each in patterns for name in glob.iglob(each, root_dir=folder, include_hidden=True))
    return sorted(folder / name for name in names)


def files_below(root: Path, pattern: str) -> list[Path]:
    """Return the files in and below a folder whose names match, sorted; no folder, pipe or socket of such a name.

    ``._name`` holds what macOS notes of ``name``.
    """
    return sorted(path for path in root.rglob(pattern) if os.path.isfile(path) and not path.name.startswith("._"))


def folders_below(
    root: Path, depth: int, enter: Callable[[str], bool] = lambda name: True
) -> Iterator[tuple[Path, list[str]]]:
    """Yield a folder and those below it whose names `enter` takes, each with the sorted names of what is in it.

    Folders that cannot be read are passed over, links out of `root` are not followed, and none is yielded twice.
    """
    home = real_path(root)
    entered, waiting = {home}, [(root, 0)]
    while waiting:
        folder, level = waiting.pop(0)
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        yield folder, names
        for name in names if level < depth else ():
            path = folder / name
            place = real_path(path)
            if enter(name) and place not in entered and Path(place).is_relative_to(home) and os.path.isdir(path):
                entered.add(place)
                waiting.append((path, level + 1))
