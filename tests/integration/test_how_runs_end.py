"""Trainings that go on in the background, are killed, end with a verdict, read standard input or lose their folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import forked_tool
import pytest
from cli_tool import deviate

pytestmark = pytest.mark.slow

TRAIN = """\
import os, random, signal, sys, time
from pathlib import Path

data = [float(word) for word in sys.stdin.read().split()]
for epoch in range(3):
    loss = sum(data) + 1 / (epoch + 1)
    print(f"epoch {epoch} loss {loss:.4f}", flush=True)
    if "slow" in sys.argv:
        time.sleep(0.3)
    flag = Path(os.environ["KEEP"])
    if "killed" in sys.argv and epoch == 1 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("KEEP", str(tmp_path / "flag"))
    return folder


def run(command, *options, name="x"):
    return forked_tool.run("run", "--vary", "as-is", "--name", name, *(options or ("-n", 1)), "--", *command)


def runs():
    report = deviate("report", "x", "--json").json["variants"][0]
    values = next((each["mean"] for each in report["metrics"] if each["name"].startswith("loss")), None)
    return [each["status"] for each in report["runs"]], values


@pytest.mark.parametrize(
    "script",
    [
        "(nohup setsid python train.py 0 slow > log.txt 2>&1 &)\nsleep 0.2\n",
        # Which script that is shows as it runs alone; of one that is known a start is expected.
        "script=$(ls *.py)\nenv -i PATH=$PATH KEEP=$KEEP setsid python $script 0 slow &\n",
    ],
    ids=["nohup", "cleared"],
)
def test_a_training_in_the_background_is_waited_for(project, script):
    (project / "start.sh").write_text(script)
    run(["bash", "start.sh"])
    statuses, loss = runs()
    assert statuses == ["completed"]
    assert loss == pytest.approx(1 / 3, abs=1e-4)


def test_how_a_training_in_the_background_fails_is_how_the_run_failed(project):
    (project / "start.sh").write_text("python train.py 3 slow &\n")
    done = run(["bash", "start.sh"])
    assert done.status == 1
    assert "failed: it ended with status 3" in done.err


def test_a_killed_run_is_made_again_by_the_same_command_and_a_failed_one_is_not(project):
    killed, failing = ["python", "train.py", "0", "killed"], ["python", "train.py", "2"]
    assert "the same command makes it again" in run(killed, "-n", 2).out
    assert run(killed, "-n", 2).status == 0
    assert runs()[0] == ["completed", "completed"]
    assert run(failing, name="y").status == 1
    again = run(failing, name="y")
    assert "nothing to train" in again.err
    assert "--set accept_status=2" in again.out
    # Nothing is trained anew for it.
    taken = run(failing, "-n", 1, "--set", "accept_status=0,2", name="y")
    assert taken.status == 0
    assert "nothing to train" in taken.err
    assert "ended with status 2, which accept_status takes" in " ".join(taken.out.split())


def shell(line):
    return subprocess.run(["sh", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def test_each_run_reads_what_was_given_by_standard_input(project):
    (project / "data.txt").write_text("1\n2\n")
    plain = "--vary as-is -- python train.py 0"
    shell(f"(sleep 1.5; cat data.txt) | deviate run --name x -n 2 {plain}")
    assert runs()[1] == pytest.approx(3 + 1 / 3, abs=1e-4)
    more = run(["python", "train.py", "0"], "-n", 3)
    assert "runs read the standard input that 'x' was made with" in more.err
    assert runs() == (["completed"] * 3, pytest.approx(3 + 1 / 3, abs=1e-4))
    other = shell(f"echo 5 | deviate run --name x -n 4 {plain}")
    assert (other.returncode, "other data from standard input" in other.stderr) == (2, True)
    loop = f"while read word; do echo $word; deviate run -n 1 --name x$word {plain}; done"
    looped = shell(f"printf 'a\\nb\\n' | {loop}")
    assert [line for line in looped.stdout.splitlines() if len(line) == 1] == ["a", "b"]
    assert "is left to it" in looped.stderr


def test_a_workspace_that_is_deleted_meanwhile_is_named(project):
    script = "import shutil, sys\nfor epoch in range(2):\n    print('loss', 0.5 + epoch)\nshutil.rmtree(sys.argv[1])\n"
    (project / "train.py").write_text(script)
    done = run(["python", "train.py", project / ".deviate"])
    assert done.status == 2
    assert f"{project / '.deviate'} is gone: it was deleted" in " ".join(done.err.split())
    assert "free the disk" not in done.err
