"""What a command writes with ``-o FILE``: whole, or not at all."""

import os
import threading

import pytest

from deviate.cli.printing import write_output
from deviate.core.errors import BadOption


def test_the_text_is_written_and_said(tmp_path, capsys):
    write_output(tmp_path / "report.md", "93.6 ± 0.4 %\n")
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == "93.6 ± 0.4 %\n"
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]
    assert capsys.readouterr().err == f"written to {tmp_path / 'report.md'}\n"


def test_a_link_goes_on_leading_to_its_file(tmp_path):
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    write_output(tmp_path / "link.md", "new")
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_output(pipe, "report")
    reader.join()
    assert heard == ["report"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["missing/report.md", "folder"])
def test_what_cannot_be_written_is_said_with_what_to_type(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadOption, match="cannot write") as caught:
        write_output(tmp_path / name, "report")
    assert caught.value.hint == "name a file in a folder that is there"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
