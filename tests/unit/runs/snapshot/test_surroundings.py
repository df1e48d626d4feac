"""What a project reaches beyond itself, and where that lies beside a run's copy."""

import os
from pathlib import Path

import pytest

from deviate.core.experiment import Run
from deviate.runs.snapshot.manifest import describe, take
from deviate.runs.snapshot.working_copy import (
    bring_files,
    give_code,
    make_copy,
    overlay_path,
    redirected_exceptions,
    state,
    watched_paths,
    written_to,
)
from deviate.source.edits import FileCode
from deviate.store.folders import Workspace
from deviate.store.snapshot_rules import SnapshotRules


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "home" / "group" / "project"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text("")
    for beside in ("group/data", "group/results", "shared", "group/lib"):
        (tmp_path / "home" / beside).mkdir(parents=True)
    (tmp_path / "home" / "group" / "old.pt").write_bytes(b"")
    return folder


def reach(project, source="", **kwargs):
    (project / "train.py").write_text(source)
    return {outside.path: outside for outside in describe(project, **kwargs).outside}


def copied(project, **kwargs):
    workspace = Workspace(project)
    workspace.prepare()
    folder = workspace.experiment("e")
    snapshot = take(describe(project, **kwargs), folder)
    run = folder.run(Run(variant="as-is", index=0))
    return snapshot, make_copy(snapshot, folder.snapshot, run)


def test_paths_in_source_settings_and_command_are_found(project):
    (project / "conf.yaml").write_text("root: ../lib\n")
    assert set(reach(project, "open('../data/x')", words=["--out=../../shared"])) == {
        "../data", "../lib", "../../shared",
    }  # fmt: skip


def test_what_does_not_exist_or_stays_inside_is_not_reached(project):
    (project / "sub").mkdir()
    (project / "sub" / "a.py").write_text("open('../train.py')")
    assert reach(project, "open('../missing'); open('...'); from .. import x") == {}


def test_a_path_is_relative_to_the_folder_the_user_stands_in(project):
    (project / "sub").mkdir()
    assert set(reach(project, words=["../../data"], folder="sub")) == {"../data"}


def test_folders_of_results_and_checkpoints_outside_are_not_shared(project):
    found = reach(project, "open('../results/a'); load('../old.pt')")
    assert {path: outside.linked for path, outside in found.items()} == {"../old.pt": False, "../results": False}
    asked = reach(project, "open('../results/a')", rules=SnapshotRules(include=("../results",)))
    assert asked["../results"].linked


def test_a_module_that_another_module_beside_the_project_leads_to_is_reached(project):
    (project.parent / "deep").mkdir()
    group = project.parent
    modules = [group / "lib" / "model.py", group / "deep" / "layers.py", group.parent / "far.py"]
    for module in modules:
        module.write_text("")
    sources = ["train.py", *map(str, modules)]
    assert set(reach(project, "sys.path.append('../lib')", sources=sources)) == {"../lib", "../deep"}
    assert reach(project, "import far, layers, model", sources=sources) == {}


def test_the_folder_above_named_alone_brings_what_lies_beside(project):
    found = reach(project, "sys.path.append('..')")
    assert {"../data", "../lib"} <= set(found)
    assert not found["../lib"].named


@pytest.mark.parametrize("kept", ["docs/source/conf.py", "tests/conftest.py"])
def test_a_search_path_in_a_file_that_no_training_imports_brings_nothing(project, kept):
    file = project / kept
    file.parent.mkdir(parents=True)
    file.write_text("import os, sys\nsys.path.insert(0, os.path.abspath('../..'))\n")
    (project / "conf.yaml").write_text("root: ../lib\n")
    (project / "tool.py").write_text("open('../data/x')")
    source = "conf = load('conf.yaml'); import tool"
    assert set(reach(project, source, words=["train.py"], sources=["train.py", "tool.py"])) == {"../lib", "../data"}
    assert {"../data", "../lib"} <= set(reach(project, source, words=["train.py"], sources=["train.py", kept]))


@pytest.mark.parametrize(
    "expression",
    [
        "Path(__file__).absolute().parents[1]",
        "pathlib.Path(__file__).parent.parent",
        "dirname(os.path.dirname(__file__))",
    ],
)
def test_a_folder_above_that_is_reached_from_the_file_brings_its_members(project, expression):
    assert {"../data", "../lib"} <= set(reach(project, f"open({expression} / 'data' / 'x')"))
    assert reach(project, "open(Path(__file__).parents[0] / 'x')\nPath(__file__).parent") == {}


@pytest.mark.parametrize(
    "source",
    [
        "open(os.path.join('..', 'data', 'x'))",
        "open(os.path.join(os.pardir, 'data', 'x'))",
        "open(Path.cwd().parent / 'data' / 'x')",
        "open(join(dirname(os.getcwd()), 'data'))",
        "here = dirname(os.path.abspath(__file__))\nroot = os.path.dirname(here)\nopen(os.path.join(root, 'data'))",
        "def load():\n    above = Path('.').resolve().parent\n    return open(above / 'data' / 'x')",
    ],
)
def test_a_path_that_is_computed_is_followed(project, source):
    assert "../data" in reach(project, source)


def test_what_is_computed_of_other_texts_is_not_followed(project, tmp_path):
    data = tmp_path / "home" / "group" / "data"
    source = f"open(os.path.join({str(data)!r}, 'x')); open(__file__ + '.log'); open(os.path.join(os.getcwd(), 'data'))"
    assert reach(project, source) == {}
    assert reach(project, "open(os.path.join('..', 'data')\n") != {}


def test_each_folder_up_to_one_that_is_named_brings_its_other_members(project, tmp_path):
    (project.parent / "beside").mkdir()
    (project.parent / "beside" / "load.py").write_text("x = 1")
    (project / "train.py").write_text("sys.path.append('../../')")
    snapshot, copy = copied(project)
    assert {"../../shared", "../beside"} <= {each.path for each in snapshot.outside}
    assert (copy / "../../shared").is_dir()
    assert (copy / "../beside/load.py").read_text() == "x = 1"
    assert os.listdir(copy.parent / "project") == os.listdir(copy)


def test_a_folder_that_is_named_is_above_the_copy_though_nothing_else_lies_in_it(project, tmp_path):
    (tmp_path / "home" / "shared").rmdir()
    (project.parent / "beside.py").write_text("x = 1")
    (project / "train.py").write_text("sys.path.append('../../'); import group.project.model")
    _, copy = copied(project)
    assert (copy / "../../group/project").resolve() == copy.resolve()
    assert (copy / "../../group/beside.py").read_text() == "x = 1"


def test_a_copy_has_the_same_surroundings(project, tmp_path):
    (tmp_path / "home" / "group" / "data" / "x").write_text("7")
    (project / "train.py").write_text("open('../data/x'); save('../results/y')")
    _, copy = copied(project)
    assert (copy.parent.name, copy.name) == ("work", "project")
    assert (copy / ".." / "data" / "x").read_text() == "7"
    assert list((copy.parent / "results").iterdir()) == []
    assert not (copy.parent / "results").is_symlink()


def test_a_deeper_reach_stays_within_the_work_folder(project, tmp_path):
    (tmp_path / "home" / "shared" / "x").write_text("8")
    (project / "train.py").write_text("open('../../shared/x'); open('../data')")
    snapshot, copy = copied(project)
    assert copy.relative_to(copy.parents[1]).parts == ("group", "project")
    assert copy.parents[1].name == "work"
    assert (copy.parents[1] / "shared" / "x").read_text() == "8"
    assert (copy.parent / "data").is_symlink()
    assert snapshot.project == str(project)


def test_files_of_an_evaluation_come_into_the_copy_and_code_lies_beside_it(project):
    _, copy = copied(project)
    codes = {"train.py": FileCode(source=b"", given=b"wrapped"), "new/file.py": FileCode(source=b"x")}
    bring_files(copy, codes)
    assert (copy / "train.py").read_bytes() == b""
    assert (copy / "new" / "file.py").read_bytes() == b"x"
    run = Workspace(project).experiment("e").run(Run(variant="as-is", index=0))
    (given,) = give_code(run, copy, codes).items()
    assert given[0] == "train.py"
    assert Path(given[1].text).read_bytes() == b"wrapped"
    assert given[1].written == (copy / "train.py").stat().st_mtime_ns


def test_a_file_is_never_written_through_a_link(project, tmp_path):
    package = tmp_path / "home" / "package"
    package.mkdir()
    (package / "net.py").write_text("original")
    (package / "other.py").write_text("other")
    (project / "package").symlink_to(package)
    _, copy = copied(project)
    bring_files(copy, {"package/net.py": FileCode(source=b"original", given=b"wrapped")})
    assert (copy / "package").is_symlink()
    bring_files(copy, {"package/net.py": FileCode(source=b"evaluated")})
    assert (copy / "package" / "net.py").read_bytes() == b"evaluated"
    assert (copy / "package" / "other.py").read_text() == "other"
    assert (package / "net.py").read_text() == "original"


def test_environments_and_linked_folders_are_not_redirected(project):
    (project / ".venv").mkdir()
    (project / ".venv" / "pyvenv.cfg").write_text("")
    (project / "code").mkdir()
    rules = SnapshotRules(link=("code",))
    snapshot = describe(project, rules)
    assert redirected_exceptions(snapshot, {}) == [str(project / ".venv"), str(project / "code")]
    assert redirected_exceptions(snapshot, {"code/a.py": FileCode(source=b"")}) == [str(project / ".venv")]


def test_a_changed_link_is_reported(project, tmp_path):
    data = tmp_path / "home" / "group" / "data"
    (project / "train.py").write_text("open('../data/x')")
    snapshot = describe(project)
    paths = watched_paths(snapshot)
    before = state(paths)
    assert written_to(before, state(paths)) == []
    (data / "new").write_text("")
    os.utime(data, (1, 1))
    assert written_to(before, state(paths)) == [
        f"{data} is shared with the project by a link and changed during this run"
    ]


def test_overlay_path_needs_no_file(project):
    run = Workspace(project).experiment("e").run(Run(variant="control", index=2))
    assert overlay_path(run, describe(project)) == run.path / "work" / "project"


def test_a_file_with_the_projects_absolute_path_is_known(project):
    (project / "conf.yaml").write_text(f"out: {project}/out\n")
    (project / "other.yaml").write_text(f"out: {project}2/out\nmore: /mnt{project}\n")
    assert describe(project).pinned == ["conf.yaml"]
