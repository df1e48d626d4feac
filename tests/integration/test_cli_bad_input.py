"""Bad input: exit status 2, what was expected and found, a hint, no traceback, and nothing written."""

import sys

import pytest
from cli_tool import TRAIN, deviate, tree

PYTHON = sys.executable


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "broken.py").write_text("import os\nfor step in range(3)\n    print(step)\n")
    (tmp_path / "old.py").write_text(TRAIN + "    batch = batch.cuda(async=True)\n")
    (tmp_path / "notes.txt").write_text("no program\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


CASES = {
    "command not found": (
        ["run", "-v", "--", "pythno", "train.py"],
        ["[command-not-found]", "did you mean python"],
    ),
    "command after a prefix": (["run", "--", "env", "A=1", "trainer9", "x"], ["trainer9", "bash -c"]),
    "entry named, command not found": (
        ["run", "--set", "entry=train.py", "--", "pyhton", "x"],
        ["did you mean python"],
    ),
    "no command": (["run", "-n", "2"], ["--"]),
    "entry missing": (["run", "--", PYTHON, "tran.py"], ["tran.py"]),
    "entry not Python": (["run", "--set", "entry=notes.txt", "--", PYTHON, "train.py"], ["notes.txt", "Python"]),
    "entry does not follow": (["audit", "--", "ls", "-l"], ["--set entry="]),
    "entry does not parse": (["run", "--", PYTHON, "broken.py"], ["broken.py:2", "correct the line"]),
    "entry of an old Python": (["run", "--", PYTHON, "old.py"], ["old.py:15", "non_blocking"]),
    "n below 1": (["run", "-n", "0", "--", PYTHON, "train.py"], ["-n", "0"]),
    "n no number": (["run", "-n", "many", "--", PYTHON, "train.py"], ["many"]),
    "unknown option": (["run", "--runz", "3", "--", PYTHON, "train.py"], ["--runz"]),
    "jobs below 1": (["run", "-j", "0", "--", PYTHON, "train.py"], ["--jobs"]),
    "timeout not above 0": (["run", "--set", "timeout=0", "--", PYTHON, "train.py"], ["timeout"]),
    "unknown variant": (["run", "--vary", "all", "--", PYTHON, "train.py"], ["'all'", "control"]),
    "impossible name": (["run", "--name", "a/b", "--", PYTHON, "train.py"], ["a/b"]),
    "unknown experiment": (["report", "nothing"], ["nothing", "deviate run"]),
    "unknown format": (["report", "nothing", "--format", "docx"], ["docx", "json"]),
    "unknown suffix": (["report", "nothing", "-o", "report.docx"], ["report.docx"]),
    "impossible level": (["report", "nothing", "--level", "1.5"], ["--level", "1.5"]),
    "curves in a file format": (
        ["report", "nothing", "--set", "curves=true", "--format", "md"],
        ["--set curves", "html"],
    ),
    "logs of nothing": (["logs", "nothing", "0"], ["nothing"]),
    "extract: entry missing": (["extract", "tran.py"], ["tran.py"]),
    "review without a terminal": (["extract", "train.py", "--review"], ["terminal", "--write"]),
}


@pytest.mark.parametrize(("words", "said"), CASES.values(), ids=CASES)
def test_it_is_refused_with_a_hint_and_nothing_is_written(project, words, said):
    before = tree(project)
    done = deviate(*words)
    assert done.status == 2, done
    assert done.out == ""
    assert "Traceback" not in done.err
    missing = [word for word in said if word not in done.err]
    assert not missing, done.err
    assert tree(project) == before
    assert not (project / ".deviate").exists()


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[[metric]]\nname = 1\n", "deviate.toml:2: metric[0].name"),
        ("entry = \n", "line 1"),
        ("[[metric]]\nname='a'\nfile='train.py'\nline=1\nexpression='acc'\n", "no expression 'acc' on line 1"),
    ],
)
def test_a_broken_configuration_is_named_by_line(project, toml, said):
    (project / "deviate.toml").write_text(toml)
    done = deviate("run", "-n", "1", "--", PYTHON, "train.py")
    assert done.status == 2
    assert said in done.err
    assert not (project / ".deviate").exists()


def test_a_workspace_that_is_no_folder_is_refused(project):
    (project / ".deviate").write_text("in the way")
    done = deviate("run", "-n", "1", "--", PYTHON, "train.py")
    assert done.status == 2
    assert "not a folder" in done.err
    assert (project / ".deviate").read_text() == "in the way"
