"""A run's own copy of the project with its surroundings beside it, and the code that Python is given for its files."""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from deviate.core.paths import real_path
from deviate.runs.snapshot.manifest import Snapshot
from deviate.runs.snapshot.surroundings import levels_above
from deviate.runs.snapshot.survey import lead_to_repository
from deviate.source.edits import FileCode
from deviate.store.folders import RunFolder

#: In a run's folder: the texts that Python is given in the place of files, and what it makes of them.
GIVEN = "instrumented"


class GivenCode(msgspec.Struct, frozen=True, kw_only=True):
    """Where the text lies that Python is given in the place of a file, and the file in whose place it is."""

    text: str
    size: int
    crc: int
    #: Nanoseconds at which the file was last written; 0: its content tells whether it is the author's.
    written: int
    #: Modules that the file imports before it does anything else.
    imports: list[str]


def overlay_path(run: RunFolder, snapshot: Snapshot) -> Path:
    """Return where the run's copy of the project lies: ``work/<project>``.

    A project that names ``../../data`` lies one folder deeper, below a folder with its parent's name, so that the path
    stays within the run's work folder.
    """
    project = Path(snapshot.project)
    return run.work / project.relative_to(_mirrored(snapshot))


def _mirrored(snapshot: Snapshot) -> Path:
    """Return the folder that the run's work folder stands for: the lowest one above all that the project reaches."""
    project = Path(snapshot.project)
    levels = max(snapshot.levels, levels_above(project, [], snapshot.outside))
    return project.parents[min(levels, len(project.parents)) - 1]


def make_copy(snapshot: Snapshot, source: Path, run: RunFolder) -> Path:
    """Make the run's copy of the project.

    `source` is the snapshot's folder. The run's work folder does not exist yet.
    """
    copy = overlay_path(run, snapshot)
    copy.parent.mkdir(parents=True)
    shutil.copytree(source, copy, symlinks=True)
    lead_to_repository(Path(snapshot.project), copy)
    _surround(snapshot, run)
    return copy


def bring_files(copy: Path, overlay: Mapping[str, FileCode]) -> None:
    """Have the run's copy of the project hold the files of `overlay` as their author wrote them."""
    for name, code in overlay.items():
        path = copy / name
        if not os.path.isfile(path) or path.read_bytes() != code.source:
            _replace(copy, path, code.source)


def give_code(folder: RunFolder, copy: Path, overlay: Mapping[str, FileCode]) -> dict[str, GivenCode]:
    """Write what Python is given in the place of files into the folder of a run; return it by the names of the files.

    These are relative to `copy`, or absolute.
    """
    given = {}
    place = folder.path / GIVEN
    shutil.rmtree(place, ignore_errors=True)
    for number, (name, code) in enumerate(each for each in overlay.items() if each[1].given is not None):
        text = place / f"{number}-{Path(name).name}"
        text.parent.mkdir(exist_ok=True)
        assert code.given is not None
        text.write_bytes(code.given)
        text.with_suffix(".json").write_bytes(msgspec.json.encode(code.columns))
        path = real_path(name) if os.path.isabs(name) else name
        given[path] = GivenCode(
            text=str(text),
            size=len(code.source),
            crc=zlib.crc32(code.source),
            written=_written(copy / path, code),
            imports=code.imports,
        )
    return given


def _written(path: Path, code: FileCode) -> int:
    """Return when a file was written that is as its author wrote it; 0 for any other."""
    try:
        return path.stat().st_mtime_ns if path.read_bytes() == code.source else 0
    except OSError:
        return 0


def _replace(copy: Path, path: Path, text: bytes) -> None:
    """Write one file, never through a link into the project."""
    for folder in reversed(path.relative_to(copy).parents[:-1]):
        _unfold(copy / folder)
    path.unlink(missing_ok=True)
    path.write_bytes(text)


def _unfold(folder: Path) -> None:
    """Make a folder of its own from a linked one; what is in it stays linked."""
    if not folder.is_symlink():
        folder.mkdir(exist_ok=True)
        return
    target = Path(real_path(folder))
    folder.unlink()
    folder.mkdir()
    for name in os.listdir(target):
        (folder / name).symlink_to(target / name)


def _surround(snapshot: Snapshot, run: RunFolder) -> None:
    above, project = _mirrored(snapshot), Path(snapshot.project)
    for outside in snapshot.outside:
        path = run.work / Path(os.path.normpath(project / outside.path)).relative_to(above)
        path.parent.mkdir(parents=True, exist_ok=True)
        if outside.linked:
            path.symlink_to(outside.target)
        elif os.path.isdir(Path(outside.target)):
            path.mkdir()


def shared_paths(snapshot: Snapshot) -> list[str]:
    """Return the files and folders that the copy of a run leads to by links: data, and what is beside the project.

    Both the paths that links name and those they end at.
    """
    linked = [item.target for item in snapshot.items if item.kind in ("link", "symlink")]
    linked += [outside.target for outside in snapshot.outside if outside.linked]
    named = [path for path in linked if os.path.isabs(path) and os.path.exists(path)]
    return sorted({*named, *map(real_path, named)})


def redirected_exceptions(snapshot: Snapshot, overlay: Mapping[str, FileCode]) -> list[str]:
    """Return the folders of the project whose imports must not be redirected into the copy.

    These are virtual environments, and linked folders without an instrumented file: there the copy is the original.
    """
    linked = [item for item in snapshot.linked if not any(name.startswith(f"{item.path}/") for name in overlay)]
    project = Path(snapshot.project)
    return [
        str(project / item.path) for item in (*snapshot.environments, *linked) if os.path.isdir(project / item.path)
    ]


# Watch what runs share with the project by links: a training that writes there changes the user's own files.

#: Folders looked at below each linked folder. A file that comes or goes changes its folder's time; one that is written
#: in place is seen only where it is linked itself.
FOLDERS_LIMIT = 200

#: Size and time by path; None where nothing is.
State = dict[str, tuple[int, int] | None]


def watched_paths(snapshot: Snapshot) -> list[str]:
    """Return the linked files, and the linked folders with the first folders below them."""
    targets = [item.target for item in snapshot.linked]
    targets += [item.target for item in snapshot.items if item.kind == "symlink" and os.path.isabs(item.target)]
    targets += [outside.target for outside in snapshot.outside if outside.linked and outside.named]
    return sorted({path for target in targets for path in _with_folders(target, snapshot.project)})


def _with_folders(target: str, project: str) -> list[str]:
    if not os.path.isdir(target):
        return [target]
    folders: list[str] = []
    for folder, below, _ in os.walk(target):
        # Not into another workspace, nor back into the project, where the user may work meanwhile.
        below[:] = sorted(name for name in below if not name.startswith(".") and f"{folder}/{name}" != project)
        folders.append(folder)
        if len(folders) >= FOLDERS_LIMIT:
            break
    return folders


def state(paths: Iterable[str]) -> State:
    """Return size and time of each path as they are now."""
    return {path: _stat(Path(path)) for path in paths}


def _stat(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (0 if os.path.isdir(path) else status.st_size, status.st_mtime_ns)


def written_to(before: State, after: State) -> list[str]:
    """Return a warning for each shared path that is not as it was."""
    return [
        f"{path} is shared with the project by a link and changed during this run"
        for path in sorted(before)
        if before[path] != after.get(path)
    ]


def pinned_warnings(snapshot: Snapshot) -> list[str]:
    """Return a warning for each file in which the project's own absolute path stands: it leads out of the copy."""
    return [
        f"{name} names {snapshot.project} by its absolute path: what is written there is shared by all runs"
        for name in snapshot.pinned
    ]


#: A frame of a traceback.
_PLACE = re.compile(r'^(?P<before>\s*File ")(?P<path>[^"]+)(?P<after>", line \d+.*)$')


def named_in_project(lines: Iterable[str], copy: Path) -> Iterator[str]:
    """Yield `lines` with the paths of frames in `copy`, the run's copy of the project, relative to it."""
    for line in lines:
        match = _PLACE.match(line)
        if match and Path(match["path"]).is_relative_to(copy):
            line = f"{match['before']}{Path(match['path']).relative_to(copy).as_posix()}{match['after']}"
        yield line
