"""What a run notes of the commit of its project."""

import shutil
import subprocess

import pytest

from deviate.replicate.snapshot.git import describe_commit

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
    monkeypatch.setattr("deviate.replicate.snapshot.git._git", lambda project, word, *rest: told[word])
    assert describe_commit(project) == f"{commit} + changes not known"
