"""``prune``, ``rm``, ``mv``, ``export``, ``import`` lose nothing that was not meant, also where they are killed."""

import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import time

import msgspec
import pytest
from cli_tool import TRAIN, deviate, tree

from deviate.facts.live import LiveReader
from deviate.report.topics.live import live_sentences
from deviate.runs.lease import acquire
from deviate.store.files import write_json
from deviate.store.folders import Workspace
from deviate.store.locks import locked
from deviate.store.looks import ComparedSide, read_looks

#: Set DEVIATE_REPEATS to look for rare moments of a kill.
REPEATS = int(os.environ.get("DEVIATE_REPEATS", "2"))

SAVING = TRAIN + '\nopen("model.txt", "w").write("x" * 100_000)\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two experiments that link a folder of data."""
    project = tmp_path_factory.mktemp("made")
    (project / "train.py").write_text(SAVING)
    (project / "data").mkdir()
    (project / "data" / "set.txt").write_text("precious")
    before = os.getcwd()
    os.chdir(project)
    try:
        for name, epochs in (("one", 3), ("two", 4)):
            words = ("--set", "link=data/**", "--name", name, "--", sys.executable, "train.py", epochs)
            assert deviate("run", "-n", "5", "--vary", "algo", *words).status == 0
    finally:
        os.chdir(before)
    return project


@pytest.fixture
def project(made, tmp_path, monkeypatch):
    place = tmp_path / "project"
    shutil.copytree(made, place, symlinks=True)
    monkeypatch.chdir(place)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return place


def experiment(project, name):
    return project / ".deviate" / "experiments" / name


def report(name):
    done = deviate("report", name, "--format", "json")
    assert done.status == 0, done.err
    document = done.json
    return document["variants"][0]["metrics"], document["variants"][0]["runs"]


def test_removing_takes_one_experiment_and_nothing_else(project):
    other = tree(experiment(project, "two"))
    assert deviate("rm", "one", "--yes").out == "removed one\n"
    assert Workspace(project).names() == ["two"]
    assert tree(experiment(project, "two")) == other
    assert (project / "data" / "set.txt").read_text() == "precious"
    assert sorted(path.name for path in (project / ".deviate" / "experiments").iterdir()) == ["two"]


def test_nothing_is_removed_without_a_yes(project):
    before = tree(project)
    for words in (("rm", "one"), ("prune",)):
        done = deviate(*words)
        assert done.status == 2
        assert "add --yes" in done.err
    assert tree(project) == before


def test_an_experiment_that_is_not_there_removes_no_other(project):
    done = deviate("rm", "one", "three", "--yes")
    assert done.status == 2
    assert "no experiment three" in done.err
    assert Workspace(project).names() == ["one", "two"]


def test_an_experiment_in_use_is_left_alone(project):
    with locked(Workspace(project).experiment("one"), ["deviate", "run"]):
        for words in (("rm", "one", "--yes"), ("mv", "one", "new"), ("prune", "one", "--yes"), ("export", "one")):
            done = deviate(*words)
            assert done.status == 2
            assert "another deviate works on experiment 'one'" in done.err
    assert Workspace(project).names() == ["one", "two"]


def test_pruning_keeps_every_number(project):
    before = report("one")
    done = deviate("prune", "one", "--yes")
    assert re.fullmatch(r"freed [1-9]\S* kB\n", done.out)
    assert not list(experiment(project, "one").glob("runs/*/work"))
    assert list(experiment(project, "two").glob("runs/*/work/**/model.txt"))
    assert report("one") == before
    assert (project / "data" / "set.txt").read_text() == "precious"
    assert deviate("prune", "one", "--yes").out.startswith("nothing to delete")


def test_prune_of_all_leaves_out_what_cannot_be_read(project):
    outcome = experiment(project, "one") / "runs" / "algo-0" / "outcome.json"
    outcome.write_bytes(outcome.read_bytes()[:20])
    done = deviate("prune", "--yes")
    assert done.status == 0, done.err
    assert done.out.startswith("freed")
    assert "one is left as it is" in done.err
    assert "outcome.json" in done.err
    assert (experiment(project, "one") / "runs" / "algo-1" / "work").is_dir()
    assert not (experiment(project, "two") / "runs" / "algo-1" / "work").exists()
    assert deviate("prune", "one", "--yes").status == 2


def test_a_renamed_experiment_goes_on_and_its_looks_count(project):
    assert deviate("compare", "one", "two").status == 0
    before = report("one")
    assert deviate("mv", "one", "first").status == 0
    workspace = Workspace(project)
    assert workspace.names() == ["first", "two"]
    assert report("first") == before
    sides = (
        ComparedSide(name, "algo", workspace.experiment(name).read_experiment().created) for name in workspace.names()
    )
    assert len(read_looks(workspace, *sides).looks) == 1
    words = ("--set", "link=data/**", "--name", "first", "--", sys.executable, "train.py", "3")
    assert deviate("run", "-n", "6", "--vary", "algo", *words).status == 0
    assert len(report("first")[1]) == 6


@pytest.mark.parametrize(("new", "said"), [("two", "named 'two' already"), ("a/b", "cannot name")])
def test_a_name_that_is_taken_or_is_none_is_refused(project, new, said):
    done = deviate("mv", "one", new)
    assert done.status == 2
    assert said in done.err
    assert Workspace(project).names() == ["one", "two"]


def test_an_exported_experiment_is_the_same_elsewhere(project, tmp_path, monkeypatch):
    before = report("one")
    assert deviate("export", "one", "--with-work", "-o", tmp_path / "one.tar.gz").status == 0
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(project, elsewhere, ignore=shutil.ignore_patterns(".deviate"))
    monkeypatch.chdir(elsewhere)
    done = deviate("import", tmp_path / "one.tar.gz", "--json")
    assert done.json["experiments"][0]["name"] == "one"
    assert report("one") == before
    words = ("--set", "link=data/**", "--name", "one", "--", sys.executable, "train.py", "3")
    assert deviate("run", "-n", "6", "--vary", "algo", *words).status == 0
    assert len(report("one")[1]) == 6
    assert deviate("import", tmp_path / "one.tar.gz").status == 2
    assert deviate("import", tmp_path / "one.tar.gz", "--name", "again").status == 0
    assert report("again") == before


def test_working_folders_are_exported_only_where_asked(project, tmp_path):
    for words, there in (((), False), (("--with-work",), True)):
        deviate("export", "one", *words, "-o", "one.tar.gz")
        with tarfile.open("one.tar.gz") as archive:
            assert any("/work/" in name for name in archive.getnames()) == there


def test_a_damaged_archive_leaves_nothing(project):
    deviate("export", "one", "-o", "one.tar.gz")
    data = (project / "one.tar.gz").read_bytes()
    (project / "half.tar.gz").write_bytes(data[: len(data) // 2])
    before = tree(project / ".deviate" / "experiments")
    done = deviate("import", "half.tar.gz", "--name", "half")
    assert done.status == 2
    assert "export it again" in done.err
    assert tree(project / ".deviate" / "experiments") == before


def test_an_archive_that_leads_elsewhere_writes_nothing_there(project, tmp_path):
    deviate("export", "one", "-o", "one.tar.gz")
    with tarfile.open("one.tar.gz") as archive:
        members = [(member, archive.extractfile(member)) for member in archive if member.isreg()]
        with tarfile.open("evil.tar.gz", "w:gz") as evil:
            for member, content in members:
                evil.addfile(member, content)
            member, content = members[1]
            content.seek(0)
            member.name = "experiment/../../../../stolen.txt"
            evil.addfile(member, content)
    done = deviate("import", "evil.tar.gz", "--name", "evil")
    assert done.status == 2
    assert not list(tmp_path.rglob("stolen.txt"))
    assert Workspace(project).names() == ["one", "two"]


@pytest.fixture
def grid(project):
    """Two cells of a grid, and nothing else that begins like them but one experiment."""
    shutil.copytree(experiment(project, "one"), experiment(project, "grid-2"), symlinks=True)
    for name, cell in (("one", "grid@lr=0.1"), ("two", "grid@lr=1,w=8")):
        experiment(project, name).rename(experiment(project, cell))
    return ["grid@lr=0.1", "grid@lr=1,w=8"]


@pytest.mark.parametrize(
    ("word", "gone"), [("grid", [0, 1]), ("grid@*", [0, 1]), ("grid@lr=1,*", [1]), ("grid@lr=0.1", [0])]
)
def test_cells_of_a_grid_are_removed_and_nothing_else(project, grid, word, gone):
    other = tree(experiment(project, "grid-2"))
    removed = [grid[index] for index in gone]
    asked = deviate("rm", word)
    assert (asked.status, Workspace(project).names()) == (2, ["grid-2", *grid])
    assert [line.partition(":")[0] for line in asked.err.splitlines()[: len(gone)]] == removed
    assert deviate("rm", word, "--yes").out == "".join(f"removed {cell}\n" for cell in removed)
    assert Workspace(project).names() == ["grid-2", *(cell for cell in grid if cell not in removed)]
    assert tree(experiment(project, "grid-2")) == other


def test_where_a_cell_is_in_use_no_cell_is_touched(project, grid):
    with locked(Workspace(project).experiment(grid[1]), ["deviate", "run"]):
        for words in (("rm", "grid", "--yes"), ("mv", "grid", "new"), ("export", "grid")):
            done = deviate(*words)
            assert done.status == 2
            assert f"another deviate works on experiment '{grid[1]}'" in done.err
    assert Workspace(project).names() == ["grid-2", *grid]
    assert not list(project.glob("*.tar.gz"))


@pytest.mark.parametrize("word", ["*", "gri", "grid@lr=7*", "@*"])
def test_a_pattern_without_a_cell_means_nothing(project, grid, word):
    done = deviate("rm", word, "--yes")
    assert (done.status, "no experiment " in done.err, word in done.err) == (2, True, True)
    assert Workspace(project).names() == ["grid-2", *grid]


def test_pruning_a_grid_leaves_others_their_folders(project, grid):
    assert deviate("prune", "grid", "--yes").out.startswith("freed ")
    assert not any(list(experiment(project, cell).glob("runs/*/work")) for cell in grid)
    assert list(experiment(project, "grid-2").glob("runs/*/work"))


def test_a_renamed_grid_goes_on_where_it_was_killed(project, grid):
    before = [report(cell) for cell in grid]
    # So it is left by a kill between two cells.
    assert deviate("mv", grid[0], "new@lr=0.1").status == 0
    table = '[[experiment]]\nname = "grid"\ncommand = "python train.py {lr}"\n[experiment.grid]\nlr = [0.1, 1]\n'
    (project / "deviate.toml").write_text(table)
    said = deviate("mv", "grid@*", "new@*").out.splitlines()
    assert said[0] == f"{grid[1]} is now new@lr=1,w=8"
    assert said[1].startswith("deviate.toml lists grid: rename it there, too")
    assert Workspace(project).names() == ["grid-2", "new@lr=0.1", "new@lr=1,w=8"]
    assert [report("new@lr=0.1"), report("new@lr=1,w=8")] == before


@pytest.mark.parametrize("new", ["grid-2", "other@lr=1", "taken"])
def test_a_grid_whose_new_name_is_taken_or_is_none_stays(project, grid, new):
    shutil.copytree(experiment(project, grid[1]), experiment(project, "taken@lr=1,w=8"), symlinks=True)
    done = deviate("mv", "grid", new)
    assert done.status == 2
    assert ("already" in done.err, "without '@'" in done.err) == (new != "other@lr=1", new == "other@lr=1")
    assert Workspace(project).names() == ["grid-2", *grid, "taken@lr=1,w=8"]


def test_an_exported_grid_is_the_same_elsewhere_and_goes_on_where_it_was_killed(project, grid):
    before = {cell: report(cell) for cell in grid}
    done = deviate("export", "grid@*")
    assert "2 cells of grid written to grid.tar.gz" in done.out
    assert deviate("import", "grid.tar.gz", "--name", "copy").status == 0
    assert report("copy@lr=0.1") == before[grid[0]]
    # So it is left by a kill between two cells.
    assert deviate("rm", grid[1], "--yes").status == 0
    first = tree(experiment(project, grid[0]))
    done = deviate("import", "grid.tar.gz", "--json")
    assert [each["name"] for each in done.json["experiments"]] == grid
    assert {cell: report(cell) for cell in grid} == before
    assert tree(experiment(project, grid[0])) == first


def test_a_grid_is_not_taken_in_over_another_one(project, grid):
    assert deviate("export", "grid").status == 0
    assert deviate("rm", "grid", "--yes").status == 0
    file = experiment(project, "grid-2") / "experiment.json"
    document = msgspec.json.decode(file.read_bytes())
    file.write_bytes(msgspec.json.encode({**document, "created": "2000-01-01T00:00:00+00:00"}))
    experiment(project, "grid-2").rename(experiment(project, grid[1]))
    done = deviate("import", "grid.tar.gz")
    assert (done.status, f"an experiment is named '{grid[1]}' already" in done.err) == (2, True)
    assert Workspace(project).names() == [grid[1]]


def killed(*words):
    """Start a command, kill it at a random moment, and return whether it had ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "deviate", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(random.uniform(0.1, 1.2))
    process.kill()
    process.communicate()
    return process.returncode == 0


@pytest.mark.parametrize("repeat", range(REPEATS))
def test_a_kill_at_any_moment_loses_nothing_and_the_same_command_goes_on(project, repeat):
    random.seed(repeat)
    numbers, other = report("one"), tree(experiment(project, "two"))
    if not killed("export", "one", "-o", "one.tar.gz"):
        assert deviate("export", "one", "-o", "one.tar.gz").status == 0
    if not killed("import", "one.tar.gz", "--name", "copy"):
        assert "copy" in Workspace(project).names() or deviate("import", "one.tar.gz", "--name", "copy").status == 0
    assert report("copy") == numbers
    killed("mv", "copy", "moved")
    if "moved" not in Workspace(project).names():
        assert deviate("mv", "copy", "moved").status == 0
    assert report("moved") == numbers
    killed("prune", "moved", "--yes")
    assert report("moved") == numbers
    killed("rm", "moved", "--yes")
    if "moved" in Workspace(project).names():
        assert report("moved") == numbers
        assert deviate("rm", "moved", "--yes").status == 0
    # What is left of a kill goes with the next command of that kind.
    assert deviate("rm", "one", "--yes").status == 0
    left = {path.name for path in (project / ".deviate" / "experiments").iterdir()}
    assert {name for name in left if not name.startswith(".unpacking-")} == {"two"}
    assert tree(experiment(project, "two")) == other


def test_what_a_worker_on_another_machine_makes_is_left_alone(project):
    runs = Workspace(project).experiment("one").runs()
    work = [run.work for run in runs]
    lease = acquire(runs[0])
    write_json(lease.path, msgspec.structs.replace(lease.holder, host="node7", system="another kernel"))
    for words in (("rm", "one", "--yes"), ("mv", "one", "three"), ("prune", "one", "--yes"), ("export", "one")):
        done = deviate(*words)
        assert done.status == 2
        assert "algo-0 is being made by" in done.err
        assert "deviate show one says how each run stands" in done.err
    assert "one is left as it is: algo-0 is being made by" in deviate("prune", "--yes").err
    assert all(path.exists() for path in work)
    assert not (project / "one.tar.gz").exists()
    # What has ended, and whose worker lives, is being evaluated.
    assert "run 0: evaluating" in deviate("show", "one").out
    assert deviate("list", "--json").json["experiments"][0]["evaluating"] == 1
    assert "1 evaluating" in live_sentences(LiveReader(Workspace(project).experiment("one")).read())[0]
    lease.release()
    assert deviate("prune", "one", "--yes").status == 0
    assert not any(path.exists() for path in work)
    assert deviate("rm", "one", "--yes").status == 0
    assert not experiment(project, "one").exists()
