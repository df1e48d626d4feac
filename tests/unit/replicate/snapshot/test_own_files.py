"""What Deviate wrote into a project is known by its content; a damaged list knows less, and nothing else."""

from deviate.replicate.snapshot.own_files import note_written, read_written
from deviate.replicate.workspace.folders import Workspace


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
