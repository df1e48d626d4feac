"""The same command with a larger number adds runs, whatever else was written into the project meanwhile."""

import os
import subprocess
import sys

import forked_tool
import pytest
from cli_tool import TRAIN, deviate

import deviate as package

COMMAND = ["--", sys.executable, "train.py"]

#: Reads its number of epochs from a file, and writes a table.
WITH_FILES = (
    TRAIN.replace("int(sys.argv[1]) if len(sys.argv) > 1 else 3", "int(open('epochs.txt').read())")
    + "open('table.csv', 'w').write(str(loss))\n"
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "train"
    folder.mkdir()
    (folder / "train.py").write_text(WITH_FILES)
    (folder / "epochs.txt").write_text("2")
    monkeypatch.chdir(folder)
    return folder


def tool(*words, **outputs):
    """Run ``deviate run`` in a process of its own, with outputs of its own."""
    return forked_tool.run("run", *words, *COMMAND, **outputs)


def completed(name="train"):
    return len(package.load(name).folder.completed_runs())


def test_new_files_that_nothing_names_start_no_experiment_and_are_named(project):
    deviate("run", "-n", "1", *COMMAND)
    (project / "notes.md").write_text("first look")
    (project / "plot.py").write_text("import json")
    done = deviate("run", "-n", "2", *COMMAND)
    assert "not used by its training: notes.md (new) and plot.py (new)" in done.err
    assert [path.name for path in (project / ".deviate/experiments").iterdir()] == ["train"]
    assert completed() == 2


def test_the_tools_own_log_neither_decides_nor_enters_a_run(project):
    for number in ("1", "2"):
        assert tool("-n", number, stdout=project / "run.log").status == 0
    for number in ("3", "4"):
        log = project / "job.txt"
        assert tool("-n", number, "--name", "train", stdout=log, stderr=log).status == 0
    assert completed() == 4
    assert not list((project / ".deviate").rglob("job.txt"))
    assert not list((project / ".deviate").rglob("run.log"))


def test_a_log_written_by_another_program_decides_nothing(project):
    for number in ("1", "2"):
        with (project / f"slurm-{number}.out").open("w") as log:
            done = tool("-n", number)
            log.write(done.out)
        assert "new one" not in done.err
    assert completed() == 2


def test_what_runs_write_themselves_decides_nothing(project):
    deviate("run", "-n", "1", *COMMAND)
    subprocess.run([*COMMAND[1:]], cwd=project, check=True, capture_output=True)
    assert (project / "table.csv").exists()
    deviate("run", "-n", "2", *COMMAND)
    assert completed() == 2


def test_a_file_that_the_source_reads_decides_and_the_change_is_named_before_a_run_starts(project):
    deviate("run", "-n", "1", *COMMAND)
    (project / "epochs.txt").write_text("3")
    refused = deviate("run", "-n", "2", "--name", "train", *COMMAND)
    assert refused.status == 2
    assert "another source, changed since: epochs.txt (edited)" in refused.err
    assert "--edited" in refused.err
    done = deviate("run", "-n", "1", *COMMAND)
    assert done.err.startswith(
        "experiment 'train-2' is a new one: 'train' has another source, changed since: epochs.txt (edited); --edited"
    )


def test_anyway_adds_marked_runs_from_the_copy_also_after_lines_moved(project):
    deviate("run", "-n", "1", *COMMAND)
    (project / "train.py").write_text("import os\n" + WITH_FILES)
    done = deviate("run", "-n", "3", "--edited", "--json", *COMMAND)
    (variant,) = done.json["variants"]
    assert done.json["experiment"] == "train"
    assert "changed since: train.py (edited)" in done.err
    assert [len(run["warnings"]) for run in variant["runs"]] == [0, 1, 1]
    assert any("added with --edited" in each["message"] for each in done.json["warnings"])
    assert {metric["n"] for metric in variant["metrics"]} == {3}
    (project / "train.py").write_text(WITH_FILES)
    assert deviate("run", "-n", "4", "--json", *COMMAND).json["experiment"] == "train"


def test_anyway_does_not_join_another_command(project):
    deviate("run", "-n", "1", *COMMAND)
    assert deviate("run", "-n", "1", "--edited", "--name", "train", *COMMAND, "7").status == 2
    assert deviate("run", "-n", "1", "--edited", "--json", *COMMAND, "7").json["experiment"] == "train-2"


def test_what_git_tracks_decides_from_the_moment_it_is_added(project):
    def git(*words):
        subprocess.run(["git", "-C", str(project), *words], check=True, capture_output=True)

    git("init", "-q")
    deviate("run", "-n", "1", *COMMAND)
    git("add", "-A")
    assert "new one" not in deviate("run", "-n", "2", *COMMAND).err
    (project / "notes.md").write_text("of the project")
    git("add", "notes.md")
    assert "notes.md (new)" in deviate("run", "-n", "1", *COMMAND).err
    assert os.path.isdir(project / ".deviate/experiments/train-2")
