"""An archive that was damaged on its way is refused, and leaves nothing behind."""

import gzip
import os
import random
import zlib

import pytest
from compared_sides import write_experiment

from deviate.core.errors import BadInput
from deviate.runs.housekeeping import export_experiments, import_archive, is_archive
from deviate.store.folders import Workspace

#: Bytes that the header of the compressed file has at most: a time and a name, which nothing reads.
HEADER = 64


@pytest.fixture
def archive(tmp_path):
    (tmp_path / "one").mkdir()
    path = tmp_path / "a.tar.gz"
    export_experiments([write_experiment(tmp_path / "one", "a", {"test acc": [90.0, 91.0]})], path)
    return path


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]


def test_a_cut_or_changed_archive_is_refused_and_nothing_of_it_is_left(archive, tmp_path):
    data, target = archive.read_bytes(), Workspace(tmp_path / "two")
    target.project.mkdir()
    rng = random.Random(1)
    places = [rng.randrange(HEADER, len(data)) for _ in range(60)]
    # The last bytes, which hold the checksum, are not needed to unpack the files.
    last = range(len(data) - 8, len(data))
    for harmed in (*(data[:at] for at in (*places, *last)), *(flipped(data, at) for at in (*places, *last))):
        if unpacked(harmed) == unpacked(data):
            # A bit that pads the compressed data.
            continue
        archive.write_bytes(harmed)
        is_archive(archive)
        with pytest.raises(BadInput, match="cannot be read as an exported experiment"):
            import_archive(archive, target)
    assert contents(target.project) == {}
    archive.write_bytes(data)
    assert contents(import_archive(archive, target)[0].path) == contents(
        Workspace(tmp_path / "one").experiment("a").path
    )


def unpacked(data):
    """Return what a compressed file holds; None where it is damaged."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return None


def test_a_pipe_is_no_archive_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "results.csv")
    assert not is_archive(tmp_path / "results.csv")
