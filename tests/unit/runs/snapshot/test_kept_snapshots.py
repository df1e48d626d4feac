"""A machine copies a snapshot to its disk once, whole or not at all, and runs are made from that."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from deviate.core.errors import WorkspaceUnusable
from deviate.runs.snapshot import manifest as kept
from deviate.runs.snapshot.manifest import UNUSED, describe, kept_snapshot, read_snapshot, take
from deviate.store.folders import Workspace
from deviate.store.snapshot_rules import SnapshotRules

#: Is killed before each of its calls to the file system in turn, in forks; after each the next one is to be whole.
KILLED = """
import os, signal, sys
from pathlib import Path
from deviate.runs.snapshot.manifest import kept_snapshot
from deviate.runs.snapshot.manifest import read_snapshot
from deviate.store.folders import Workspace

project, disk = map(Path, sys.argv[1:])
place = Workspace(project).experiment("e")
snapshot, CALLS = read_snapshot(place), ("open", "os.", "shutil.", "fcntl.")

def tree(folder):
    return {str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.is_file() and
            path.read_bytes() for path in folder.rglob("*")}

def keep(last):
    calls = 0
    def hook(event, arguments):
        nonlocal calls
        calls += event.startswith(CALLS)
        if calls == last:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    with kept_snapshot(disk, snapshot, place):
        pass
    os._exit(0)

last, killed = 0, True
while killed:
    last += 1
    for path in list(disk.rglob("whole")):
        path.rename(disk / f"taken-{last}")
    pid = os.fork() or keep(last)
    killed = os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert all(tree(path) == tree(place.snapshot) for path in disk.rglob("whole"))
    with kept_snapshot(disk, snapshot, place) as whole:
        assert whole.is_relative_to(disk) and tree(whole) == tree(place.snapshot)
    assert not list(disk.rglob("partial"))
print(last)
"""


@pytest.fixture
def disk(tmp_path):
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


@pytest.fixture
def place(tmp_path):
    project = tmp_path / "project"
    (project / "empty").mkdir(parents=True)
    (project / "train.py").write_text("train")
    (project / "go.sh").write_text("go")
    (project / "linked").symlink_to("train.py")
    workspace = Workspace(project)
    workspace.prepare()
    return taken(workspace.experiment("e"))


def taken(place):
    place.path.mkdir()
    take(describe(place.project, SnapshotRules()), place)
    return place


def keep(disk, place):
    """Keep a snapshot, and return where."""
    with kept_snapshot(disk, read_snapshot(place), place) as whole:
        return whole


def test_a_snapshot_is_copied_once(disk, place, tmp_path):
    whole = keep(disk, place)
    assert whole.is_relative_to(disk)
    assert (whole / "train.py").read_text() == "train"
    assert (os.readlink(whole / "linked"), (whole / "empty").is_dir()) == ("train.py", True)
    (place.snapshot / "later").touch()
    assert keep(disk, place) == whole
    assert not (whole / "later").exists()


def test_experiments_of_one_project_share_it_and_those_of_another_mode_do_not(disk, place):
    workspace, whole = Workspace(place.project), keep(disk, place)
    assert keep(disk, taken(workspace.experiment("same"))) == whole
    (place.project / "go.sh").chmod(0o755)
    other = keep(disk, taken(workspace.experiment("other")))
    assert other != whole
    assert os.access(other / "go.sh", os.X_OK)


def test_one_that_was_damaged_is_copied_again(disk, place):
    whole = keep(disk, place)
    (whole / "train.py").write_text("trap")
    assert keep(disk, place) == whole
    assert (whole / "train.py").read_text() == "train"


def test_what_was_damaged_in_the_experiment_is_never_kept(disk, place):
    text = (place.snapshot / "train.py").stat()
    (place.snapshot / "train.py").write_text("trap!")
    os.utime(place.snapshot / "train.py", ns=(text.st_atime_ns, text.st_mtime_ns))
    with pytest.raises(WorkspaceUnusable, match=r"snapshot/train\.py was changed"):
        keep(disk, place)
    assert not [*disk.rglob("whole"), *disk.rglob("partial")]


def test_where_the_disk_is_full_the_experiment_has_it(disk, place, monkeypatch):
    def copied(source, target, **kwargs):
        target.mkdir()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copytree", copied)
    assert keep(disk, place) == place.snapshot
    assert not list(disk.rglob("partial"))


def test_one_that_is_killed_leaves_nothing_half(disk, place):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(place.project), str(disk)], capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    assert int(done.stdout) > 20


def test_several_at_a_time_copy_it_once(disk, place):
    begun = place.path / "begun"
    script = f"""
import shutil, sys, time
from pathlib import Path
from deviate.runs.snapshot.manifest import kept_snapshot
from deviate.runs.snapshot.manifest import read_snapshot
from deviate.store.folders import ExperimentFolder
copytree = shutil.copytree
def slow(source, *words, **kwargs):
    if source == place.snapshot:
        with open({str(begun)!r}, "a") as log:
            log.write("x")
        time.sleep(0.5)
    return copytree(source, *words, **kwargs)
shutil.copytree = slow
place = ExperimentFolder(Path({str(place.path)!r}))
with kept_snapshot(Path({str(disk)!r}), read_snapshot(place), place) as whole:
    print((whole / "train.py").read_text(), whole.is_relative_to({str(disk)!r}))
"""
    workers = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [worker.communicate(timeout=60)[0] for worker in workers] == ["train True\n"] * 3
    assert begun.read_text() == "x"


def test_one_that_no_run_was_made_of_for_long_goes_unless_a_run_is_made_of_it_now(disk, place):
    (place.project / "train.py").write_text("trained")
    other = taken(Workspace(place.project).experiment("other"))
    whole = keep(disk, place)
    with kept_snapshot(disk, read_snapshot(place), place):
        age(whole)
        keep(disk, other)
        assert whole.is_dir()
    keep(disk, place)
    keep(disk, other)
    assert whole.is_dir()
    age(whole)
    keep(disk, other)
    assert not whole.parent.exists()
    # What a killed worker was removing goes, too.
    (disk / kept._SNAPSHOTS / f"half{kept._REMOVED}").mkdir()
    keep(disk, other)
    assert len(list((disk / kept._SNAPSHOTS).iterdir())) == 1


def age(whole):
    """Let the time pass after which a snapshot goes that nobody uses."""
    then = time.time() - UNUSED
    os.utime(whole.parent / "lock", (then, then))
