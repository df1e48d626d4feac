"""A program that reads its own source files as data gets the text that their author wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Run

READS = """
import inspect, io, pathlib
def f():
    return __dv__(0, 1)
print(len({read}))
"""
WAYS = [
    "open(__file__).read()",
    "open(file=__file__, mode='rb').read()",
    "io.open(__file__, encoding='utf-8').read()",
    "pathlib.Path(__file__).read_text()",
    "pathlib.Path('program.py').read_bytes()",
]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "program.py").write_text("own")
    return folder


@pytest.mark.parametrize("read", WAYS)
def test_a_file_that_is_listed_is_read_as_it_was_written(run: Run, sources: Path, read: str) -> None:
    program = READS.format(read=read)
    assert run(program, sources=str(sources), own_text=["program.py"]).stdout == "3\n"
    assert run(program, sources=str(sources)).stdout == f"{len(program)}\n"


def test_lines_that_run_and_other_files_stay(run: Run, sources: Path, work: Path) -> None:
    (work / "other.py").write_text("# another\n")
    shown = READS.format(read="'' if '__dv__' in inspect.getsource(f) else ' '")
    assert run(shown, sources=str(sources), own_text=["program.py"]).stdout == "0\n"
    other = READS.format(read="open('other.py').read()")
    assert run(other, sources=str(sources), own_text=["program.py"]).stdout == "10\n"


def test_a_file_that_is_written_is_the_one_that_is_named(run: Run, sources: Path, work: Path) -> None:
    written = "print(open('program.py', 'a').write('# more'), open(0).fileno(), open(b'program.py').name)"
    assert run(written, sources=str(sources), own_text=["program.py"]).stdout == "6 0 b'program.py'\n"
    assert (work / "program.py").read_text().endswith("# more")
    assert (sources / "program.py").read_text() == "own"
