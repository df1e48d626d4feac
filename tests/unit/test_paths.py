"""What lies in a user's folders ends no command: links to closed places, to themselves, to names no disk has."""

import ast
import errno
import os

import pytest
from click.testing import CliRunner
from tracked import tracked_files

from deviate.cli.main import group
from deviate.core import paths
from deviate.runs.kept import checkpoint_states
from deviate.runs.snapshot.survey import survey
from deviate.source.configurations import config_files
from deviate.source.files import shell_scripts

#: Code that walks the user's own folders.
WALKING = ["source/*.py", "probes/*.py", "runs/snapshot/*.py", "runs/environment.py", "imports/*.py"]

TRAINING = """
import random

import shared
from tools import names

for epoch in range(3):
    loss = 1 / (epoch + 1) + random.random()
    print(f"epoch {epoch} loss {loss:.4f}")
"""


@pytest.fixture
def project(tmp_path):
    """Make a project in which every kind of link lies that cannot be followed, or leads out of it."""
    outside = tmp_path / "outside" / "deep"
    outside.mkdir(parents=True)
    (outside / "other.sh").write_text("python other.py")
    (outside / "other.yaml").write_text("lr: 1")
    folder = tmp_path / "project"
    for place in (folder, folder / "tools", folder / "saved"):
        place.mkdir()
        (place / "long").symlink_to("a" * 300)
        (place / "shared").symlink_to("b" * 300)
        (place / "shared.py").symlink_to("c" * 300)
        (place / "loop").symlink_to("loop")
        (place / "self").symlink_to(".")
        (place / "out").symlink_to(tmp_path / "outside")
        (place / "run.sh").write_text("python train.py")
        (place / "own.yaml").write_text("lr: 1")
    (folder / "train.py").write_text(TRAINING)
    return folder


def test_a_project_with_such_links_is_read_and_taken(project, monkeypatch):
    monkeypatch.chdir(project)
    result = CliRunner().invoke(group, ["extract", "train.py"])
    assert result.exit_code == 0, result.output
    assert "loss" in result.output
    kinds = {item.path: item.kind for item in survey(project)}
    assert {kinds[f"{place}{name}"] for place in ("", "tools/") for name in ("long", "loop", "out")} == {"symlink"}
    assert checkpoint_states("**/*.pt", project) == {}


def test_folders_are_walked_once_and_not_out_of_the_project(project):
    assert [path.relative_to(project).as_posix() for path in shell_scripts(project)] == [
        "run.sh", "saved/run.sh", "tools/run.sh",
    ]  # fmt: skip
    assert {path.name for path in config_files(project)} == {"own.yaml"}
    assert len(config_files(project)) == 3


def test_a_link_that_may_not_even_be_read_leads_to_itself(project, monkeypatch):
    (project / "magic").symlink_to("tools")
    readlink = os.readlink

    def closed(path, **settings):
        if "magic" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return readlink(path, **settings)

    monkeypatch.setattr(os, "readlink", closed)
    assert paths.real_path(project / "magic") == str(project / "magic")
    assert paths.real_path(project / "tools") == str(project / "tools")


@pytest.mark.parametrize("folder", WALKING)
def test_the_users_folders_are_asked_without_raising(folder):
    """`Path.is_dir`, `is_file` and `exists` raise where a link leads to a closed place; `os.path` says no."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in tracked_files(f"src/deviate/{folder}")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("is_dir", "is_file", "exists")
        and ast.unparse(node.func.value) not in ("entry", "os.path")
    ]
    assert found == []
