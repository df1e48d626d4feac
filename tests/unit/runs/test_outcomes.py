"""From the end of a command to the outcome of a run."""

import struct

import pytest

from deviate.core.experiment import Run
from deviate.runs.outcomes import (
    KILLED_HINT,
    accept_failed,
    missing_path_hint,
    run_outcome,
)
from deviate.runs.snapshot.manifest import describe
from deviate.store.files import LINE_LENGTH, STDERR_LINES, log_tail, write_json
from deviate.store.folders import RunFolder
from deviate.store.run_files import Completed, Ended, Failed, NotInstrumented, signal_name


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "weights").mkdir(parents=True)
    (folder / "weights" / "net.pth").write_bytes(b"")
    (tmp_path / "beside").mkdir()
    (tmp_path / "common.py").write_text("")
    return folder


@pytest.fixture
def copy(tmp_path):
    place = tmp_path / "run" / "work" / "project"
    (place / "weights").mkdir(parents=True)
    return place


def verdict(tmp_path, status, words=("python", "t.py"), started=True, stderr="", cause=None, accepts=(0,), **left):
    run = RunFolder(tmp_path / "run", Run(variant="control", index=0))
    run.path.mkdir(exist_ok=True)
    run.stderr_file.write_text(stderr)
    if started:
        (run.path / "events-1-1.jsonl").write_text('{"event":"start"}\n')
    (tmp_path / "project").mkdir(exist_ok=True)
    end = Ended(status=status, cause=cause, seconds=1.5, **left)
    write_json(run.ended_file, end)
    snapshot = describe(tmp_path / "project")
    return run_outcome(
        end, run, words=words, copy=run.work, cwd=run.work, snapshot=snapshot, warnings=["w"], accepts=accepts
    )


def test_status_0_with_a_start_is_completed(tmp_path):
    outcome = verdict(tmp_path, 0)
    assert isinstance(outcome, Completed)
    assert (outcome.seconds, outcome.warnings) == (1.5, ["w"])


def test_records_that_were_lost_without_a_word_fail_the_run(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "records-1-1.bin").write_bytes(struct.pack("<iidd", -4, -1, 1e-9, 3.0))
    outcome = verdict(tmp_path, 0)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "records of its metrics could not be written: 3 were lost"


def test_a_signal_is_named(tmp_path):
    outcome = verdict(tmp_path, -11)
    assert isinstance(outcome, Failed)
    assert (outcome.signal, outcome.exit_code) == ("SIGSEGV", None)
    assert "memory runs out" in verdict(tmp_path, -9).reason


@pytest.mark.parametrize("status", [-9, -15, -1, -2, 137, 143, 130])
def test_what_was_ended_from_outside_is_made_again(tmp_path, status):
    outcome = verdict(tmp_path, status)
    assert (outcome.killed, outcome.hint) == (True, KILLED_HINT)


@pytest.mark.parametrize(("status", "cause"), [(-11, None), (-6, None), (1, None), (255, None), (-9, "memory")])
def test_what_failed_by_itself_or_by_a_limit_is_not(tmp_path, status, cause):
    assert not verdict(tmp_path, status, cause=cause).killed


def test_a_status_that_is_accepted_is_completed_and_said(tmp_path):
    assert verdict(tmp_path, 3, accepts=(0, 3)).warnings == ["w", "ended with status 3, which accept_status takes"]
    assert isinstance(verdict(tmp_path, 1, accepts=(0, 3)), Failed)


def test_a_status_that_may_be_a_verdict_has_the_way_to_accept_it(tmp_path):
    assert verdict(tmp_path, 1).hint == ""
    (tmp_path / "run" / "stdout.log").write_text("auc 0.7\n")
    assert "--set accept_status=1" in verdict(tmp_path, 1, stderr="auc is too low\n").hint
    trace = 'Traceback (most recent call last):\n  File "t.py", line 1\nValueError: no\n'
    assert verdict(tmp_path, 1, stderr=trace).hint == ""


@pytest.mark.parametrize("status", [1, 2])
def test_a_run_that_ended_with_a_status_that_is_accepted_later_is_completed_without_being_made(tmp_path, status):
    run = RunFolder(tmp_path / "run", Run(variant="control", index=0))
    run.path.mkdir()
    run.write_outcome(verdict(tmp_path, status))
    accept_failed(run, (0, 2), expects_python=True)
    assert isinstance(run.read_outcome(), Completed if status == 2 else Failed)
    if status == 2:
        assert run.read_outcome().seconds == 1.5
        assert run.read_outcome().files


def test_what_outlived_a_command_and_did_nothing_is_named(tmp_path):
    (_, warning) = verdict(tmp_path, 0, left=["tensorboard"]).warnings
    assert warning.startswith("tensorboard went on after the command had ended, neither recorded nor used")
    outcome = verdict(tmp_path, 0, left=["python"], left_training=True)
    assert isinstance(outcome, Failed)
    assert "60 s and more, and was ended; whether its training was done is unknown" in outcome.reason
    assert "`wait` at the end" in outcome.hint


def test_an_isolated_python_gets_a_hint(tmp_path):
    outcome = verdict(tmp_path, 0, words=["python", "-I", "t.py"], started=False)
    assert isinstance(outcome, NotInstrumented)
    assert "-I" in outcome.hint


@pytest.mark.parametrize(
    ("word", "replaces"),
    [("PYTHONPATH=src", True), ("PYTHONPATH=. python t.py", True), ("PYTHONPATH=src:$PYTHONPATH python t.py", False)],
)
def test_a_command_that_sets_another_pythonpath_is_told_where_to_set_it(tmp_path, word, replaces):
    outcome = verdict(tmp_path, 0, words=["env", word, "python", "t.py"], started=False)
    assert isinstance(outcome, NotInstrumented)
    assert ("PYTHONPATH=src deviate run" in outcome.hint) == replaces


def test_only_the_last_lines_are_kept_and_progress_bars_do_not_fill_them(tmp_path):
    path = tmp_path / "log"
    path.write_text("\n".join(f"line {number}" for number in range(100)) + "\n 1%\r 2%\r done\n" + "x" * 9999 + "\n\n")
    lines = log_tail(path)
    assert len(lines) == STDERR_LINES
    assert lines[-2:] == [" done", "x" * LINE_LENGTH]
    assert log_tail(tmp_path / "missing") == []


def test_a_log_that_is_no_text_is_no_problem(tmp_path):
    (tmp_path / "log").write_bytes(b"\xff\xfe bad\n")
    assert len(log_tail(tmp_path / "log")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "FileNotFoundError: [Errno 2] No such file or directory: 'weights/net.pth'",
        "OSError: cannot open weights/../weights/net.pth and './weights/net.pth'",
        "RuntimeError: could not load ./weights/net.pth",
        "FileNotFoundError: '{copy}/weights/net.pth'",
    ],
)
def test_a_path_that_was_left_out_is_named_with_the_option_that_brings_it(project, copy, line):
    hint = missing_path_hint([line.format(copy=copy)], copy=copy, cwd=copy, snapshot=describe(project))
    assert "checkpoint of a former training" in hint
    assert hint.endswith("--set include=weights/net.pth")


def test_a_path_outside_the_project_is_named(project, copy):
    line = f"FileNotFoundError: [Errno 2] No such file or directory: '{copy}/../beside/x'"
    assert missing_path_hint([line], copy=copy, cwd=copy, snapshot=describe(project)) == ""
    line = f"FileNotFoundError: [Errno 2] No such file or directory: '{copy.parent}/beside'"
    hint = missing_path_hint([line], copy=copy, cwd=copy, snapshot=describe(project))
    assert hint.endswith("--set include=../beside")


def test_a_module_beside_the_project_is_named(project, copy, tmp_path):
    (tmp_path / "package" / "inner").mkdir(parents=True)
    (tmp_path / "package" / "inner" / "net.py").write_text("")
    for module in ("common", "package.inner.net"):
        line = f"ModuleNotFoundError: No module named '{module}'"
        hint = missing_path_hint([line], copy=copy, cwd=copy, snapshot=describe(project))
        assert f"outside the project, in {tmp_path};" in hint
    line = "ModuleNotFoundError: No module named 'package.inner.absent'"
    assert missing_path_hint([line], copy=copy, cwd=copy, snapshot=describe(project)) == ""


def test_a_path_that_is_nowhere_gives_no_hint(project, copy):
    lines = ["FileNotFoundError: 'nowhere/at/all'", "ModuleNotFoundError: No module named 'numpyy'", "'\0'"]
    assert missing_path_hint(lines, copy=copy, cwd=copy, snapshot=describe(project)) == ""


def test_signals_without_a_name_are_numbered():
    assert signal_name(9) == "SIGKILL"
    assert signal_name(999) == "signal 999"


def test_a_run_that_was_ended_by_the_clock_says_when_its_values_stopped(tmp_path):
    assert verdict(tmp_path, -9, cause="timeout").reason == "ended by the time limit; it recorded no value"
    records = [(-1, 0, 0.1, 0.0), (0, 0, 0.4, 2.5), (-2, 1, 1.4, 80.0)]
    (tmp_path / "run" / "records-1-1.bin").write_bytes(b"".join(struct.pack("<iidd", *each) for each in records))
    outcome = verdict(tmp_path, -9, cause="timeout")
    assert outcome.reason == "ended by the time limit; its last value was recorded after 0.4 s"
