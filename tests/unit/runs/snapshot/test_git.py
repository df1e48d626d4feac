"""What a run notes of the commit of its project."""

import shutil
import subprocess

import pytest

from deviate.runs.snapshot.survey import describe_commit, lead_to_repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(project, *words):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(project), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def project(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "model.py").write_text("a = 1\n")
    (tmp_path / ".gitignore").write_text("runs/\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "x")
    return tmp_path


def test_a_commit_alone_is_one_without_changes(project):
    (project / "runs").mkdir()
    (project / "runs" / "log.txt").write_text("ignored\n")
    assert describe_commit(project) == git(project, "rev-parse", "HEAD")


def test_files_that_are_in_no_commit_are_told_beside_those_that_changed(project):
    commit = git(project, "rev-parse", "HEAD")
    (project / "train.py").write_text("import model\n")
    (project / "notes").mkdir()
    (project / "notes" / "a.txt").write_text("a\n")
    assert describe_commit(project) == f"{commit} + 2 untracked"
    (project / "model.py").write_text("a = 2\n")
    assert describe_commit(project) == f"{commit} + 1 changed file + 2 untracked"


def test_changes_that_git_cannot_tell_are_not_known(project, monkeypatch):
    commit = git(project, "rev-parse", "HEAD")
    told = {"rev-parse": commit, "status": None}
    monkeypatch.setattr("deviate.runs.snapshot.survey._git", lambda project, word, *rest: told[word])
    assert describe_commit(project) == f"{commit} + changes not known"


@pytest.mark.parametrize("kind", ["repository", "worktree"])
def test_git_takes_a_copy_for_the_working_tree(project, kind, tmp_path_factory):
    if kind == "worktree":
        git(project, "worktree", "add", "-q", str(project / "other"))
        project = project / "other"
    copy = tmp_path_factory.mktemp("elsewhere")
    (copy / "model.py").write_text("a = 2\n")
    lead_to_repository(project, copy)
    assert git(copy, "rev-parse", "--show-toplevel") == str(copy)
    assert git(copy, "diff", "HEAD", "--", "model.py").splitlines()[-1] == "+a = 2"
    git(copy, "checkout", "--", "model.py")
    assert (copy / "model.py").read_text() == (project / "model.py").read_text() != "a = 2\n"


def test_a_project_below_the_top_of_a_repository_lends_its_copy_none(project, tmp_path_factory):
    (project / "part").mkdir()
    copy = tmp_path_factory.mktemp("elsewhere")
    lead_to_repository(project / "part", copy)
    assert list(copy.iterdir()) == []
