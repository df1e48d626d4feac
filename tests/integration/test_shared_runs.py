"""Runs that draw what another one draws are made of its files, and those that prove nothing are not made."""

import json
import re
import sys

import pytest
from cli_tool import TRAIN, deviate

COMMAND = ("--", sys.executable, "train.py")


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN + "open('model.txt', 'w').write(repr(weight))\n")
    (tmp_path / "evaluate.py").write_text("print('kept error', float(open('model.txt').read()))\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def runs(project):
    paths = sorted((project / ".deviate/experiments/train/runs").glob("*/run.json"))
    return {path.parent.name: json.loads(path.read_text())["same_as"] for path in paths}


def metrics(done, variant):
    (found,) = [each for each in done.json["variants"] if each["variant"] == variant]
    return {metric["name"]: metric for metric in found["metrics"]}


def test_runs_that_draw_the_same_are_trained_once_and_reported_as_if_each_had_been(project):
    words = ("run", "-n", "2", "--vary", "augment", "--vary", "control", "--vary", "other", "--json")
    done = deviate(*words, "--then", f"{sys.executable} evaluate.py", *COMMAND)
    assert done.status == 0, done.err
    shared = runs(project)
    assert shared == {
        "augment-0": "control-0", "augment-1": "control-1", "control-0": "", "control-1": "", "other-0": "control-0",
        "other-1": "",
    }  # fmt: skip
    assert metrics(done, "augment") == metrics(done, "control")
    assert metrics(done, "augment")["evaluate: kept error"]["n"] == 2
    (note,) = [warning["message"] for warning in done.json["warnings"] if warning["slug"] == "runs-shared"]
    said = "3 runs used the same random numbers as another run and share its training (augment-0 as control-0"
    assert note.startswith(said)
    assert done.json["timeline"]["slices"][-1]["run"] in {name for name, twin in shared.items() if not twin}
    assert len(done.json["timeline"]["slices"]) == 3
    assert len(re.findall(r"\(\d of \d", done.err)) == 3
    # The same again has nothing to do; the shared runs are whole.
    again = deviate(*words, *COMMAND)
    assert "(1 of " not in again.err
    assert metrics(again, "augment") == metrics(done, "augment")


def test_an_evaluation_that_is_made_again_is_shared_again(project):
    words = ("run", "-n", "1", "--vary", "augment", "--vary", "control", "--json")
    done = deviate(*words, "--then", f"{sys.executable} evaluate.py", *COMMAND)
    (events,) = project.glob(".deviate/experiments/train/runs/control-0/steps/evaluate-0/events-*.jsonl")
    events.write_bytes(events.read_bytes()[:-1])
    lost = deviate("report", "train", "--format", "json")
    again = deviate(*words, "--retry-failed", *COMMAND)
    name = "evaluate: kept error"
    for variant in ("augment", "control"):
        assert name not in metrics(lost, variant) or metrics(lost, variant)[name]["n"] == 0
        assert metrics(again, variant)[name]["values"] == metrics(done, variant)[name]["values"]


def test_what_is_shared_is_what_training_it_would_give(project):
    words = ("run", "-n", "2", "--vary", "augment", "--vary", "control", "--vary", "other", "--json")
    done = deviate(*words, *COMMAND)
    trained = deviate(*words, "--set", "share=none", "--name", "each", *COMMAND)
    assert "share its training" not in trained.out
    for variant in ("augment", "control", "other"):
        values = [{name: each["values"] for name, each in metrics(one, variant).items() if each["kind"] != "speed"}
                  for one in (done, trained)]  # fmt: skip
        assert values[0] == values[1]
        assert values[0]


def test_runs_that_prove_nothing_are_not_made_unless_that_is_asked_for(project):
    done = deviate("run", "-n", "3", "--vary", "augment", "--json", *COMMAND)
    assert list(runs(project)) == ["augment-0"]
    (note,) = [warning["message"] for warning in done.json["warnings"] if warning["slug"] == "runs-needless"]
    assert note.startswith(
        "No draw of the first run counts for what augment varies, so 2 more runs would draw the same"
    )
    assert not [warning for warning in done.json["warnings"] if warning["slug"] == "runs-missing"]
    assert "-n 3 --vary augment" in done.json["reproduce"]["command"]
    done = deviate("run", "-n", "3", "--vary", "augment", "--set", "share=none", "--json", *COMMAND)
    assert list(runs(project)) == ["augment-0", "augment-1", "augment-2"]
    assert not [warning for warning in done.json["warnings"] if warning["slug"] == "runs-needless"]


def test_trainings_that_differ_in_kernels_alone_are_made_once_where_kernels_cannot_vary(project):
    words = ("run", "-n", "3", "--vary", "impl", "--vary", "control", "--json")
    done = deviate(*words, *COMMAND)
    # The first run of each is trained: that the two are equal is what the others rest on.
    trained = dict.fromkeys(["control-0", "control-1", "control-2", "impl-0"], "")
    assert runs(project) == {**trained, "impl-1": "control-1", "impl-2": "control-2"}
    free, held = (
        {name: each["values"] for name, each in metrics(done, variant).items() if each["kind"] != "speed"}
        for variant in ("impl", "control")
    )
    assert free == held != {}
    deviate(*words, "--set", "share=none", "--name", "each", *COMMAND)
    each = (project / ".deviate/experiments/each/runs").glob("*/run.json")
    assert {json.loads(path.read_text())["same_as"] for path in each} == {""}
