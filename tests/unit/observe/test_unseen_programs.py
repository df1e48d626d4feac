"""Python programs that never reported are known from those that started them."""

from __future__ import annotations

from pathlib import Path

import pytest

from deviate.core.experiment import Run
from deviate.observe.events import unseen_programs
from deviate.observe.processes import Process
from deviate.observe.records import RunFiles
from deviate.store.folders import RunFolder
from deviate.store.run_files import Completed, Outcome


def run_of(tmp_path: Path, *events: dict[str, object], outcome: Outcome | None = None) -> RunFiles:
    folder = RunFolder(tmp_path / "runs" / "control-0", Run(variant="control", index=0))
    start = {"event": "start", "pid": 1, "ppid": 0, "argv": ["python", "launch.py"]}
    return RunFiles(folder, outcome, None, [Process("1-1", [start, *events], None)])


def child(pid: int | None, *words: str, how: str = "start", through: str | None = None) -> dict[str, object]:
    return {"event": "child", "how": how, "pid": pid, "argv": list(words), "through": through}


def started(pid: int, *words: str, ppid: int = 1) -> dict[str, object]:
    return {"event": "start", "pid": pid, "ppid": ppid, "argv": list(words)}


@pytest.mark.parametrize(
    ("events", "commands"),
    [
        ([child(2, "/bin/python", "train.py"), started(2, "python", "train.py")], []),
        ([child(2, "/bin/python", "-I", "train.py")], ["python -I train.py"]),
        ([child(2, "python", "train.py", through="bash"), started(4, "python", "train.py", ppid=3)], []),
        ([child(None, "python", "train.py", through="sh"), started(4, "python", "train.py", ppid=3)], []),
        ([child(2, "python", "-I", "train.py"), started(4, "python", "train.py", ppid=3)], ["python -I train.py"]),
        ([child(1, "python", "train.py", how="replace")], ["python train.py"]),
        ([child(1, "python", "train.py", how="replace"), started(1, "python", "train.py")], []),
    ],
)
def test_a_child_has_reported_where_a_start_is_its_own(tmp_path, events, commands):
    unseen = unseen_programs(run_of(tmp_path, *events), ["launch.py"])
    assert unseen.commands == commands
    assert unseen.trains == bool(commands)


def test_a_script_of_the_command_that_never_ran_is_unseen_where_nobody_drew_or_recorded(tmp_path):
    completed = run_of(tmp_path, outcome=Completed(seconds=1.0, ended=""))
    unseen = unseen_programs(completed, ["launch.py", "train.py"])
    assert (unseen.commands, unseen.trains) == (["train.py"], True)


def test_what_did_not_complete_may_have_ended_before_it_started_a_script(tmp_path):
    assert not unseen_programs(run_of(tmp_path), ["launch.py", "train.py"]).commands
