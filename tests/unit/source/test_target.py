"""Which project a command trains."""

import os

import pytest

from deviate.core.errors import BadOption, EntryNotFound
from deviate.source.entry import find_target


@pytest.fixture(autouse=True)
def _no_pythonpath(monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)


@pytest.fixture
def repository(tmp_path):
    """A repository with a package at its root and a script two folders down."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "pkg").mkdir()
    (tmp_path / "projects" / "adder").mkdir(parents=True)
    (tmp_path / "projects" / "adder" / "train.py").write_text("print(1)\n")
    return tmp_path


def test_the_project_is_the_folder_one_stands_in(repository):
    target = find_target(["python", "train.py"], repository / "projects/adder", None, None)
    assert (target.project, target.folder, target.entry) == (repository / "projects/adder", ".", "train.py")


def test_pythonpath_into_the_repository_widens_the_project(repository, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(repository))
    target = find_target(["python", "train.py"], repository / "projects/adder", None, None)
    assert (target.project, target.folder) == (repository, "projects/adder")
    assert target.entry == "projects/adder/train.py"


def test_pythonpath_elsewhere_does_not(repository, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/", "/nowhere"]))
    assert find_target(["python", "train.py"], repository / "projects/adder", None, None).folder == "."


def test_an_entry_beside_widens_the_project(repository):
    target = find_target(["python", "../projects/adder/train.py"], repository / "pkg", None, None)
    assert (target.project, target.folder) == (repository, "pkg")


def test_an_entry_outside_is_refused(repository, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with pytest.raises(EntryNotFound, match="outside the project"):
        find_target(["python", str(repository / "projects/adder/train.py")], elsewhere, None, None)


def test_standing_outside_the_named_project_is_refused(repository):
    with pytest.raises(BadOption, match="outside the project"):
        find_target(["python", "projects/adder/train.py"], repository, None, repository / "projects")
