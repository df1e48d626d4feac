"""What wrote a file is told by its content, whatever it is called."""

from __future__ import annotations

import sqlite3
import struct

import pytest

from deviate.observe.trackers import goes_with_metrics, is_own_folder, tracker_of
from deviate.observe.trackers.tensorboard import masked_crc32c

METRICS_TABLE = "CREATE TABLE metrics (run_uuid, key, value, step, timestamp, is_nan)"


def framed(record: bytes) -> bytes:
    """Frame a record as TensorFlow does, in event files and in data sets."""
    length = struct.pack("<Q", len(record))
    return length + struct.pack("<I", masked_crc32c(length)) + record + struct.pack("<I", masked_crc32c(record))


def test_event_files_of_pytorch_and_of_tensorflow_under_any_name(tmp_path):
    writer = pytest.importorskip("torch.utils.tensorboard").SummaryWriter
    with writer(tmp_path / "torch") as board:
        board.add_scalar("loss", 0.5, 0)
    summary = pytest.importorskip("tensorflow").summary
    with summary.create_file_writer(str(tmp_path / "tf")).as_default():
        summary.scalar("loss", 0.5, step=0)
    paths = list(tmp_path.glob("*/*tfevents*"))
    assert [tracker_of(path.rename(tmp_path / f"log{index}.bin")) for index, path in enumerate(paths)] == [
        "TensorBoard",
        "TensorBoard",
    ]


def test_a_data_set_of_tensorflow_is_no_event_file(tmp_path):
    path = tmp_path / "events.out.tfevents.1"
    features = bytes([10, 8]) + struct.pack("<d", 0.25)
    path.write_bytes(framed(features) * 3)
    assert tracker_of(path) is None
    path.write_bytes(framed(bytes([9]) + struct.pack("<d", 1.7e9)))
    assert tracker_of(path) == "TensorBoard"


@pytest.mark.parametrize("data", [b"", b":W&", b"x" * 5000, b"SQLite format 3\x00" + b"\xff" * 200, bytes(64)])
def test_other_files_are_of_no_tracker(tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    assert tracker_of(tmp_path / "file") is None
    assert tracker_of(tmp_path / "missing") is None


def test_a_database_is_mlflows_by_its_tables(tmp_path):
    for name, statement in (("cache.db", "CREATE TABLE metrics (id)"), ("store", METRICS_TABLE)):
        with sqlite3.connect(tmp_path / name) as database:
            database.execute(statement)
        database.close()
    assert (tracker_of(tmp_path / "cache.db"), tracker_of(tmp_path / "store")) == (None, "MLflow database")


def test_a_metric_file_of_mlflow_lies_beside_what_describes_its_run(tmp_path):
    folder = tmp_path / "metrics" / "val"
    folder.mkdir(parents=True)
    (folder / "acc").write_text("1795371617045 0.25 0\n")
    (tmp_path / "metrics" / "notes").write_text("see the wiki\n")
    assert tracker_of(folder / "acc") is None
    (tmp_path / "meta.yaml").write_text("run_id: abc\n")
    assert (tracker_of(folder / "acc"), tracker_of(tmp_path / "metrics" / "notes")) == ("MLflow", None)
    assert goes_with_metrics(tmp_path / "meta.yaml")
    assert not goes_with_metrics(folder / "acc")


def test_a_folder_with_a_wandb_file_is_wandbs_own(tmp_path):
    (tmp_path / "run-1.wandb").write_bytes(b":W&B\xe1\xbe\x00")
    (tmp_path / "notes.wandb").write_bytes(b"mine")
    assert is_own_folder(tmp_path, ["run-1.wandb", "output.log"])
    assert not is_own_folder(tmp_path, ["notes.wandb", "output.log"])
