"""Make a run on a disk of its machine (``scratch``), and bring what it leaves into its folder, file by file.

The folder of the run holds its worker's lease, says that it goes on, and gets its records now and then. All else comes
when a command of it has ended: each file aside and renamed, and the outcome, which says that it is done, after all
others. A worker that is killed leaves what nobody takes for a run; the next one on its machine removes that.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from deviate.core.errors import RunElsewhere, WorkspaceUnusable
from deviate.core.experiment import Run
from deviate.runs.lease import Lease
from deviate.runs.prepare import discard, empty
from deviate.store.folders import RECORDS, ExperimentFolder, RunFolder
from deviate.store.run_files import used_size

#: Below the folder that the user names: one for each user.
_OWN = "deviate-{user}"

#: Bytes below which the disk counts as full.
LEAST = 1 << 20

#: Bytes copied at once.
_CHUNK = 1 << 20

#: Locked as long as the worker lives that made the folder.
_LOCK = "lock"

#: Seconds between two looks whether the run is still this worker's, while files are brought.
LOOK_EVERY = 1.0


@dataclass
class Scratch:
    """Where one run is made."""

    #: The user's folder on this disk.
    disk: Path
    #: Stands for the experiment: its snapshot, and the folder of the run.
    mirror: ExperimentFolder
    folder: ExperimentFolder
    lease: Lease
    _looked: float = float("-inf")

    def holds(self, folder: RunFolder) -> bool:
        """Tell whether the folder of a run, or of a step of it, is on this disk."""
        return folder.path.is_relative_to(self.mirror.path)

    def home(self, made: RunFolder) -> RunFolder:
        """Return the folder of a run, or of a step of it, whose like on this disk is `made`."""
        return RunFolder(self.folder.runs_folder / made.path.relative_to(self.mirror.runs_folder), made.run)

    def note(self, made: RunFolder) -> None:
        """Say in its folder that it goes on, and where."""
        info, home = made.read_info(), self.home(made)
        home.path.mkdir(parents=True, exist_ok=True)
        if info is not None:
            home.write_info(msgspec.structs.replace(info, scratch=str(made.path)))

    def show(self, run: Run) -> None:
        """Bring what it has recorded and printed so far; a disk that is full or away says so when it has ended."""
        made = self.mirror.run(run)
        # Names come after the records that they are of.
        recorded = [*made.record_files(), *made.path.glob("*.jsonl"), made.stdout_file, made.stderr_file]
        with suppress(OSError):
            for path in recorded:
                if path.is_file():
                    size = used_size(path) if path.name.startswith(RECORDS) else path.stat().st_size
                    _bring_end(path, self.home(made).path / path.name, size)

    def bring(self, made: RunFolder, *, work: bool) -> RunFolder:
        """Bring all that a command left, and with `work` what it saved; return the folder where that is now.

        Raises WorkspaceUnusable if it cannot be written there. Raises OSError if this disk is full. Raises RunElsewhere
        if another worker makes the run now: what is there is that one's.
        """
        home, run = self.home(made), self.mirror.run(made.run)
        if shutil.disk_usage(self.mirror.path).free < LEAST:
            # A command may end well on a full disk, and its records be missing.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        try:
            self.require_held()
            self.note(made)
            _bring(made.path, home.path, self, left=("run.json", "outcome.json", "steps", "work"))
            if work:
                _bring(run.work, self.home(run).work, self)
                _remove_others(run.work, self.home(run).work)
        except OSError as problem:
            raise WorkspaceUnusable(
                f"{made.run.folder} was made in {self.mirror.path}, and cannot be brought to {home.path}: {problem}",
                hint="free the disk, then type the same command",
            ) from problem
        return home

    def require_held(self) -> None:
        """Make sure that the run is still this worker's; one that was stopped for long has lost it."""
        if time.monotonic() - self._looked < LOOK_EVERY:
            return
        if not self.lease.is_held():
            raise RunElsewhere("the run was taken over by another worker", hint="wait until that one has ended")
        self._looked = time.monotonic()


@contextmanager
def opened(wish: str, folder: ExperimentFolder, run: Run, lease: Lease) -> Iterator[Scratch]:
    """Make room for a run below the folder that `wish` names on this machine, and remove it in the end.

    Variables such as ``$TMPDIR`` are those of this process. What killed workers left there is removed.

    Raises OSError if nothing can be written there.
    """
    named = Path(os.path.expandvars(wish))
    if not named.is_absolute() or not named.is_dir():
        raise NotADirectoryError(f"{named} is no folder of this machine")
    own = named / _OWN.format(user=os.getuid())
    own.mkdir(mode=0o700, exist_ok=True)
    _clear(own)
    aside = Path(tempfile.mkdtemp(prefix=f".{run.folder}-", dir=own))
    place = aside.with_name(aside.name.removeprefix("."))
    lock = os.open(aside / _LOCK, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # From here on others see it, and that it is locked.
        aside.rename(place)
        mirror = ExperimentFolder(place / "experiment")
        mirror.runs_folder.mkdir(parents=True)
        mirror.snapshot.symlink_to(folder.snapshot)
        empty(folder.run(run))
        yield Scratch(own, mirror, folder, lease)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def _clear(own: Path) -> None:
    """Remove the folders whose worker is gone."""
    for place in own.glob("[!.]*"):
        try:
            lock = os.open(place / _LOCK, os.O_RDONLY)
        except OSError:
            # The lock went before what a training wrote on.
            shutil.rmtree(place, ignore_errors=True)
            continue
        with os.fdopen(lock), suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place, ignore_errors=True)


def _bring(made: Path, home: Path, scratch: Scratch, left: tuple[str, ...] = ()) -> None:
    """Copy what is new or changed below a folder; `left` are names in it that stay."""
    home.mkdir(parents=True, exist_ok=True)
    for entry in os.scandir(made):
        path, target = Path(entry.path), home / entry.name
        if entry.name in left or entry.name.endswith(".tmp"):
            continue
        if entry.is_symlink():
            _bring_link(path, target, scratch)
        elif entry.is_dir():
            _bring(path, target, scratch)
        elif entry.is_file():
            _bring_file(path, target, scratch)


def _bring_file(made: Path, home: Path, scratch: Scratch) -> None:
    before, now = made.stat(), home.stat() if home.exists() else None
    if now is not None and (now.st_size, now.st_mtime_ns) == (before.st_size, before.st_mtime_ns):
        return
    aside = home.with_name(f".{home.name}.{os.getpid()}.tmp")
    shutil.copy2(made, aside)
    scratch.require_held()
    aside.replace(home)


def _bring_end(made: Path, home: Path, size: int) -> None:
    """Copy what was appended to a file since the last time, which has `size` bytes now."""
    with made.open("rb") as source, home.open("ab") as target:
        source.seek(target.tell())
        while chunk := source.read(min(_CHUNK, max(0, size - target.tell()))):
            target.write(chunk)


def _bring_link(made: Path, home: Path, scratch: Scratch) -> None:
    """Make the link anew; one into the folder of the run leads into where that is brought."""
    leads = Path(os.readlink(made))
    if leads.is_relative_to(scratch.mirror.runs_folder):
        leads = scratch.folder.runs_folder / leads.relative_to(scratch.mirror.runs_folder)
    if home.is_symlink() and Path(os.readlink(home)) == leads:
        return
    aside = home.with_name(f".{home.name}.{os.getpid()}.tmp")
    aside.unlink(missing_ok=True)
    aside.symlink_to(leads)
    aside.replace(home)


def _remove_others(made: Path, home: Path) -> None:
    """Remove what a later command of the run has removed."""
    for entry in os.scandir(home):
        path, like = Path(entry.path), made / entry.name
        if not os.path.lexists(like):
            discard(path) if entry.is_dir(follow_symlinks=False) else path.unlink()
        elif entry.is_dir(follow_symlinks=False):
            _remove_others(like, path)
