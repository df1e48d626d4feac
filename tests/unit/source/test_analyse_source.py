"""Any file: read as Python reads it, or listed as unreadable; never a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysed_projects import STEP, analyse, looped, names
from hypothesis import given
from hypothesis import strategies as st

from deviate.core.errors import EntryNotFound, EntryNotPython, EntrySyntax
from deviate.source.analysis import analyse_project
from deviate.source.files import UnreadableSourceError, decode, mask, parse_text
from deviate.source.syntax import segment_at


def put(folder: Path, data: bytes) -> Path:
    (folder / "train.py").write_bytes(data)
    return folder


SCRIPT = looped("print(f'loss {loss.item():.3f}')")


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + SCRIPT.encode(),
        SCRIPT.replace("\n", "\r\n").encode(),
        SCRIPT.replace("    ", "\t").encode(),
        ("# -*- coding: latin-1 -*-\n# caf\xe9\n" + SCRIPT).encode("latin-1"),
        b"# caf\xe9 without a cookie\n" + SCRIPT.encode(),
        ("\x0c\n" + SCRIPT).encode(),
        ("%matplotlib inline\n!pip install x\n" + SCRIPT).encode(),
        ("target = target.cuda(async=True)\n" + SCRIPT).encode(),
    ],
    ids=["bom", "crlf", "tabs", "latin-1", "no cookie", "form feed", "notebook", "async argument"],
)
def test_unusual_files_are_read_and_spans_are_exact(tmp_path, data):
    (metric,) = analyse_project(put(tmp_path, data), Path("train.py")).metrics
    lines = decode(data).replace("\r\n", "\n").split("\n")
    assert segment_at(metric.capture.span, lines) == "loss.item()"


@pytest.mark.parametrize(
    "data", [b"print 'x'\n", b"x = (\n", b"a\x00b\n", b"(" * 5000 + b")" * 5000, b"def f(:\n"],
    ids=["python 2", "open bracket", "null byte", "deep", "syntax"],
)  # fmt: skip
def test_an_entry_that_does_not_parse_is_refused(tmp_path, data):
    with pytest.raises(EntrySyntax) as caught:
        analyse_project(put(tmp_path, data), Path("train.py"))
    assert "line" in caught.value.message
    assert caught.value.hint


def test_another_file_that_does_not_parse_is_listed(tmp_path):
    findings = analyse(tmp_path, train="import old\n" + looped("print(loss.item())"), old="x = 1\nprint 'two'\n")
    assert [(file.file, file.line) for file in findings.unreadable] == [("old.py", 2)]
    assert "Python 2" in findings.unreadable[0].error
    assert list(names(findings)) == ["loss"]


def test_empty_entry_has_no_metrics(tmp_path):
    findings = analyse(tmp_path, train="")
    assert (findings.metrics, findings.main_loop, findings.files) == ([], None, ["train.py"])


def test_missing_entry_and_entry_that_is_no_python(tmp_path):
    with pytest.raises(EntryNotFound):
        analyse_project(tmp_path, Path("train.py"))
    (tmp_path / "run.txt").write_text("x")
    with pytest.raises(EntryNotPython):
        analyse_project(tmp_path, Path("run.txt"))


def test_deeply_nested_expressions_are_survived(tmp_path):
    text = "x = " + " + ".join(["'a'"] * 800) + "\nprint(x)\n" + STEP
    assert analyse(tmp_path, train=text).files == ["train.py"]


@given(st.text(alphabet="async=(),. \n\t%!x1", max_size=60))
def test_masking_keeps_every_position(text):
    masked = mask(text)
    assert len(masked) == len(text)
    assert [at for at, char in enumerate(masked) if char in "\n\r"] == [
        at for at, char in enumerate(text) if char in "\n\r"
    ]


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(data):
    try:
        parse_text(decode(data))
    except UnreadableSourceError as problem:
        error = problem
    else:
        return
    assert error.line >= 0
    assert error.reason
