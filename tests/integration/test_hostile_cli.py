"""What a user types and what a project is called does nothing to the terminal it is printed on."""

import sys

import pytest
from cli_tool import TRAIN, deviate


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    "words",
    [("show", "\x1b[31mred\x07"), ("run", "--name", "a\x1b]0;x\x07", "--", "python", "train.py"),
     ("run", "--", "py\u202ethon"), ("report", "x", "--format", "\x9b1m"), ("plan", "--\x1b[2J"),
     ("extract", "\x1b[2J.py"),
     ("run", "-n", "\x1b[2J", "--", "x"), ("check", "a\rb", "c")],
)  # fmt: skip
def test_errors_are_printable(project, words):
    done = deviate(*words)
    assert done.status == 2
    assert all(line.isprintable() for line in done.err.splitlines())


def test_extract_and_show_print_the_source_without_its_escapes(project):
    (project / "train.py").write_text(TRAIN + 'print(f"\x1b[31mfinal accuracy {accuracy}")  # \u202e\n')
    (project / "note\x1b[31m.pt").write_text("")
    deviate("run", "-n", "1", "--", sys.executable, "train.py")
    for words in (("extract", "train.py", "--all"), ("show", "train"), ("report", "train"), ("list",)):
        done = deviate(*words)
        assert done.status == 0
        assert all(line.isprintable() for line in done.out.splitlines())
