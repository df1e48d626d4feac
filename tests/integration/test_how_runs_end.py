"""Trainings that go on in the background, are killed, end with a verdict, read standard input or lose their folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent

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
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    return folder


def shell(project, line):
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "KEEP": str(project.parent / "flag")}
    return subprocess.run(
        ["sh", "-c", line], cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def run(project, command, options="-n 1", before="", after=""):
    return shell(project, f"{before} deviate run --vary as-is --name x {options} -- {command} {after}")


def runs(project):
    report = json.loads(shell(project, "deviate report x --json").stdout)["variants"][0]
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
    run(project, "bash start.sh")
    statuses, loss = runs(project)
    assert statuses == ["completed"]
    assert loss == pytest.approx(1 / 3, abs=1e-4)


def test_how_a_training_in_the_background_fails_is_how_the_run_failed(project):
    (project / "start.sh").write_text("python train.py 3 slow &\n")
    done = run(project, "bash start.sh")
    assert done.returncode == 1
    assert "failed: it ended with status 3" in done.stderr


def test_a_killed_run_is_made_again_by_the_same_command_and_a_failed_one_is_not(project):
    first = run(project, "python train.py 0 killed", "-n 2")
    assert "the same command makes it again" in first.stdout
    assert run(project, "python train.py 0 killed", "-n 2").returncode == 0
    assert runs(project)[0] == ["completed", "completed"]
    (project / "other").mkdir()
    assert shell(project, "deviate run -n 1 --vary as-is --name y -- python train.py 2").returncode == 1
    again = shell(project, "deviate run -n 1 --vary as-is --name y -- python train.py 2")
    assert "nothing to train" in again.stderr
    assert "--accept-status 2" in again.stdout
    # Nothing is trained anew for it.
    taken = shell(project, "deviate run -n 1 --vary as-is --name y --accept-status 0,2 -- python train.py 2")
    assert taken.returncode == 0
    assert "nothing to train" in taken.stderr
    assert "ended with status 2, which --accept-status takes" in " ".join(taken.stdout.split())


def test_each_run_reads_what_was_given_by_standard_input(project):
    (project / "data.txt").write_text("1\n2\n")
    run(project, "python train.py 0", "-n 2", before="(sleep 1.5; cat data.txt) |")
    assert runs(project)[1] == pytest.approx(3 + 1 / 3, abs=1e-4)
    more = run(project, "python train.py 0", "-n 3")
    assert "runs read the standard input that 'x' was made with" in more.stderr
    assert runs(project) == (["completed"] * 3, pytest.approx(3 + 1 / 3, abs=1e-4))
    other = run(project, "python train.py 0", "-n 4", before="echo 5 |")
    assert (other.returncode, "other data from standard input" in other.stderr) == (2, True)
    loop = "while read word; do echo $word; deviate run -n 1 --name x$word --vary as-is -- python train.py 0; done"
    looped = shell(project, f"printf 'a\\nb\\n' | {loop}")
    assert [line for line in looped.stdout.splitlines() if len(line) == 1] == ["a", "b"]
    assert "is left to it" in looped.stderr


def test_a_workspace_that_is_deleted_meanwhile_is_named(project):
    script = "import shutil, sys\nfor epoch in range(2):\n    print('loss', 0.5 + epoch)\nshutil.rmtree(sys.argv[1])\n"
    (project / "train.py").write_text(script)
    done = run(project, f"python train.py {project / '.deviate'}")
    assert done.returncode == 2
    assert f"{project / '.deviate'} is gone: it was deleted" in " ".join(done.stderr.split())
    assert "free the disk" not in done.stderr
