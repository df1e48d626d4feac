"""Warnings of instrumented lines show the lines as the program has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Run

PLAIN = "import warnings\nwarnings.warn('old')\n"
INSTRUMENTED = "import warnings\n__dv__(0, warnings.warn('old'))\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "program.py").write_text(PLAIN)
    return folder


def test_warning_shows_the_line_of_the_program(run: Run, sources: Path, work: Path) -> None:
    bare = run(PLAIN, runtime=False).stderr
    assert bare == f"{work / 'program.py'}:2: UserWarning: old\n  warnings.warn('old')\n"
    assert run(INSTRUMENTED, sources=str(sources)).stderr == bare


def test_warning_that_is_logged_shows_the_line_of_the_program(run: Run, sources: Path) -> None:
    capture = "import logging; logging.basicConfig(); logging.captureWarnings(True); import warnings\n"
    assert (
        "  warnings.warn('old')" in run(INSTRUMENTED.replace("import warnings\n", capture), sources=str(sources)).stderr
    )


def test_warning_of_another_file_stays(run: Run, sources: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "other.py").write_text(INSTRUMENTED)
    assert "  __dv__(0, warnings.warn('old'))" in run("import other", path=(library,), sources=str(sources)).stderr


def test_warning_keeps_the_line_it_was_given(run: Run, sources: Path) -> None:
    shown = (
        "import sys, warnings\nsys.stderr.write(warnings.formatwarning('old', UserWarning, 'program.py', 2, 'given'))"
    )
    assert run(shown, sources=str(sources)).stderr.endswith("UserWarning: old\n  given\n")
