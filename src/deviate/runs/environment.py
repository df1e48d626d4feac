"""The command of one run: its words, environment and folder inside the run's own copy, and older processors."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from deviate.core.errors import CommandNotFound
from deviate.core.frameworks import FRAMEWORKS, thread_variables
from deviate.source.entry import missing_hint
from deviate.store.folders import FOLDER

#: The folder that is put on PYTHONPATH: it starts the runtime.
INJECTED = Path(__file__).resolve().parents[1] / "runtime" / "injected"

#: Where the runtime finds what it has to do; it does nothing without.
RUNTIME_VARIABLE = "DEVIATE_RUNTIME"


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A project and the copy that stands for it."""

    #: Ways to write the project's path: as the user came there, and with symbolic links resolved.
    project: tuple[str, ...]
    copy: str
    #: Folders of the project, relative to it, that stay where they are (virtual environments).
    kept: tuple[str, ...] = ()


def spellings(project: Path, folder: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ways in which words of the user may write the project's path, longest first.

    Who came to the project through a symbolic link has that way in PWD, and types it.
    """
    ways = {str(project), os.path.realpath(project)}
    logical = Path(environment.get("PWD", ""))
    depth = len(Path(folder).parts)
    if logical.is_absolute() and _is_same(logical, project / folder) and depth < len(logical.parts):
        ways.add(str(logical.parents[depth - 1] if depth else logical))
    return tuple(sorted((way for way in ways if way != "/"), key=lambda way: (-len(way), way)))


def _is_same(first: Path, second: Path) -> bool:
    return os.path.isdir(first) and os.path.isdir(second) and first.samefile(second)


def map_paths(text: str, moved: Moved) -> str:
    """Return `text` with absolute paths into the project turned into paths into its copy.

    A path begins where `text` does or after a character that no path holds unquoted, so that
    ``--data=/home/me/project/data`` is mapped and ``/mnt/home/me/project`` is not.
    """
    # All ways at once: the copy lies below the project, so its path must not be looked through again.
    ways = "|".join(re.escape(way) for way in moved.project)
    pattern = re.compile(rf"(?<![\w./+@-])(?:{ways})(?=$|[/:;,'\"\])}}\s])(?P<rest>[^:;,'\"\])}}\s]*)")
    return pattern.sub(lambda match: match[0] if _stays(match["rest"], moved) else moved.copy + match["rest"], text)


def _stays(rest: str, moved: Moved) -> bool:
    below = Path(os.path.normpath(rest.strip("/")))
    leads_out = below.parts[:1] == (os.pardir,)
    return leads_out or any(below.is_relative_to(kept) for kept in (*moved.kept, FOLDER))


def find_program(word: str, folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the program that the user's shell would start for `word`.

    The user stands in `folder`; the PATH of `environment` is searched.

    Raises CommandNotFound if there is none.
    """
    if "/" in word:
        path = Path(os.path.normpath(folder / word))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
        raise CommandNotFound(_missing(word, path), hint=_hint(word, path))
    # Relative entries of PATH mean the folder the user stands in, not the one the run will be started in.
    folders = [str(folder / entry) for entry in environment.get("PATH", os.defpath).split(os.pathsep)]
    searched = os.pathsep.join(folders)
    program = shutil.which(word, path=searched)
    if program is None:
        raise CommandNotFound(f"command not found: {word}", hint=_hint(word, folder / word, searched))
    return Path(os.path.normpath(program))


def named_program(word: str, folder: Path) -> Path:
    """Return the program that `word` stands for on another machine: a path from `folder` on, or a name of its PATH."""
    return Path(os.path.normpath(folder / word)) if "/" in word else Path(word)


def _missing(word: str, path: Path) -> str:
    return f"{word} is not executable" if os.path.isfile(path) else f"command not found: {word}"


def _hint(word: str, path: Path, searched: str | None = None) -> str:
    if os.path.isfile(path) and path.suffix == ".py":
        return f"start it with python: python {word}"
    if os.path.isfile(path):
        return f"make it executable (chmod +x {word}), or start it with its interpreter: bash {word}"
    if re.fullmatch(r"python[\d.]*", word):
        return f"activate your environment, or name the interpreter: {sys.executable}"
    return missing_hint(word, searched)


def run_words(command: Sequence[str], program: Path, moved: Moved) -> list[str]:
    """Return the words a run is started with.

    `program` is what the first word of `command` stands for; one inside the project is taken from the copy, unless it
    stays where it is.
    """
    return [map_paths(str(program), moved), *(map_paths(word, moved) for word in command[1:])]


def python_path(value: str | None, folder: Path, moved: Moved) -> str:
    """Return PYTHONPATH for a run: the runtime first, then the user's with the project's folders in the copy.

    `value` is the user's. Relative entries that lead out of the project still mean the same place: `folder` is where
    the user stands.
    """
    entries = value.split(os.pathsep) if value else []
    return os.pathsep.join([str(INJECTED), *(_python_entry(entry, folder, moved) for entry in entries)])


def _python_entry(entry: str, folder: Path, moved: Moved) -> str:
    if not entry or os.path.isabs(entry):
        return map_paths(entry, moved)
    absolute = os.path.normpath(folder / entry)
    inside = any(Path(absolute).is_relative_to(way) for way in moved.project)
    return entry if inside else absolute


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """Return the variables in which two environments differ, None for those that were taken away."""
    return {name: after.get(name) for name in sorted({*before, *after}) if before.get(name) != after.get(name)}


def looks_isolated(words: Iterable[str]) -> bool:
    """Tell whether the command starts Python so that it heeds neither PYTHONPATH nor sitecustomize."""
    listed = list(words)
    if not listed or not Path(listed[0]).name.startswith(("python", "pypy")):
        return False
    options = []
    for word in listed[1:]:
        if not word.startswith("-") or word in ("-", "-c", "-m"):
            break
        options.append(word)
    return any(not word.startswith("--") and set(word[1:]) & set("IES") for word in options)


# Other machines, emulated on this one: numerical libraries are set to use an older processor's instructions.
#
# The same job on another processor gives other bits [1]_. What a library computes with is chosen when it is loaded, by
# what the processor can do, and each has a variable that says to use less. Tried with torch 2.13, NumPy 2.4, TensorFlow
# 2.20 and JAX 0.10 on an AVX2 processor of AMD: ATEN_CPU_CAPABILITY, ONEDNN_MAX_CPU_ISA, MKL_CBWR=COMPATIBLE (its other
# values not), OPENBLAS_CORETYPE, XLA's --xla_cpu_max_isa and the number of threads each change the bits of products,
# convolutions or functions; TF_ENABLE_ONEDNN_OPTS and NPY_DISABLE_CPU_FEATURES changed nothing that was tried.
#
# References
# ----------
# .. [1] S. Jean-Paul et al., "Issues in the reproducibility of deep learning results", IEEE SPMB 2019.

_CPU_INFO = Path("/proc/cpuinfo")

#: What XLA has instead of variables.
_FLAGS = "XLA_FLAGS"


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A generation of x86 processors, by its vector instructions."""

    name: str
    #: What the processor must have, as ``/proc/cpuinfo`` calls it.
    needs: frozenset[str]


#: From the newest on.
LEVELS = (
    Level(name="AVX-512", needs=frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq"})),
    Level(name="AVX2", needs=frozenset({"avx2", "fma"})),
    Level(name="AVX", needs=frozenset({"avx"})),
    Level(name="SSE4.2", needs=frozenset({"sse4_2"})),
)


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that a run believes to be on."""

    #: ``AVX2, 1 thread``.
    name: str
    variables: dict[str, str]
    #: Appended to XLA_FLAGS; empty: nothing is.
    xla_flag: str
    #: None: as many as the libraries choose.
    threads: int | None


def platforms(flags: Collection[str], threads: int | None) -> list[Platform]:
    """Return the machines that this one can emulate; the first is this one as it is.

    `flags` is what the processor can do, as ``/proc/cpuinfo`` says; `threads` are those of a run on this machine.

    >>> [platform.name for platform in platforms({"avx", "avx2", "fma", "sse4_2"}, 2)][:4]
    ['AVX2 (this machine), 2 threads', 'AVX, 2 threads', 'AVX2 (this machine), 1 thread', 'SSE4.2, 2 threads']
    """
    levels = [level for level in LEVELS if level.needs <= set(flags)]
    counts = thread_counts(threads)
    # Near ones first: in a few runs both the instructions and the number of threads change.
    cells = sorted(
        ((row, column) for row in range(max(1, len(levels))) for column in range(len(counts))),
        key=lambda cell: (sum(cell), cell[1]),
    )
    return [_platform(levels, row, counts[column]) for row, column in cells]


def thread_counts(threads: int | None) -> list[int | None]:
    """Return the thread counts to try, that of this machine first, then halves of it down to one.

    >>> thread_counts(8), thread_counts(1), thread_counts(None)
    ([8, 4, 2, 1], [1, 2], [None, 1])
    """
    if threads is None:
        return [None, 1]
    if threads == 1:
        return [1, 2]
    return [threads >> halved for halved in range(threads.bit_length())]


def _platform(levels: list[Level], row: int, threads: int | None) -> Platform:
    level = levels[row] if levels else None
    older = _older_instructions(level) if level and row else {}
    name = f"{level.name if level else 'this machine'}{' (this machine)' if level and not row else ''}"
    count = "threads as they are" if threads is None else f"{threads} thread{'' if threads == 1 else 's'}"
    return Platform(
        name=f"{name}, {count}",
        variables={name: value for name, value in older.items() if name != _FLAGS},
        xla_flag=older.get(_FLAGS, ""),
        threads=threads,
    )


def _older_instructions(level: Level) -> dict[str, str]:
    """Return the variables that make libraries use no later instructions than `level` has."""
    step = LEVELS.index(level) - 1
    return {name: values[step] for each in FRAMEWORKS for name, values in each.instructions.items()}


def cpu_flags(path: Path = _CPU_INFO) -> frozenset[str]:
    """Return what this machine's processor can do; nothing where the system does not say."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return frozenset(line.partition(":")[2].split())


def platform_variables(platform: Platform, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make a run believe to be on `platform`, over those of its `environment`."""
    flags = f"{environment.get(_FLAGS, '')} {platform.xla_flag}".strip()
    xla = {_FLAGS: flags} if platform.xla_flag else {}
    return {**platform.variables, **xla, **thread_variables(platform.threads, {})}
