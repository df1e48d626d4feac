"""What is given by standard input is kept for each run, and what is not meant for runs is left alone."""

import os

import pytest

from deviate.cli import stdin
from deviate.cli.stdin import given_input
from deviate.core.errors import BadOption


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    monkeypatch.setattr(stdin, "PATIENCE", 0.05)
    monkeypatch.setattr(stdin, "LOOK_EVERY", 0.01)


def given(descriptor):
    with given_input(descriptor) as path:
        return None if path is None else path.read_bytes()


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        try:
            os.close(descriptor)
        except OSError:
            continue


def opened(path, data):
    path.write_bytes(data)
    return os.open(path, os.O_RDONLY)


def test_a_file_is_kept_from_where_it_stands_and_stays_there(tmp_path, capsys):
    descriptor = opened(tmp_path / "data", b"first\nsecond\n")
    os.read(descriptor, 6)
    assert given(descriptor) == b"second\n"
    assert os.lseek(descriptor, 0, os.SEEK_CUR) == 6
    assert capsys.readouterr().err == "standard input: 7 bytes, kept; each run reads them from the start\n"


def test_a_pipe_is_kept_to_its_end(pipe, capsys):
    reading, writing = pipe
    os.write(writing, b"1\n2\n")
    os.close(writing)
    assert given(reading) == b"1\n2\n"
    assert given(reading) is None
    assert "4 bytes" in capsys.readouterr().err


def test_a_pipe_that_nobody_writes_into_holds_nothing_up(pipe, capsys):
    assert given(pipe[0]) is None
    assert "nothing came by standard input" in capsys.readouterr().err


def test_input_that_does_not_end_or_is_too_large_is_refused(pipe, tmp_path, monkeypatch):
    os.write(pipe[1], b"half")
    with pytest.raises(BadOption, match="does not end: 4 bytes came"):
        given(pipe[0])
    monkeypatch.setattr(stdin, "MOST_BYTES", 3)
    with pytest.raises(BadOption, match="more than 3 bytes"):
        given(opened(tmp_path / "data", b"1234"))


def test_devices_terminals_and_what_is_closed_give_nothing(capsys):
    closed = os.open(os.devnull, os.O_RDONLY)
    assert given(closed) is None
    os.close(closed)
    assert given(closed) is None
    outer, inner = os.openpty()
    assert given(inner) is None
    os.close(outer)
    os.close(inner)
    assert capsys.readouterr().err == ""


def test_what_the_shell_reads_itself_is_left_to_it(tmp_path, monkeypatch, capsys):
    descriptor = opened(tmp_path / "list", b"1\n2\n")
    monkeypatch.setattr(os, "getppid", os.getpid)
    assert given(descriptor) is None
    assert "is left to it: runs read nothing" in capsys.readouterr().err
    os.read(descriptor, 4)
    assert given(descriptor) is None
    assert capsys.readouterr().err == ""
