"""What is wrong around Deviate ends in a message that says what is safe, never in a traceback."""

import os
import re
import subprocess
import sys

import pytest
from cli_tool import TRAIN, deviate

import deviate as package

COMMAND = ["--", sys.executable, "train.py"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "train"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "table.csv").write_text("seed,acc\n1,0.5\n2,0.6\n")
    monkeypatch.chdir(folder)
    return folder


def shell(words):
    return subprocess.run(
        f"{sys.executable} -m deviate {words}", shell=True, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("words", ["list", "extract train.py", "import table.csv --name t", "--help"])
def test_a_full_output_is_said_and_a_closed_one_is_nobodys_loss(project, words):
    full = shell(f"{words} >/dev/full")
    assert full.returncode == 1
    assert full.stderr.startswith("error: standard output cannot be written: No space left on device\nfix: ")
    closed = shell(f"{words.replace('--name t', '--name u')} >&-")
    assert (closed.returncode, closed.stderr) == (0, "")


def test_runs_complete_with_every_stream_closed_and_with_messages_that_cannot_be_printed(project):
    command = f"-- {sys.executable} train.py"
    assert shell(f"run -n 1 {command} <&- >&- 2>&-").returncode == 0
    assert shell(f"run -n 2 {command} 2>/dev/full").returncode == 0
    assert len(package.load("train").folder.completed_runs()) == 2


@pytest.mark.parametrize(
    "words", [["-n", str(10**9)], ["-j", str(10**9)], ["--until", "loss ±1%", "--max", str(10**9)]]
)
def test_numbers_that_are_slips_are_refused_at_once(project, words):
    done = deviate("run", *words, *COMMAND)
    assert done.status == 2
    assert "must be at most" in done.err
    assert not (project / ".deviate").exists()


def test_links_to_themselves_are_copied_as_they_are(project):
    (project / "loop").symlink_to("loop")
    (project / "up").symlink_to("..")
    assert deviate("run", "-n", "1", *COMMAND).status == 0
    assert os.path.islink(project / ".deviate/experiments/train/snapshot/loop")


def test_an_excluded_entry_is_refused_before_anything_is_written(project):
    done = deviate("run", "-n", "1", "--set", "exclude=*.py", *COMMAND)
    assert done.status == 2
    assert "train.py is the entry, and it would be left out of the runs: excluded by you" in done.err
    assert not (project / ".deviate").exists()


@pytest.mark.parametrize("harm", [lambda path: path.unlink(), lambda path: path.write_text(TRAIN + "#")])
def test_a_damaged_copy_makes_no_more_runs_and_the_results_stay(project, harm):
    deviate("run", "-n", "2", *COMMAND)
    harm(project / ".deviate/experiments/train/snapshot/train.py")
    refused = deviate("run", "-n", "3", *COMMAND)
    assert refused.status == 2
    assert "the runs that are there are whole: deviate report train" in refused.err
    assert deviate("report", "train").status == 0


def test_a_log_that_was_damaged_is_printed_with_a_warning(project):
    deviate("run", "-n", "1", *COMMAND)
    folder = project / ".deviate/experiments/train/runs/algo+impl-0"
    assert deviate("logs", "train", "0").err == ""
    with (folder / "stdout.log").open("r+b") as log:
        log.write(b"E")
    done = deviate("logs", "train", "0")
    assert done.out.startswith("Epoch 0")
    assert done.err == "warning: algo+impl-0 of train is shown as it is now: stdout.log was changed\n"
    (folder / "outcome.json").write_text("{")
    unknown = deviate("logs", "train", "0")
    assert (unknown.status, unknown.out) == (0, done.out)
    assert "outcome.json cannot be read" in unknown.err


def test_a_run_whose_records_were_damaged_is_made_again_where_failed_ones_are(project):
    deviate("run", "-n", "2", *COMMAND)
    whole = package.load("train").samples()["value"].tolist()
    (records,) = project.glob(".deviate/experiments/train/runs/algo+impl-1/records-*.bin")
    data = records.read_bytes()
    records.write_bytes(data[:30])
    assert "(1 of " not in deviate("run", "-n", "2", *COMMAND).err
    done = deviate("run", "-n", "2", "--retry-failed", *COMMAND)
    assert done.status == 0
    assert len(re.findall(r"\(\d+ of \d+", done.err)) == 1
    again = package.load("train").samples()
    assert again["value"][again["metric"] != "time per run"].tolist() != []
    assert len(again) == len(whole)


def test_a_replaced_import_stays_until_the_new_one_is_whole(project, monkeypatch):
    from deviate.store.folders import ExperimentFolder

    assert deviate("import", "table.csv", "--name", "t").status == 0

    def full(*_):
        raise OSError(28, "No space left on device")

    (project / "table.csv").write_text("seed,acc\n1,0.7\n2,0.8\n")
    with monkeypatch.context() as patch:
        patch.setattr(ExperimentFolder, "write_experiment", full)
        failed = deviate("import", "table.csv", "--name", "t", "--set", "replace=true")
    assert failed.status == 1
    assert "No space left on device" in failed.err
    assert sorted(package.load("t").samples()["value"]) == [0.5, 0.6]
    assert deviate("import", "table.csv", "--name", "t", "--set", "replace=true").status == 0
    assert sorted(package.load("t").samples()["value"]) == [0.7, 0.8]
    assert [path.name for path in (project / ".deviate/experiments").iterdir()] == ["t"]


@pytest.mark.parametrize(
    ("file", "data", "words"),
    [
        ("a.json", b"[" * 10**5 + b"]" * 10**5, []),
        ("a.json", b'[{"a":' + b'{"a":' * 900 + b"1" + b"}" * 901 + b"]", []),
        ("a.csv", ",".join(f"m{index}" for index in range(20_000)).encode() + b"\n1\n", []),
        (
            "a.csv",
            b"seed," + ",".join(f"m{index}" for index in range(2_000)).encode() + b"\n1" + b",1" * 2000 + b"\n",
            [],
        ),
        ("a.log", b"a" * 40, ["--pattern", "(?P<acc>(a+)+)b"]),
        ("a.log", b"1" * 160_000, ["--pattern", "{epoch} ... {acc} ... loss {loss}"]),
    ],
)
def test_hostile_files_are_refused_in_time(project, file, data, words):
    (project / file).write_bytes(data)
    done = deviate("import", file, *words)
    assert done.status == 2
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err


def test_a_file_without_end_is_refused_by_its_size(project):
    with (project / "a.log").open("wb") as file:
        file.truncate(1 << 30)
    assert "1,024 MiB; at most 256 MiB are read" in deviate("import", "a.log", "--pattern", "a {x}").err


#: The first run harms the experiment's copy of the project.
HARMS = """\
import os, pathlib
from part import loss

snapshot = pathlib.Path(os.environ["DEVIATE_RUNTIME"]).parents[2] / "snapshot"
{harm}
for epoch in range(2):
    print(f"epoch {{epoch}} loss {{loss:.4f}}")
"""


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("(snapshot / 'part.py').write_text('loss = 0.5')", "was changed"),
        ("(snapshot / 'part.py').unlink()", "is gone"),
    ],
)
def test_a_snapshot_that_is_harmed_between_two_runs_gives_no_number(project, harm, said):
    (project / "train.py").write_text(HARMS.format(harm=harm))
    (project / "part.py").write_text("loss = 0.25\n")
    words = ["run", "-n", "2", "-j", "1", "--name", "e", *COMMAND]
    done = deviate(*words)
    assert done.status == 2
    assert f"part.py {said}, and runs are made from it" in done.err
    assert len(package.load("e").folder.completed_runs()) == 1
    (project / ".deviate/experiments/e/snapshot/part.py").write_text("loss = 0.25\n")
    assert deviate(*words).status == 0
    assert len(package.load("e").folder.completed_runs()) == 2
