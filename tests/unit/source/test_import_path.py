"""Folders that imports may lead to beside the project: PYTHONPATH and editable installs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deviate.source.entry import file_digests, import_folders

NO_PATH = {"PATH": "/nowhere"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Make a virtual environment with nothing in it."""
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    return site


def folders(tmp_path: Path, **environment: str) -> list[str]:
    command = [str(tmp_path / "venv" / "bin" / "python"), "train.py"]
    found = import_folders(command, tmp_path, {**NO_PATH, **environment})
    return [folder.relative_to(tmp_path).as_posix() for folder in found]


def test_entries_of_the_variable_are_from_where_the_command_starts(tmp_path, site):
    (tmp_path / "lib").mkdir()
    (tmp_path / "more").mkdir()
    path = os.pathsep.join(["lib", str(tmp_path / "more"), "", "gone", "lib"])
    assert folders(tmp_path, PYTHONPATH=path) == ["lib", "more"]


def test_editable_installs_are_found_in_the_interpreter_that_trains(tmp_path, site):
    (tmp_path / "plain" / "src").mkdir(parents=True)
    (tmp_path / "mapped" / "src" / "pkg").mkdir(parents=True)
    (site / "plain.pth").write_text(f"{tmp_path / 'plain' / 'src'}\nimport nothing\n# no folder\n\n")
    mapping = {"pkg": str(tmp_path / "mapped" / "src" / "pkg"), "renamed": str(tmp_path / "plain" / "other")}
    (site / "__editable___pkg_1_finder.py").write_text(f"import sys\nMAPPING: dict[str, str] = {mapping!r}\n")
    assert folders(tmp_path) == ["plain/src", "mapped/src"]


def test_a_finder_that_cannot_be_read_adds_nothing(tmp_path, site):
    (site / "__editable___a_finder.py").write_text("MAPPING = make()\n")
    (site / "__editable___b_finder.py").write_text("MAPPING = [\n")
    assert folders(tmp_path) == []


def test_digests_are_of_what_the_files_hold(tmp_path):
    (tmp_path / "a.py").write_text("1")
    first = file_digests([str(tmp_path / "a.py"), str(tmp_path / "gone.py")])
    (tmp_path / "a.py").write_text("2")
    assert list(first) == [str(tmp_path / "a.py")]
    assert first != file_digests([str(tmp_path / "a.py")])
