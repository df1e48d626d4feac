"""``deviate extract --verify``: a command is tried out, and each metric is said to have come or not."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib

import pytest
from cli_tool import TRAIN, deviate, tree

from deviate.store.folders import Workspace
from deviate.store.locks import locked

PYTHON = ("--", sys.executable, "train.py")

#: Reports its loss at once and its accuracy at the end, which is far away.
LONG = """\
import random, time
weight = random.gauss(0, 1)
for step in range(1000):
    weight -= 0.1 * random.gauss(weight, 1)
    loss = weight ** 2
    print(f"loss {loss:.4f}", flush=True)
    time.sleep(0.1)
accuracy = 100 / (1 + abs(weight))
print(f"test accuracy {accuracy:.2f}%")
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def users_files(project):
    return {name: data for name, data in tree(project).items() if not name.startswith(".deviate")}


def verify(*words):
    return deviate("extract", "--verify", "--json", *words)


@pytest.mark.parametrize("entry", [(), ("train.py",)])
def test_each_metric_is_said_with_its_count_and_a_sample(project, entry):
    bare = subprocess.run([sys.executable, "train.py", "4"], capture_output=True, text=True, check=True).stdout
    done = deviate("extract", *entry, "--verify", "--json", *PYTHON, "4")
    assert done.status == 0, done.err
    assert done.json["schema"] == 1
    came = {each["name"]: each for each in done.json["verified"]}
    assert came.keys() == {"train loss", "test accuracy"}
    assert (done.json["silent"], done.json["unforeseen"]) == ([], [])
    assert done.json["ended"] in ("completed", "all seen")
    loss = came["train loss"]
    assert f"train loss {loss['first']:.4f} " in bare.splitlines()[0]
    assert f"train loss {loss['last']:.4f} " in bare.splitlines()[loss["count"] - 1]


def test_nothing_of_it_stays_and_nothing_of_the_user_is_touched(project):
    with (project / "train.py").open("a") as file:
        file.write("open('checkpoint.txt', 'w').write(str(weight))\n")
    before = users_files(project)
    assert verify(*PYTHON).status == 0
    assert users_files(project) == before
    assert not list(project.glob(".deviate/verification"))
    assert deviate("list", "--json").json["experiments"] == []


def test_the_command_is_ended_once_all_was_seen(project):
    (project / "train.py").write_text(LONG.partition("accuracy")[0])
    done = verify(*PYTHON)
    assert done.status == 0, done.out
    assert done.json["ended"] == "all seen"
    assert done.json["seconds"] < 30


def test_at_the_limit_what_did_not_come_may_still_come(project):
    (project / "train.py").write_text(LONG)
    done = verify("--set", "timeout=1.5", *PYTHON)
    assert done.status == 1
    assert (done.json["ended"], done.json["silent"]) == ("limit", ["test accuracy"])
    assert [each["name"] for each in done.json["verified"]] == ["loss"]
    said = deviate("extract", "--verify", "--set", "timeout=1.5", *PYTHON).out
    assert re.search(r"test accuracy +0 +not yet", said)
    assert "never" not in said


def test_what_the_program_never_reports_is_said_as_such(project):
    (project / "train.py").write_text(TRAIN + "if epochs > 100:\n    print(f'final error {abs(weight - 3):.4f}')\n")
    done = verify(*PYTHON)
    assert done.status == 1
    assert (done.json["ended"], done.json["silent"]) == ("completed", ["final error"])
    said = deviate("extract", "--verify", *PYTHON).out
    assert re.search(r"final error +0 +never reported", said)
    assert "deviate extract train.py --diff" in said


def test_a_program_that_fails_is_said_with_its_reason(project):
    (project / "train.py").write_text(
        TRAIN.replace("    accuracy =", "    raise RuntimeError('no data')\n    accuracy =")
    )
    done = verify(*PYTHON)
    assert done.status == 1
    assert (done.json["ended"], len(done.json["silent"])) == ("failed", 2)
    assert "no data" in done.json["reason"]
    said = deviate("extract", "--verify", *PYTHON).out
    assert "before the program failed" in said
    assert "RuntimeError: no data" in said


def test_a_python_that_was_not_instrumented_is_said(project):
    done = verify("train.py", "--", sys.executable, "-I", "train.py")
    assert done.status == 1
    assert "no Python process reported" in done.json["reason"]


def test_names_learnt_at_run_time_are_listed(project):
    (project / "train.py").write_text(
        "import json, random\n"
        "weight = random.gauss(0, 1)\n"
        "for epoch in range(3):\n"
        "    weight -= 0.1 * random.gauss(weight, 1)\n"
        "    for split in ('train', 'test'):\n"
        "        loss = (weight - len(split)) ** 2\n"
        "        print('%s loss: %.3f' % (split, loss))\n"
    )
    done = verify(*PYTHON)
    assert done.status == 0, done.out
    (metric,) = done.json["verified"]
    assert (metric["count"], done.json["silent"]) == (6, [])
    found = {each["name"]: each for each in done.json["unforeseen"]}
    assert found.keys() == {"train loss", "test loss"}
    assert {(each["metric"], each["count"]) for each in found.values()} == {(metric["name"], 3)}
    said = deviate("extract", "--verify", *PYTHON).out
    assert re.search(r" 6 +under 2 names", said)
    assert re.search(r"^test loss +3 ", said, re.M)


def test_the_program_runs_as_it_is(project):
    (project / "train.py").write_text(TRAIN + "import os\nassert 'PYTHONHASHSEED' not in os.environ\n")
    first, second = (verify(*PYTHON).json["verified"] for _ in range(2))
    assert [each["first"] for each in first] == [each["first"] for each in second]


def test_a_metric_the_user_renamed_is_verified_under_that_name(project):
    deviate("extract", "train.py", "--write")
    path = project / "deviate.toml"
    path.write_text(path.read_text().replace('name = "train loss"', 'name = "my loss"'))
    assert "my loss" in [each["name"] for each in verify(*PYTHON).json["verified"]]


def test_a_workspace_in_use_is_left_alone(project):
    workspace = Workspace(project)
    workspace.prepare()
    with locked(workspace.verification, ["deviate", "audit"]):
        done = verify(*PYTHON)
    assert done.status == 2
    assert "another deviate works" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--verify",), "no command"),
        (("--verify", "--set", "timeout=0", *PYTHON), "above 0, found 0"),
        (("--verify", "--set", "timeout=inf", *PYTHON), "above 0, found inf"),
        (("--verify", "--diff", *PYTHON), "--diff exclude each other"),
        (("train.py", "other.py"), "other.py"),
        ((), "ENTRY"),
        (("--verify", "--", "no-such-program", "train.py"), "no-such-program"),
        (("--verify", "--", sys.executable, "missing.py"), "missing.py"),
    ],
)
def test_bad_input_writes_nothing(project, words, said):
    done = deviate("extract", *words)
    assert done.status == 2
    assert said in done.err
    assert not (project / ".deviate").exists()


def test_a_program_without_metrics_is_said(project):
    (project / "train.py").write_text("print('hello')\n")
    done = deviate("extract", "--verify", *PYTHON)
    assert done.status == 1
    assert "No metric was found in the source, nor in the output" in " ".join(done.out.split())


def test_what_the_program_prints_and_the_source_does_not_show_is_listed(project):
    done = verify("--", "sh", "-c", "echo epoch 1 loss 0.5; echo epoch 2 loss 0.25; (echo f1; echo 0.75) > out.csv")
    assert done.status == 0, done.err
    printed = {each["name"]: each for each in done.json["printed"]}
    assert (printed["loss"]["count"], printed["loss"]["last"], printed["loss"]["kind"]) == (2, 0.25, "loss")
    assert (printed["epoch"]["kind"], printed["epoch"]["reason"] != "") == (None, True)
    assert "out.csv" in {each["source"] for each in done.json["printed"]}
    assert any("No source was read" in note for note in done.json["notes"])


def test_what_is_seen_in_the_output_is_written_once_and_stays_as_the_user_edits_it(project):
    command = ("--", "sh", "-c", "echo loss 0.5 f1 0.1; echo loss 0.25 f1 0.2")
    assert verify("--write", *command).status == 0
    written = project / "deviate.toml"
    entries = tomllib.loads(written.read_text())["observed"]
    assert [(entry["name"], entry.get("direction")) for entry in entries] == [("loss", "lower"), ("f1", "higher")]
    written.write_text(written.read_text().replace('name = "loss"', 'name = "loss"\nrename = "error"'))
    edited = written.read_text()
    again = verify("--write", *command)
    assert [each["name"] for each in again.json["printed"]] == ["error", "f1"]
    assert tomllib.loads(written.read_text()) == tomllib.loads(edited)


#: Neither the source's loop nor what is printed in it can be read.
HIDDEN = """\
import importlib
show = getattr(importlib.import_module("sys").stdout, "wri" + "te")
weight = 1.0
for epoch in range(5):
    for step in range(20):
        weight *= 0.99
    show("Epoch %d squares %.5f\\n" % (epoch, weight))
"""


def test_the_loop_that_goes_round_is_named_where_the_source_shows_none(project):
    (project / "train.py").write_text(HIDDEN)
    done = verify(*PYTHON)
    assert (done.json["turned"]["file"], done.json["turned"]["line"]) == ("train.py", 4)
    assert done.json["turned"]["rounds"] == 4
    (project / "deviate.toml").write_text('[main_loop]\nfile = "train.py"\nline = 4\n')
    counted = verify(*PYTHON)
    assert (counted.json["turned"], counted.json["iterations"]) == (None, 5)


def test_what_the_user_says_of_printed_numbers_is_obeyed(project):
    (project / "deviate.toml").write_text('[[observed]]\nname = "loss"\nrename = "error"\n')
    done = verify("--", "sh", "-c", "echo loss 0.5; echo loss 0.25")
    assert [each["name"] for each in done.json["printed"]] == ["error"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_verification_leaves_nothing_that_the_next_does_not_remove(project, number):
    (project / "train.py").write_text(LONG)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    tool = subprocess.Popen(
        [sys.executable, "-m", "deviate", "extract", "--verify", *PYTHON],
        env=environment, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    started = project / ".deviate/verification/trial/runs/as-is-0"
    while not list(started.glob("records-*.bin")):
        assert tool.poll() is None
        time.sleep(0.02)
    training = json.loads((started / "run.json").read_text())["pid"]
    tool.send_signal(number)
    assert tool.wait() == -number
    assert started.exists() == (number == signal.SIGKILL)
    (project / "train.py").write_text(TRAIN)
    assert verify(*PYTHON).status == 0
    assert not (project / ".deviate/verification").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(training, 0)
