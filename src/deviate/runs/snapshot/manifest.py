"""The project as it was when the experiment was made: every run starts from it, whatever the user edits meanwhile.

Which files of a project a training can be about: those that git tracks, and those that its source leads to.

Beginning with the files that the entry imports and the words of the command, each name in a file's text leads on: to a
file of that name, to a folder with all that is in it, to what a pattern (``"fold_{k}.csv"``) stands for. What nothing
leads to (notes, logs, a plot) may come, change and go without making another experiment.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from deviate.core.errors import WorkspaceUnusable
from deviate.core.experiment import SCHEMA
from deviate.core.paths import TEXT_SUFFIXES, real_path
from deviate.core.secrets import star_text
from deviate.runs.snapshot.surroundings import Outside, levels_above, named_outside, outside_reach, pinned_files
from deviate.runs.snapshot.survey import CREDENTIALS, OWN, UNREADABLE, Item, shows_credentials, survey, tracked_files
from deviate.store.files import read_json, write_json
from deviate.store.folders import FOLDER, ExperimentFolder, Workspace
from deviate.store.snapshot_rules import OUTPUTS, SnapshotRules, matches

#: Files that programs load by their name without the suffix: modules, and the settings of Hydra and its like.
_STEM_SUFFIXES = frozenset({".py", ".pyx", ".so", ".yaml", ".yml", ".toml", ".gin", ".ini", ".cfg", ".conf"})

#: Files that Python, pip or python-dotenv read although no source names them.
_READ_UNNAMED = frozenset({".env", "sitecustomize.py", "usercustomize.py", "pyproject.toml", "setup.cfg", "setup.py"})

#: Logs of shells, of schedulers (``slurm-12.out``, ``train.o4711``) and of trainings: written, not read.
_LOG = re.compile(r".*\.(log|out|err)|nohup\.out|.+\.[oe]\d+", re.IGNORECASE)

#: Larger texts are data, not source or settings.
TEXT_LIMIT = 1 << 20

#: What separates names in a settings file, a script or a command.
_BETWEEN = re.compile(r"""[\s"'`=:,;()\[\]{}<>|&#$!]+""")

#: What a value is put in place of at run time: ``{}``, ``{name}``, ``%d``, ``%(name)s``.
_FILLED = re.compile(r"\{[^{}]*\}|%(?:\(\w+\))?[-+ #0]*\d*(?:\.\d+)?[sdifgrx]")

#: A pattern needs more than wildcards and signs to name anything.
_TELLING = re.compile(r"[^\W_]")


def unnamed_files(project: Path, files: Iterable[str], tracked: frozenset[str], roots: Iterable[str]) -> list[str]:
    """Return those of `files` that git does not track and nothing leads to from the `roots`.

    `files` are relative to the project. `roots` are words: paths of files, and the words of the command.
    """
    names = _Names()
    for root in roots:
        if not os.path.isabs(root):
            names.add_tokens(root)
        elif Path(root).is_relative_to(project):
            names.add_tokens(os.path.relpath(root, project))
    # Of a folder that is linked whole the files below are not listed.
    folders = {str(folder) for path in tracked for folder in PurePosixPath(path).parents}
    left = set(files)
    leading = {path for path in left if path in tracked or path in folders or names.lead_to(path)}
    while leading:
        for path in leading:
            names.read(project / path)
        left -= leading
        leading = {path for path in left if names.lead_to(path)}
    return sorted(left)


def is_log(path: str) -> bool:
    """Tell whether a file's name is one of logs."""
    return _LOG.fullmatch(PurePosixPath(path).name) is not None


@dataclass
class _Names:
    """The names in the texts that were read so far."""

    literal: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)
    compiled: tuple[int, re.Pattern[str] | None] = (0, None)

    def read(self, path: Path) -> None:
        """Take in the names in a file's text."""
        if path.suffix not in TEXT_SUFFIXES:
            return
        try:
            if not os.path.isfile(path) or path.stat().st_size > TEXT_LIMIT:
                return
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        for string in _strings(text) if path.suffix == ".py" else ():
            self.add_string(string)
        if path.suffix != ".py":
            self.add_tokens(text)

    def add_string(self, text: str) -> None:
        """Take in a string of a Python file: each part of it as a path is a name."""
        # What begins with a dot is added to a name: `stem + ".csv"`.
        joined = f"*{text}" if re.match(r"\.\w", text) else text
        for part in re.split(r"[/\\]", _FILLED.sub("*", joined)):
            wild = set(part) & set("*?[")
            if wild and _TELLING.search(part):
                self.patterns.add(part)
            elif part and not wild:
                self.literal.add(part)
        if "." in text and re.fullmatch(r"[\w.]+", text):
            self.literal.update(text.split("."))
        if text.startswith("."):
            self.literal.add(text)

    def add_tokens(self, text: str) -> None:
        """Take in a text whose words may be paths."""
        for word in _BETWEEN.split(text):
            self.add_string(word)

    def lead_to(self, path: str) -> bool:
        """Tell whether a name leads to the file at `path`, or to a folder that it lies in."""
        pure = PurePosixPath(path)
        if pure.name in _READ_UNNAMED:
            return True
        folders = [part for part in pure.parts[:-1] if not OUTPUTS.fullmatch(part.lower())]
        if any(self._has(folder) for folder in folders):
            return not is_log(path)
        if is_log(path):
            return False
        return self._has(pure.name) or (pure.suffix in _STEM_SUFFIXES and pure.stem.partition(".")[0] in self.literal)

    def _has(self, name: str) -> bool:
        if name in self.literal:
            return True
        if self.compiled[0] != len(self.patterns):
            joined = "|".join(translate(pattern) for pattern in sorted(self.patterns))
            self.compiled = (len(self.patterns), re.compile(joined))
        pattern = self.compiled[1]
        return pattern is not None and pattern.match(name) is not None


def _strings(text: str) -> Iterator[str]:
    """Yield the strings of a Python file without its docstrings; those of an f-string joined by ``*``."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # A file of another Python: every quoted text counts.
        yield from (match[2] for match in re.finditer(r"""(["'])(.*?)\1""", text))
        return
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield getattr(node, "module", None) or ""
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else "*" for each in node.values)
            todo += [each for each in node.values if not isinstance(each, ast.Constant)]
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            todo += ast.iter_child_nodes(node)


# Files that Deviate itself wrote into a project, such as reports: they are no source of a training.


def note_written(path: Path) -> None:
    """Remember that Deviate wrote the file at `path`, in the workspace of the project it lies in.

    What lies in no project with a workspace is not remembered: it enters no snapshot.
    """
    resolved = Path(real_path(path))
    project = next((folder for folder in resolved.parents if os.path.isdir(folder / FOLDER)), None)
    if project is None or not os.path.isfile(resolved):
        return
    attributes = resolved.stat()
    with resolved.open("rb") as written:
        content = hashlib.file_digest(written, "sha256").hexdigest()
    # One write of one line: commands that end at the same time do not mix theirs.
    with Workspace(project).written_file.open("a", encoding="ascii") as file:
        file.write(f"{content} {stamp(attributes.st_size, attributes.st_mtime_ns)}\n")


def stamp(size: int, mtime_ns: int) -> str:
    """Return what stands for the content of a file that is not read."""
    return f"{size}@{mtime_ns}"


def read_written(project: Path) -> frozenset[str]:
    """Return the SHA-256 and the stamp of every file that Deviate wrote into `project`.

    A file that was edited since has others. What was damaged of this list matches no file.
    """
    path = Workspace(project).written_file
    return (
        frozenset(path.read_text(encoding="ascii", errors="replace").split()) if os.path.isfile(path) else frozenset()
    )


#: Of the project's own files these are Deviate's: they do not enter the training.
OWN_FILES = frozenset({"deviate.toml"})


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot holds: ``snapshot.json``."""

    schema: int = SCHEMA
    #: The project it was taken of.
    project: str
    #: Digest of all that decides: equal for equal projects, wherever and whenever they are looked at.
    source: str
    items: list[Item]
    #: SHA-256 of each copied file.
    digests: dict[str, str]
    #: What the project reaches beyond itself.
    outside: list[Outside] = []
    #: Files that Deviate wrote, such as reports: they are no source.
    written: list[str] = []
    #: Files that decide nothing, because git does not track them and nothing that the training reads names them.
    unnamed: list[str] = []
    #: Files that evaluations read and the training does not: they decide nothing either.
    beside: list[str] = []
    #: Files in which the project's absolute path stands, so that runs leave their copy.
    pinned: list[str] = []
    #: SHA-256 of the files that are linked since they were seen to hold credentials, with stars in place of these:
    #: another key is no other source.
    starred: dict[str, str] = {}
    #: How many folders above itself a run's copy has as the project has them; of an older snapshot, what it reaches.
    levels: int = 1

    @property
    def contents(self) -> dict[str, str]:
        """What stands for the content of files that were read."""
        return {**self.digests, **self.starred}

    @property
    def left_out(self) -> list[Item]:
        """What is not in it, with reasons."""
        return [item for item in self.items if item.kind == "left out"]

    @property
    def linked(self) -> list[Item]:
        """What runs share with the project."""
        return [item for item in self.items if item.kind == "link"]

    @property
    def environments(self) -> list[Item]:
        """Virtual environments of the project."""
        return [item for item in self.items if item.kind == "environment"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A file in which two snapshots of a project differ."""

    path: str
    how: Literal["new", "edited", "gone"]
    #: True: the training reads it, or may.
    decides: bool
    #: True: all runs share the file, so that a change reaches each run that is made later.
    linked: bool

    @property
    def text(self) -> str:
        """The change as it is said."""
        return f"{self.path} ({self.how}{', linked' if self.linked else ''})"


def describe(
    project: Path,
    rules: SnapshotRules | None = None,
    *,
    folder: str = ".",
    words: Iterable[str] = (),
    sources: Iterable[str] | None = None,
) -> Snapshot:
    """Return what a snapshot of `project` would hold now; nothing is written.

    `project` is absolute. The command is started in `folder`, relative to the project, and its `words` may name files
    outside the project. `sources` are the files that it imports; without them every file decides what is one source.
    """
    rules = rules or SnapshotRules()
    tracked = tracked_files(project)
    words = list(words)
    items: list[Item] = []
    digests, starred = {}, {}
    for item in survey(project, rules, tracked):
        data = _read(project / item.path) if item.kind == "copy" else b""
        items.append(_looked_into(project, item, data))
        if items[-1].kind == "copy" and data is not None:
            digests[item.path] = hashlib.sha256(data).hexdigest()
        elif item.kind == "copy" and data is not None:
            starred[item.path] = hashlib.sha256(star_text(data, is_code=False)).hexdigest()
    written = _written(items, digests, read_written(project))
    own = {path for path in written if not matches(path, rules.include)}
    items = [msgspec.structs.replace(item, kind="left out", reason=OWN) if item.path in own else item for item in items]
    digests = {path: digest for path, digest in digests.items() if path not in own}
    roots = None if sources is None else [*sources, *words]
    unnamed = [] if roots is None else _unnamed(project, items, rules, tracked, roots)
    # A path in a file that nothing of the training leads to, tracked or not, is no path of the training.
    naming = digests if roots is None else digests.keys() - set(_unnamed(project, items, rules, frozenset(), roots))
    named = named_outside(project, sorted(naming), folder=folder, words=words, rules=rules, imported=roots)
    # A module beside what is named, which the training imports too, may be named in a module that lies there.
    named |= {Path(each) for each in sources or () if any(Path(each).is_relative_to(path.parent) for path in named)}
    outside = outside_reach(project, named, rules)
    return Snapshot(
        project=str(project),
        source=_source(items, {**digests, **starred}, {*written, *unnamed}),
        items=items,
        digests=digests,
        starred=starred,
        written=written,
        outside=outside,
        unnamed=unnamed,
        pinned=pinned_files(project, sorted(digests)),
        levels=levels_above(project, named, outside),
    )


def _looked_into(project: Path, item: Item, data: bytes | None) -> Item:
    """Return what becomes of a file now that its content is known; None: it cannot be read."""
    if data is None:
        return msgspec.structs.replace(item, kind="left out", reason=UNREADABLE)
    if item.kind != "copy" or not shows_credentials(item.path, data):
        return item
    return msgspec.structs.replace(item, kind="link", reason=CREDENTIALS, target=str(project / item.path))


def _unnamed(
    project: Path, items: Iterable[Item], rules: SnapshotRules, tracked: frozenset[str], roots: Iterable[str]
) -> list[str]:
    """Return the files that decide nothing; what the user includes decides."""
    held = [item.path for item in items if item.kind in ("copy", "link", "symlink")]
    return unnamed_files(project, [path for path in held if not matches(path, rules.include)], tracked, roots)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _written(items: Iterable[Item], digests: dict[str, str], known: frozenset[str]) -> list[str]:
    """Return the paths of the files that are as Deviate wrote them."""
    return [item.path for item in items if {digests.get(item.path), stamp(item.size, item.mtime_ns)} & known]


def _source(items: Iterable[Item], digests: dict[str, str], written: Iterable[str]) -> str:
    """Digest paths with contents; of linked files that were not read size and time stand for the content."""
    own = OWN_FILES.union(written)
    lines = sorted(line for item in items if (line := _line(item, digests, own)))
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _line(item: Item, digests: dict[str, str], own: frozenset[str]) -> str:
    if item.path in own:
        return ""
    if item.kind == "copy":
        return f"copy {item.path!r} {digests[item.path]}"
    if item.kind == "link" and item.path in digests:
        return f"link {item.path!r} {digests[item.path]}"
    if item.kind == "link":
        return f"link {item.path!r} {item.size} {item.mtime_ns}"
    return f"symlink {item.path!r} {item.target!r}" if item.kind == "symlink" else ""


def changes(before: Snapshot, after: Snapshot) -> list[Change]:
    """Return the files in which two snapshots of a project differ, by path.

    A file decides if it does in one of the two, unless it is beside the training in one of them.
    """
    old, new = (
        {item.path: line for item in each.items if (line := _line(item, each.contents, OWN_FILES.union(each.written)))}
        for each in (before, after)
    )
    linked = {item.path for each in (before, after) for item in each.items if item.kind == "link"}
    deciding = (old.keys() - set(before.unnamed)) | (new.keys() - set(after.unnamed))
    deciding -= {*before.beside, *after.beside}
    return [
        Change(
            path=path,
            how="new" if path not in old else "gone" if path not in new else "edited",
            decides=path in deciding,
            linked=path in linked,
        )
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    ]


def take(snapshot: Snapshot, folder: ExperimentFolder) -> Snapshot:
    """Copy what `snapshot` describes into the experiment's folder.

    What is returned differs from `snapshot` where a file was changed in between.
    """
    aside = folder.path / f".snapshot.{os.getpid()}.partial"
    for old in (*folder.path.glob(".snapshot.*.partial"), folder.snapshot):
        shutil.rmtree(old, ignore_errors=True)
    aside.mkdir(parents=True)
    digests = {}
    for item in snapshot.items:
        if (digest := _place(Path(snapshot.project), item, aside)) is not None:
            digests[item.path] = digest
    aside.rename(folder.snapshot)
    taken = _taken(snapshot, digests)
    write_json(folder.snapshot_file, taken)
    return taken


def _taken(snapshot: Snapshot, digests: dict[str, str]) -> Snapshot:
    gone = snapshot.digests.keys() - digests.keys()
    items = [
        msgspec.structs.replace(item, kind="left out", reason=UNREADABLE) if item.path in gone else item
        for item in snapshot.items
    ]
    return msgspec.structs.replace(
        snapshot,
        items=items,
        digests=digests,
        source=_source(items, {**digests, **snapshot.starred}, {*snapshot.written, *snapshot.unnamed}),
    )


def _place(project: Path, item: Item, into: Path) -> str | None:
    """Make one file or folder of the snapshot; return the digest of what was copied."""
    target = into / item.path
    if item.kind == "folder":
        target.mkdir()
    elif item.kind in ("link", "symlink", "environment"):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(item.target)
    elif item.kind == "copy" and (data := _read(project / item.path)) is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        shutil.copystat(project / item.path, target)
        return hashlib.sha256(data).hexdigest()
    return None


def require_whole(snapshot: Snapshot, folder: ExperimentFolder, copy: Path | None = None) -> None:
    """Make sure that the experiment's copy of the project is as it was taken, before runs are made of it.

    With the `copy` of a run it is that which is looked at.

    Raises WorkspaceUnusable with the first file that is gone or was changed.
    """
    for path, digest in snapshot.digests.items():
        data = _read((copy or folder.snapshot) / path)
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            raise WorkspaceUnusable(
                f"{folder.snapshot / path} {'is gone' if data is None else 'was changed'}, and runs are made from it",
                hint=f"the runs that are there are whole: deviate report {folder.name}; to add runs restore the file, "
                "or begin anew under another --name",
            )


def read_snapshot(folder: ExperimentFolder) -> Snapshot:
    """Return what the experiment's snapshot holds."""
    snapshot: Snapshot = read_json(folder.snapshot_file, Snapshot)
    return snapshot


# Keep snapshots on a disk of the machine, where several runs are made of one: each is copied there once.
#
# FOLDER/.snapshots/DIGEST/lock       held by whoever writes or copies the snapshot
# FOLDER/.snapshots/DIGEST/partial/   what a worker writes, or a killed one left
# FOLDER/.snapshots/DIGEST/whole/     the snapshot; there once it is written and was compared with its digests

#: Below the folder: snapshots, and ends of the names of those that are being removed.
_SNAPSHOTS = ".snapshots"
_REMOVED = ".removed"

#: Seconds after which a snapshot goes that no run was made of.
UNUSED = 24 * 3600.0


@contextmanager
def kept_snapshot(folder: Path, snapshot: Snapshot, experiment: ExperimentFolder) -> Iterator[Path]:
    """Keep the snapshot of an experiment below `folder`; return where it is, which nobody changes meanwhile.

    Where this disk does not take it, that is in the experiment.

    Raises WorkspaceUnusable if that of the experiment was damaged.
    """
    with ExitStack() as held:
        yield _hold(folder / _SNAPSHOTS, snapshot, experiment, held)


def _hold(folder: Path, snapshot: Snapshot, experiment: ExperimentFolder, held: ExitStack) -> Path:
    try:
        place = folder / _digest(snapshot, experiment)
        _clear(place)
        lock = _locked(place)
        held.callback(os.close, lock)
        whole = _whole(place, snapshot, experiment)
        # From here on others may copy it, too.
        fcntl.flock(lock, fcntl.LOCK_SH)
    except OSError:
        return experiment.snapshot
    return whole if os.path.isdir(whole) else experiment.snapshot


def _digest(snapshot: Snapshot, experiment: ExperimentFolder) -> str:
    """Digest all that a copy of the snapshot has: contents, modes and times of files, and where links lead."""
    lines = []
    for item in snapshot.items:
        if (digest := snapshot.digests.get(item.path)) is not None:
            status = (experiment.snapshot / item.path).stat()
            lines.append(f"file {item.path!r} {digest} {status.st_mode} {status.st_mtime_ns}")
        elif item.kind != "left out":
            lines.append(f"{item.kind} {item.path!r} {item.target!r}")
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


def _locked(place: Path) -> int:
    """Hold a snapshot alone; return the open lock, whose time says when a run was made of it."""
    while True:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            # Who waits may get the lock of one that was removed.
            if os.path.samestat(os.fstat(lock), os.stat(place / "lock")):
                os.utime(lock)
                return lock
        os.close(lock)


def _whole(place: Path, snapshot: Snapshot, experiment: ExperimentFolder) -> Path:
    """Return the snapshot below `place`, copied where it is missing or was damaged."""
    whole, partial = place / "whole", place / "partial"
    shutil.rmtree(partial, ignore_errors=True)
    if os.path.isdir(whole):
        with suppress(WorkspaceUnusable):
            require_whole(snapshot, experiment, whole)
            return whole
        shutil.rmtree(whole)
    try:
        shutil.copytree(experiment.snapshot, partial, symlinks=True)
        require_whole(snapshot, experiment, partial)
        partial.rename(whole)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return whole


def _clear(place: Path) -> None:
    """Remove the snapshots beside `place` that are not used any more."""
    for other in place.parent.iterdir() if os.path.isdir(place.parent) else ():
        if other.suffix == _REMOVED:
            shutil.rmtree(other, ignore_errors=True)
        elif other != place:
            with suppress(OSError):
                _remove_unused(other)


def _remove_unused(place: Path) -> None:
    with (place / "lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(lock.fileno()).st_mtime >= UNUSED:
            # At no moment half of it is taken for the whole.
            aside = place.with_suffix(_REMOVED)
            place.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)
