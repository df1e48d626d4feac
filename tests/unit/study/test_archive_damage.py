"""An archive that was damaged on its way is refused, and leaves nothing behind."""

import random

import pytest
from compared_sides import write_experiment

from deviate.errors import BadInput
from deviate.replicate.workspace.folders import Workspace
from deviate.study.archive import export_experiment, import_archive, is_archive

#: Bytes that the header of the compressed file has at most.
HEADER = 64


@pytest.fixture
def archive(tmp_path):
    (tmp_path / "one").mkdir()
    path = tmp_path / "a.tar.gz"
    export_experiment(write_experiment(tmp_path / "one", "a", {"test acc": [90.0, 91.0]}), path)
    return path


def left(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def flipped(data, at, bit):
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def test_a_cut_or_changed_archive_is_refused_and_nothing_of_it_is_left(archive, tmp_path):
    data, target = archive.read_bytes(), Workspace(tmp_path / "two")
    target.project.mkdir()
    rng = random.Random(1)
    # Before it stand the time and the name of the file, which nothing reads.
    places = [rng.randrange(HEADER, len(data)) for _ in range(60)]
    # The last bytes, which hold the checksum, are not needed to unpack the files.
    cuts = [data[:at] for at in (*places, *range(len(data) - 9, len(data)))]
    flips = [flipped(data, at, at % 8) for at in (*places, *range(len(data) - 8, len(data)))]
    for harmed in (*cuts, *flips):
        archive.write_bytes(harmed)
        is_archive(archive)
        with pytest.raises(BadInput, match="cannot be read as an exported experiment"):
            import_archive(archive, target)
    assert left(target.project) == []
    archive.write_bytes(data)
    assert import_archive(archive, target).read_experiment().name == "a"
