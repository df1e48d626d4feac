"""Names of files, and files that are never half written."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.core.errors import BadOption, UnknownExperiment, UnknownRun, WorkspaceUnusable
from deviate.core.experiment import Experiment, Run
from deviate.store.files import read_json, write_json
from deviate.store.folders import MAX_NAME, Workspace
from deviate.store.run_files import Cancelled, Completed, Failed, NotInstrumented, TimedOut

EXPERIMENT = Experiment(
    name="e", command=["python"], entry="t.py", metrics=[], main_loop=None, source="", seed=1, planned={"control": 2},
    created="",
)  # fmt: skip


@pytest.fixture
def workspace(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.prepare()
    return workspace


def test_what_is_written_is_read_back(workspace):
    folder = workspace.experiment("e")
    folder.write_experiment(EXPERIMENT)
    assert folder.read_experiment() == EXPERIMENT
    assert workspace.names() == ["e"]
    assert workspace.find_experiment("e").project == workspace.project


@pytest.mark.parametrize(
    ("outcome", "done"),
    [
        (Completed(seconds=1.5, warnings=["w"]), True),
        (Failed(seconds=1.0, reason="r", exit_code=1, stderr=["x"]), True),
        (TimedOut(seconds=1.0, reason="r", signal="SIGTERM"), True),
        (NotInstrumented(seconds=1.0, reason="r"), True),
        (Cancelled(seconds=1.0, reason="r"), False),
    ],
)
def test_outcomes_keep_their_type_and_only_a_cancelled_run_is_made_again(workspace, outcome, done):
    run = workspace.experiment("e").run(Run(variant="algo+impl", index=10))
    run.path.mkdir(parents=True)
    assert run.read_outcome() is None
    assert not run.is_done
    run.write_outcome(outcome)
    assert run.read_outcome() == outcome
    assert run.is_done == done
    assert f'"{outcome.status}"' in run.outcome_file.read_text()


def test_runs_are_found_by_their_folders(workspace):
    folder = workspace.experiment("e")
    for name in ("as-is-0", "as-is-10", "control-2", ".removed-control-2-0", "note.txt"):
        (folder.runs_folder / name).mkdir(parents=True)
    assert [(run.run.variant, run.run.index) for run in folder.runs()] == [("as-is", 0), ("as-is", 10), ("control", 2)]
    assert folder.find_run("10").run.folder == folder.find_run("as-is-10").run.folder == "as-is-10"


def test_an_unknown_or_ambiguous_run_is_a_message_with_the_names(workspace):
    folder = workspace.experiment("e")
    for name in ("as-is-0", "control-0"):
        (folder.runs_folder / name).mkdir(parents=True)
    with pytest.raises(UnknownRun, match="no run '7' of e") as caught:
        folder.find_run("7")
    assert caught.value.hint == "type one of: as-is-0, control-0"
    with pytest.raises(UnknownRun, match="several runs of e are called '0'"):
        folder.find_run("0")


def test_an_unknown_experiment_is_a_message_with_the_names(workspace):
    with pytest.raises(UnknownExperiment) as caught:
        workspace.find_experiment("x")
    assert caught.value.hint == "make one, such as deviate run -n 8 -- python train.py"
    workspace.experiment("e").write_experiment(EXPERIMENT)
    with pytest.raises(UnknownExperiment) as caught:
        workspace.find_experiment("x")
    assert caught.value.hint == "type one of: e"


def test_an_experiment_is_called_as_its_folder_where_a_new_name_was_cut_short(workspace):
    folder = workspace.experiment("old")
    folder.write_experiment(EXPERIMENT)
    assert EXPERIMENT.name != "old"
    assert folder.read_experiment().name == "old"


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "-n", "x" * 300, "a\0b"])
def test_a_name_that_is_no_folders_name_is_refused(workspace, name):
    with pytest.raises(BadOption):
        workspace.experiment(name)


@given(st.text(max_size=210))
def test_a_name_is_taken_if_it_is_what_the_hint_allows(name):
    hinted = name.isprintable() and "/" not in name and len(name.encode("utf-8", "replace")) <= MAX_NAME
    allowed = bool(name) and hinted and name[0] not in ".-"
    if allowed:
        assert Workspace(Path("nowhere")).experiment(name).name == name
        return
    with pytest.raises(BadOption) as refused:
        Workspace(Path("nowhere")).experiment(name)
    assert all(each in refused.value.hint for each in ("printed", "'/'", f"{MAX_NAME} bytes", "'.'", "'-'"))


def test_a_workspace_that_cannot_be_written_is_a_message_and_nothing_is_written(tmp_path, monkeypatch):
    (tmp_path / ".deviate").write_text("")
    with pytest.raises(WorkspaceUnusable, match="not a folder"):
        Workspace(tmp_path).prepare()
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WorkspaceUnusable, match="cannot be written"):
        Workspace(project).prepare()
    assert list(project.iterdir()) == []


def test_a_file_of_a_newer_tool_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "experiment.json"
    write_json(path, {"schema": 999})
    with pytest.raises(WorkspaceUnusable, match="newer Deviate") as caught:
        read_json(path, Experiment)
    assert "git pull" in caught.value.hint


def test_a_broken_file_is_a_message(tmp_path):
    path = tmp_path / "experiment.json"
    path.write_text("{")
    with pytest.raises(WorkspaceUnusable, match="cannot be read"):
        read_json(path, Experiment)


def test_an_interrupted_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_json(path, {"schema": 1, "a": 1})
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_json(path, {"schema": 1, "a": 2}, durable=True)
    assert read_json(path, dict) == {"schema": 1, "a": 1}


def test_git_ignores_the_workspace(workspace):
    assert (workspace.path / ".gitignore").read_text().splitlines()[-1] == "*"


def test_the_nearest_workspace_upward_is_used(tmp_path):
    repository, inside = tmp_path / "repository", tmp_path / "repository/projects/adder"
    inside.mkdir(parents=True)
    (repository / ".deviate" / "experiments").mkdir(parents=True)
    assert Workspace.nearest(inside) == Workspace(repository)
    assert Workspace.nearest(tmp_path) == Workspace(tmp_path)
