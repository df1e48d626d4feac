"""What Deviate wrote into a project is known by its content; a damaged list knows less, and nothing else."""

from deviate.runs.snapshot.manifest import describe, note_written, read_written
from deviate.store.folders import Workspace
from deviate.store.snapshot_rules import SnapshotRules


def test_a_damaged_list_matches_no_file(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.prepare()
    report = tmp_path / "report.html"
    report.write_text("a report")
    note_written(report)
    whole = read_written(tmp_path)
    assert len(whole) == 2
    data = workspace.written_file.read_bytes()
    for at in range(0, len(data) - 1, 7):
        workspace.written_file.write_bytes(data[:at] + bytes([data[at] ^ 0x80]) + data[at + 1 :])
        assert not whole <= read_written(tmp_path)
    workspace.written_file.write_bytes(data)
    assert read_written(tmp_path) == whole


def test_what_deviate_wrote_enters_no_snapshot_unless_it_is_included_or_edited(tmp_path):
    Workspace(tmp_path).prepare()
    (tmp_path / "train.py").write_text("")
    archive = tmp_path / "base.tar.gz"
    archive.write_text("runs")
    note_written(archive)
    assert list(describe(tmp_path).digests) == ["train.py"]
    assert ("base.tar.gz", "left out", "written by deviate") in [
        (item.path, item.kind, item.reason) for item in describe(tmp_path).items
    ]
    assert "base.tar.gz" in describe(tmp_path, SnapshotRules(include=("*.gz",))).digests
    archive.write_text("something else")
    assert "base.tar.gz" in describe(tmp_path).digests
