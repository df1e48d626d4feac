"""A run's own copy of the project, with the instrumented files in it and the project's surroundings beside it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from deviate.replicate.snapshot.manifest import Snapshot
from deviate.replicate.snapshot.surroundings import levels_above
from deviate.replicate.workspace.folders import RunFolder

#: In a run's folder: instrumented text of files outside the project.
OUTSIDE = "outside"


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


def make_copy(snapshot: Snapshot, source: Path, run: RunFolder, overlay: Mapping[str, bytes]) -> Path:
    """Make the run's copy of the project.

    `source` is the snapshot's folder. The run's work folder does not exist yet. `overlay` are instrumented files by
    their path relative to the project: they take the place of the project's own.
    """
    copy = overlay_path(run, snapshot)
    copy.parent.mkdir(parents=True)
    shutil.copytree(source, copy, symlinks=True)
    write_over(copy, overlay)
    _surround(snapshot, run)
    return copy


def write_over(copy: Path, overlay: Mapping[str, bytes]) -> None:
    """Have files of the run's copy of the project hold the texts of `overlay`, by their path relative to it."""
    for name, text in overlay.items():
        _replace(copy, name, text)


def write_outside(run: RunFolder, overlay: Mapping[str, bytes]) -> dict[str, str]:
    """Write the instrumented text of files outside the project into the run's folder; return it by their real paths."""
    copies = {}
    for number, name in enumerate(name for name in overlay if os.path.isabs(name)):
        path = run.path / OUTSIDE / f"{number}-{Path(name).name}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(overlay[name])
        copies[os.path.realpath(name)] = str(path)
    return copies


def _replace(copy: Path, name: str, text: bytes) -> None:
    """Write one instrumented file, never through a link into the project."""
    path = copy / name
    for folder in reversed(path.relative_to(copy).parents[:-1]):
        _unfold(copy / folder)
    before = path.stat() if path.exists() else None
    path.unlink(missing_ok=True)
    path.write_bytes(text)
    if before is not None:
        path.chmod(before.st_mode)
        # Python takes compiled code for current by whole seconds and size of the source.
        written = max(int(path.stat().st_mtime), int(before.st_mtime) + 1)
        os.utime(path, (written, written))


def _unfold(folder: Path) -> None:
    """Make a folder of its own from a linked one; what is in it stays linked."""
    if not folder.is_symlink():
        folder.mkdir(exist_ok=True)
        return
    target = Path(os.path.realpath(folder))
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
        elif Path(outside.target).is_dir():
            path.mkdir()


def shared_paths(snapshot: Snapshot) -> list[str]:
    """Return the files and folders that the copy of a run leads to by links: data, and what is beside the project.

    Both the paths that links name and those they end at.
    """
    linked = [item.target for item in snapshot.items if item.kind in ("link", "symlink")]
    linked += [outside.target for outside in snapshot.outside if outside.linked]
    named = [path for path in linked if os.path.isabs(path) and os.path.exists(path)]
    return sorted({*named, *map(os.path.realpath, named)})


def redirected_exceptions(snapshot: Snapshot, overlay: Mapping[str, bytes]) -> list[str]:
    """Return the folders of the project whose imports must not be redirected into the copy.

    These are virtual environments, and linked folders without an instrumented file: there the copy is the original.
    """
    linked = [item for item in snapshot.linked if not any(name.startswith(f"{item.path}/") for name in overlay)]
    project = Path(snapshot.project)
    return [str(project / item.path) for item in (*snapshot.environments, *linked) if (project / item.path).is_dir()]
