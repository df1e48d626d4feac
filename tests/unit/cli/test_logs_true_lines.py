"""``deviate logs`` names the files in tracebacks as the user does, and shows all else byte for byte."""

import pytest
from click.testing import CliRunner
from compared_sides import write_experiment

from deviate.cli.main import group
from deviate.core.experiment import Run

COPY = "{work}/project/train.py"
TRACEBACK = f"""Traceback (most recent call last):
  File "{COPY}", line 2, in <module>
    if random.random() < 0.9: raise RuntimeError("no")
                              ^^^^^^^^^^^^^^^^^^^^^^^^

RuntimeError: no
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    folder = write_experiment(project, "base", {"loss": [1.0]})
    folder.snapshot.mkdir()
    (folder.snapshot / "train.py").write_text('import random\nif random.random() < 0.9: raise RuntimeError("no")\n')
    return folder.run(Run(variant="algo+impl", index=0))


def logs():
    return CliRunner().invoke(group, ["logs", "base", "0"]).stdout_bytes


def test_a_traceback_names_the_file_of_the_project(run):
    run.stderr_file.write_text(TRACEBACK.format(work=run.work))
    assert logs().decode() == TRACEBACK.replace(COPY, "train.py")


@pytest.mark.parametrize("printed", [b"", b"no end", b"1%\r2%\r\n\xff\xfe\n\n", b"  ^^^ \n__dv_ is a name\n"])
def test_all_else_is_byte_for_byte(run, printed):
    run.stdout_file.write_bytes(printed)
    assert logs() == printed


def test_without_a_readable_snapshot_the_log_is_shown_as_it_is(run):
    text = TRACEBACK.format(work=run.work)
    run.stderr_file.write_text(text)
    run.source.parent.joinpath("snapshot.json").write_text("{")
    assert logs().decode() == text
