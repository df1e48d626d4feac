"""Text files that a run wrote are kept; what it only read is not."""

from __future__ import annotations

import os

import pytest

from deviate.experiment import Run
from deviate.replicate import written_files
from deviate.replicate.workspace.folders import Workspace
from deviate.replicate.workspace.run_files import Completed
from deviate.replicate.written_files import keep_written


@pytest.fixture
def prepared(tmp_path):
    """A run that is prepared, with a file of the project that is older."""
    workspace = Workspace(tmp_path / "project")
    (tmp_path / "project").mkdir()
    workspace.prepare()
    folder = workspace.experiment("e").run(Run(variant="control", index=0))
    copy = folder.work / "project"
    copy.mkdir(parents=True)
    (copy / "data.csv").write_text("old\n1\n")
    os.utime(copy / "data.csv", ns=(1, 1))
    folder.runtime_file.write_text("{}")
    return copy, folder


def kept(folder):
    return sorted(str(path.relative_to(folder.written)) for path in folder.written.rglob("*") if path.is_file())


def test_what_the_run_wrote_is_kept_by_its_path(prepared):
    copy, folder = prepared
    (copy / "logs").mkdir()
    (copy / "logs" / "train.csv").write_text("epoch,loss\n0,1.5\n")
    (copy / "result.JSON").write_text("{}")
    for passed_over in ("model.pt", "empty.txt", ".hidden.csv"):
        (copy / passed_over).write_text("" if passed_over == "empty.txt" else "x")
    (copy / "link.csv").symlink_to(copy / "data.csv")
    (copy / ".cache").mkdir()
    (copy / ".cache" / "a.json").write_text("{}")
    assert keep_written(copy, folder) == []
    assert kept(folder) == ["logs/train.csv", "result.JSON"]
    assert (folder.written / "logs" / "train.csv").read_text() == "epoch,loss\n0,1.5\n"


def test_a_file_of_the_project_that_the_run_appends_to_is_kept(prepared):
    copy, folder = prepared
    with (copy / "data.csv").open("a") as file:
        file.write("2\n")
    keep_written(copy, folder)
    assert kept(folder) == ["data.csv"]


def test_a_run_that_wrote_nothing_leaves_no_folder(prepared):
    copy, folder = prepared
    assert keep_written(copy, folder) == []
    assert not folder.written.exists()


@pytest.mark.parametrize(("limit", "value"), [("MAX_BYTES", 10), ("MAX_TOTAL", 12), ("MAX_FILES", 1)])
def test_what_is_too_large_is_left_out_and_said(prepared, monkeypatch, limit, value):
    copy, folder = prepared
    (copy / "small.txt").write_text("x" * 5)
    (copy / "large.txt").write_text("x" * 11)
    monkeypatch.setattr(written_files, limit, value)
    (said,) = keep_written(copy, folder)
    assert said == "Text files that it wrote and that are too many or too large to be searched for metrics: 1."
    assert kept(folder) == ["small.txt"]


def test_a_name_in_no_encoding_is_kept_in_one(prepared):
    copy, folder = prepared
    (copy / os.fsdecode(b"\xff.csv")).write_text("epoch,loss\n0,1.5\n")
    assert keep_written(copy, folder) == []
    assert kept(folder) == ["\\xff.csv"]
    folder.write_outcome(Completed(seconds=1.0))
    assert "written/\\xff.csv" in folder.read_outcome().files
