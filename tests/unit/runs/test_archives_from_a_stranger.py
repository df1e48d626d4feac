"""An archive that somebody else made writes nothing outside of the workspace, and is refused where it is odd."""

import gzip
import os
import runpy
import tarfile
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from compared_sides import write_experiment

from deviate.core.errors import BadInput, WorkspaceUnusable
from deviate.runs import unpacking as members
from deviate.runs.housekeeping import export_experiments, import_archive, is_archive
from deviate.store.folders import Workspace

TARS = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "faults" / "tars.py"))
item, write = TARS["item"], TARS["write"]

LINK, HARD = tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.fixture
def place(tmp_path):
    """A project to import into, what lies beside it, and the members of a good archive."""
    (tmp_path / "made").mkdir()
    folder = write_experiment(tmp_path / "made", "a", {"test acc": [90.0, 91.0]})
    (folder.snapshot / "deep").mkdir(parents=True)
    (folder.snapshot / "deep" / "train.py").write_text("pass\n")
    export_experiments([folder], tmp_path / "good.tar.gz")
    (tmp_path / "outside" / "run").mkdir(parents=True)
    (tmp_path / "outside" / "notes.txt").write_text("mine\n")
    (tmp_path / "project" / "data").mkdir(parents=True)
    (tmp_path / "project" / "data" / "set.txt").write_text("1\n")
    return tmp_path


def take(place, items):
    (place / "bad.tar.gz").write_bytes(gzip.compress(write(items), 1))
    notes = []
    return import_archive(place / "bad.tar.gz", Workspace(place / "project"), "y", notes)[0], notes


def good(place):
    return TARS["read"](place / "good.tar.gz")


def run_of(place):
    return next(each.info.name for each in good(place) if each.info.name.count("/") == 2 and "/runs/" in each.info.name)


def state(place):
    files = [
        path for path in place.rglob("*") if ".deviate" not in path.relative_to(place).parts and path.suffix != ".gz"
    ]
    return {path: path.read_bytes() if path.is_file() else None for path in files}


def test_a_good_archive_is_taken_and_its_links_stay_within_the_project(place):
    links = [
        item("experiment/snapshot/same", kind=LINK, to="deep/train.py"),
        item("experiment/snapshot/deep/up", kind=LINK, to="../same"),
        # Data of the project that the archive was made in, and what is not here.
        item("experiment/snapshot/data", kind=LINK, to="/home/somebody/project/data"),
        item("experiment/snapshot/gone", kind=LINK, to="/home/somebody/project/gone"),
        item("experiment/snapshot/deep/out", kind=LINK, to="../../outside"),
        item("experiment/snapshot/deep/about", kind=LINK, to="same/../../../../../outside"),
    ]
    folder, notes = take(place, [*good(place), *links])
    assert os.readlink(folder.snapshot / "same") == "deep/train.py"
    assert (folder.snapshot / "deep" / "up").read_text() == "pass\n"
    assert os.readlink(folder.snapshot / "data") == str(place / "project" / "data")
    assert sorted(path.name for path in folder.snapshot.rglob("*") if path.is_symlink()) == ["data", "same", "up"]
    assert all(name in notes[0] for name in ("gone", "deep/out", "deep/about"))


@pytest.mark.parametrize(
    "make",
    [
        lambda run: [item("experiment/a", kind=HARD, to="../../../outside/notes.txt"), item("experiment/a", b"x")],
        lambda run: [item("experiment/a", kind=HARD, to="experiment/experiment.json")],
        lambda run: [item("experiment/snapshot/a", kind=LINK, to="deep"), item("experiment/snapshot/a", b"x")],
        lambda run: [item("experiment/snapshot/a", kind=LINK, to="deep"), item("experiment/snapshot/a/b", b"x")],
        lambda run: [item("experiment/snapshot/a/b", b"x"), item("experiment/snapshot/a", kind=LINK, to="deep")],
        lambda run: [item(f"{run}-x", kind=LINK, to="../../../outside/run")],
        lambda run: [item("experiment/runs/x-0/work", kind=LINK, to="../../../../outside")],
        lambda run: [item(f"{run}/steps", kind=LINK, to="..")],
        lambda run: [item("experiment/snapshot/fifo", kind=tarfile.FIFOTYPE)],
        lambda run: [item("experiment/snapshot/sparse", b"x", **{"GNU.sparse.major": "1"})],
        lambda run: [item("experiment/snapshot/x", b"x", path="experiment/snapshot/../../../../outside/notes.txt")],
        lambda run: [item("experiment/snapshot/x", b"x", path="/tmp/x")],
        lambda run: [item("experiment/snapshot/x", b"x", path="experiment/a\0b")],
        lambda run: [item("experiment/snapshot/" + "a/" * 200 + "a", b"x")],
        lambda run: [item("elsewhere/x", b"x")],
        lambda run: [item("deviate-archive.json", b"{}")],
    ],
)
def test_what_no_experiment_has_is_refused_and_nothing_is_left(place, make):
    before = state(place)
    with pytest.raises(BadInput, match="cannot be read as an exported experiment"):
        take(place, [*good(place), *make(run_of(place))])
    assert state(place) == before
    assert not (place / "project" / ".deviate").exists()


def test_variants_by_the_seeded_generator_change_nothing_outside(place):
    items, before = good(place), state(place)
    for number in range(3, 50):
        data = TARS["variant"](items, number, place / "outside")[1]
        (place / "bad.tar.gz").write_bytes(data)
        is_archive(place / "bad.tar.gz")
        try:
            import_archive(place / "bad.tar.gz", Workspace(place / "project"), f"y{number}")
        except BadInput:
            assert f"y{number}" not in Workspace(place / "project").names()
    assert state(place) == before


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
@pytest.mark.parametrize("name", ["deviate-archive.json", "experiment/snapshot/zeros"])
def test_a_few_bytes_that_unpack_to_many_are_not_read(place, kind, name, monkeypatch):
    monkeypatch.setattr(members, "ALWAYS_ALLOWED", 1 << 22)
    zeros = tarfile.TarInfo(name)
    zeros.size, zeros.type = 1 << 25, kind
    first = write(good(place)[:1])[: -2 * tarfile.BLOCKSIZE] if name.startswith("experiment") else b""
    with gzip.open(place / "bad.tar.gz", "wb", 9) as file:
        file.write(first + zeros.tobuf())
        for _ in range(1 << 5):
            file.write(bytes(1 << 20))
    tracemalloc.start()
    is_archive(place / "bad.tar.gz")
    with pytest.raises(BadInput):
        import_archive(place / "bad.tar.gz", Workspace(place / "project"), "y")
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_the_number_of_members_is_limited(place, monkeypatch):
    monkeypatch.setattr(members, "MOST_MEMBERS", 50)
    with pytest.raises(BadInput, match="more than 50 files"):
        take(place, [*good(place), *(item(f"experiment/snapshot/{number}") for number in range(60))])


def test_what_export_writes_are_files_folders_and_links(place):
    folder = Workspace(place / "made").experiment("a")
    os.link(folder.snapshot / "deep" / "train.py", folder.snapshot / "other.py")
    (folder.snapshot / "data").symlink_to(place / "outside")
    (folder.submissions / "x").mkdir(parents=True)
    export_experiments([folder], place / "again.tar.gz")
    kinds = {each.info.name: each.info.type for each in TARS["read"](place / "again.tar.gz")}
    assert set(kinds.values()) == {tarfile.REGTYPE, tarfile.DIRTYPE, LINK}
    assert not [name for name in kinds if "submissions" in name]
    assert "experiment/snapshot/other.py" in kinds


@pytest.mark.parametrize("where", ["", "runs", "runs/{run}", "runs/{run}/outcome.json", "runs/{run}/steps", "steps"])
def test_a_link_where_deviate_has_its_own_files_is_followed_by_nobody(place, where):
    workspace = Workspace(place / "made")
    folder = workspace.experiment("a")
    path = folder.path / where.format(run=folder.runs()[0].path.name)
    if path.exists():
        path.rename(place / "outside" / "moved")
    path.symlink_to(place / "outside" / "moved")
    for find in (workspace.experiment, workspace.find_experiment):
        with pytest.raises(WorkspaceUnusable, match="is a link"):
            find("a")


def test_links_of_copies_are_no_matter(place):
    workspace = Workspace(place / "made")
    folder = workspace.experiment("a")
    for copy in (folder.snapshot, folder.runs()[0].work / "project"):
        copy.mkdir(parents=True, exist_ok=True)
        (copy / "data").symlink_to(place / "outside")
    assert workspace.find_experiment("a").path == folder.path


@pytest.mark.parametrize("far", ["../../../x", "/etc", "a/b", "..", ""])
def test_names_in_files_lead_nowhere_else(place, far):
    folder = Workspace(place / "made").experiment("a")
    experiment = folder.read_experiment()
    folder.write_experiment(msgspec.structs.replace(experiment, planned={far: 1}))
    with pytest.raises(WorkspaceUnusable, match="no name of a file or folder"):
        folder.read_experiment()
    run = folder.runs()[0]
    text = run.outcome_file.read_bytes()
    named = msgspec.json.decode(text) | {"files": {f"{far}/../x": {"size": 0, "crc32": ""}}}
    del named["crc32"]
    run.outcome_file.write_bytes(msgspec.json.encode(named))
    with pytest.raises(WorkspaceUnusable, match="no name of a file or folder"):
        run.read_outcome()
