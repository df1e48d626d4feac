"""Text files that a run wrote are kept; what it only read is not."""

from __future__ import annotations

import os
import struct

import pytest

from deviate.core.experiment import Run
from deviate.observe.trackers.tensorboard import masked_crc32c
from deviate.runs import kept as written_files
from deviate.runs.kept import keep_written, written_states
from deviate.store.folders import Workspace
from deviate.store.run_files import Completed

#: The first event of a file, which holds no more than its time.
EVENT = b"".join(
    part + struct.pack("<I", masked_crc32c(part)) for part in (struct.pack("<Q", 9), b"\x09" + struct.pack("<d", 1.7e9))
)


@pytest.fixture
def prepared(tmp_path):
    """A run that is prepared, with a file of the project, and what it is like."""
    workspace = Workspace(tmp_path / "project")
    (tmp_path / "project").mkdir()
    workspace.prepare()
    folder = workspace.experiment("e").run(Run(variant="control", index=0))
    copy = folder.work / "project"
    copy.mkdir(parents=True)
    (copy / "data.csv").write_text("old\n1\n")
    return copy, folder, written_states(copy)


def kept(folder):
    return sorted(str(path.relative_to(folder.written)) for path in folder.written.rglob("*") if path.is_file())


def test_what_the_run_wrote_is_kept_by_its_path(prepared):
    copy, folder, before = prepared
    (copy / "logs").mkdir()
    (copy / "logs" / "train.csv").write_text("epoch,loss\n0,1.5\n")
    (copy / "result.JSON").write_text("{}")
    for passed_over in ("model.pt", "empty.txt", ".hidden.csv"):
        (copy / passed_over).write_text("" if passed_over == "empty.txt" else "x")
    (copy / "link.csv").symlink_to(copy / "data.csv")
    (copy / ".cache").mkdir()
    (copy / ".cache" / "a.json").write_text("{}")
    assert keep_written(copy, folder, before) == []
    assert kept(folder) == ["logs/train.csv", "result.JSON"]
    assert (folder.written / "logs" / "train.csv").read_text() == "epoch,loss\n0,1.5\n"


def test_a_file_of_the_project_that_the_run_appends_to_is_kept(prepared):
    copy, folder, before = prepared
    with (copy / "data.csv").open("a") as file:
        file.write("2\n")
    keep_written(copy, folder, before)
    assert kept(folder) == ["data.csv"]


def test_a_file_is_kept_that_was_written_after_the_clock_was_set_back(prepared):
    copy, folder, before = prepared
    (copy / "history.csv").write_text("epoch,loss\n0,1.5\n")
    os.utime(copy / "history.csv", (5, 5))
    assert keep_written(copy, folder, before) == []
    assert kept(folder) == ["history.csv"]


def test_a_run_that_wrote_nothing_leaves_no_folder(prepared):
    copy, folder, before = prepared
    assert keep_written(copy, folder, before) == []
    assert not folder.written.exists()


@pytest.mark.parametrize(("limit", "value"), [("MAX_BYTES", 10), ("MAX_TOTAL", 12), ("MAX_FILES", 1)])
def test_what_is_too_large_is_left_out_and_said(prepared, monkeypatch, limit, value):
    copy, folder, before = prepared
    (copy / "small.txt").write_text("x" * 5)
    (copy / "large.txt").write_text("x" * 11)
    monkeypatch.setattr(written_files, limit, value)
    (said,) = keep_written(copy, folder, before)
    assert said == "Files that it wrote and that are too many or too large to be searched for metrics: 1."
    assert kept(folder) == ["small.txt"]


def test_files_of_trackers_are_kept_whatever_they_are_called(prepared):
    copy, folder, _ = prepared
    run = copy / "mlruns" / "0" / "abc"
    old = copy / "runs" / "before" / "events.out.tfevents.0.host"
    old.parent.mkdir(parents=True)
    old.write_bytes(EVENT)
    before = written_states(copy)
    for path, data in {
        copy / "runs" / "Nov22" / "events.out.tfevents.1.host": EVENT,
        copy / "wandb" / "offline-run-1" / "run-1.wandb": b":W&B\xe1\xbe\x00",
        run / "metrics" / "acc": b"1795371617045 0.25 0\n",
        run / "meta.yaml": b"run_id: abc\n",
        # What trackers keep beside the values is theirs, and other binary files are no reports.
        copy / "wandb" / "offline-run-1" / "files" / "output.log": b"loss 0.5\n",
        run / "params" / "lr": b"0.1",
        copy / "runs" / "Nov22" / "model": bytes(100),
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert keep_written(copy, folder, before) == []
    assert kept(folder) == [
        "mlruns/0/abc/meta.yaml",
        "mlruns/0/abc/metrics/acc",
        "runs/Nov22/events.out.tfevents.1.host",
        "wandb/offline-run-1/run-1.wandb",
    ]


def test_a_name_in_no_encoding_is_kept_in_one(prepared):
    copy, folder, before = prepared
    (copy / os.fsdecode(b"\xff.csv")).write_text("epoch,loss\n0,1.5\n")
    assert keep_written(copy, folder, before) == []
    assert kept(folder) == ["\\xff.csv"]
    folder.write_outcome(Completed(seconds=1.0))
    assert "written/\\xff.csv" in folder.read_outcome().files
