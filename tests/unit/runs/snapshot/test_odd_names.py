"""Names that are no text are left out of the snapshot, by name; those with line breaks are in it."""

import os

from deviate.runs.snapshot.survey import NO_TEXT, survey


def test_names_that_are_no_text_are_left_out(tmp_path):
    for name in (b"a\nb.txt", b"x\xff.txt", "é.txt".encode()):
        (tmp_path / os.fsdecode(name)).write_text("1")
    (tmp_path / os.fsdecode(b"folder\xfe")).mkdir()
    (tmp_path / "link").symlink_to(os.fsdecode(b"x\xff.txt"))
    kinds = {item.path: (item.kind, item.reason) for item in survey(tmp_path)}
    left = ("left out", NO_TEXT)
    assert kinds == {
        "a\nb.txt": ("copy", ""), "é.txt": ("copy", ""), "x\\udcff.txt": left, "folder\\udcfe": left, "link": left,
    }  # fmt: skip
