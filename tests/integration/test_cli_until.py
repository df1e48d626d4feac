"""``deviate run --until`` on a project that trains in a moment; ``deviate check`` on results that were imported."""

import json
import re
import subprocess
import sys

import pytest
from cli_tool import TRAIN, deviate

from deviate import api

COMMAND = ("--", sys.executable, "train.py")

#: Reports also under keys that are made while it runs.
MAPPED = """\
    stats = {}
    for split in ("left", "right"):
        stats[f"{split} loss"] = (weight - len(split)) ** 2
    print(stats)
"""


@pytest.fixture(scope="module")
def enough(tmp_path_factory):
    """Five runs before the first look, and a width that they reach: seven runs."""
    project = tmp_path_factory.mktemp("until") / "train"
    project.mkdir()
    (project / "train.py").write_text(TRAIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.delenv("PYTHONPATH", raising=False)
        done = deviate("run", "-n", "5", "-j", "2", "--until", "train loss ±50", "--json", *COMMAND)
    assert done.status == 0, done.err
    return project, done


@pytest.fixture
def project(enough, monkeypatch):
    monkeypatch.chdir(enough[0])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return enough[0]


def test_it_goes_on_until_there_are_enough_runs_and_says_so(enough):
    (variant,) = enough[1].json["variants"]
    # Two side by side: after five runs a round of two, which are the two beyond the first narrow look.
    assert [run["index"] for run in variant["runs"]] == list(range(7))
    until = variant["until"]
    assert (until["criterion"], until["met"], until["n"], until["wanted"]) == ("train loss ±50", True, 7, 50.0)
    (loss,) = [metric for metric in variant["metrics"] if metric["name"] == "train loss"]
    assert loss["ci_mean"] == pytest.approx([loss["mean"] - 50, loss["mean"] + 50])
    assert loss["ci_mean"] == until["interval"]
    assert any("Enough after 7 runs (--until 'train loss ±50')" in sentence for sentence in variant["headline"])
    assert any(warned["slug"] == "stopped-by-rule" for warned in enough[1].json["warnings"])


def test_what_is_seen_meanwhile(enough):
    said = enough[1].err
    assert re.search(r"run [56]  .*\(7 of 7\)\n", said)  # side by side: either may end last
    assert "after 5 runs, narrow enough; 7 runs keep the level" in said
    assert "after 7 runs: enough" in said


def test_the_same_command_again_makes_no_run_and_other_reports_say_the_same(project):
    again = deviate("run", "-n", "5", "--until", "Train Loss ±50", "--json", *COMMAND)
    assert again.status == 0
    assert again.json["variants"][0]["until"]["criterion"] == "train loss ±50"
    assert "(1 of " not in again.err
    assert len(again.json["variants"][0]["runs"]) == 7
    for format_name in ("terminal", "md"):
        assert "Enough after 7 runs" in " ".join(deviate("report", "train", "--format", format_name).out.split())
    other = json.loads(deviate("report", "train", "--format", "json", "--level", "0.9").out)["variants"][0]
    (loss,) = [metric for metric in other["metrics"] if metric["name"] == "train loss"]
    assert loss["ci_mean"][1] - loss["ci_mean"][0] < 100


def test_a_look_beyond_the_runs_allowed_ends_it_and_asking_for_more_takes_the_rule_back(project):
    done = deviate("run", "-n", "5", "--until", "train loss +-0.000001", "--max", "8", "--json", *COMMAND)
    assert done.status == 1
    (variant,) = done.json["variants"]
    assert (len(variant["runs"]), variant["until"]["met"]) == (8, False)
    (sentence,) = [each for each in variant["headline"] if "Not met" in each]
    assert "after 8 runs (--max 8)" in sentence
    assert api.load("train").experiment.until.most == 8
    assert deviate("run", "-n", "8", *COMMAND).status == 1
    assert api.load("train").experiment.until is not None
    plain = deviate("run", "-n", "9", "--json", *COMMAND).json["variants"][0]
    assert plain["until"] is None
    assert api.load("train").experiment.until is None


def test_bad_questions_write_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    for words in (
        ["--until", "train los ±1"],
        ["--until", "train loss 1"],
        ["--max", "3"],
        ["--until", "x ±1", "-n", "2"],
    ):
        done = deviate("run", *words, *COMMAND)
        assert done.status == 2, done.err
        assert "fix: " in done.err or "did you mean 'train loss'?" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


def test_a_metric_that_never_came_stops_after_the_first_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "train.py").write_text(TRAIN + MAPPED)
    done = deviate("run", "--until", "middle loss ±1", *COMMAND)
    assert done.status == 1, done.err
    assert "no run of 'train' recorded 'middle loss'" in done.err
    assert "left loss" in done.err.partition("recorded were: ")[2]
    assert len(list((tmp_path / ".deviate" / "experiments" / "train" / "runs").iterdir())) == 1


BASELINE = "experiment,variant,run,metric,iteration,elapsed_s,value\n" + "".join(
    f"b,algo+impl,{run},{metric},0,0.1,{value + run / 10}\n"
    for run in range(6)
    for metric, value in (("val acc", 90.0), ("val loss", 2.0))
)


def test_a_gate_against_records_that_were_exported_in_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "baseline.csv").write_text(BASELINE)
    (tmp_path / "new.csv").write_text(BASELINE.replace("90.0", "91.0").replace(",90.", ",89."))
    for name in ("baseline", "new"):
        assert deviate("import", f"{name}.csv", "--name", name, "--set", "where=variant=algo+impl").status == 0
    words = ["new", "--against", "baseline", "--metric", "val acc", "--json"]
    command = [sys.executable, "-m", "deviate", "check", *words, "--max-drop", "0.2"]
    alone = subprocess.run(command, capture_output=True, text=True)
    assert alone.returncode == 1, alone.stderr
    found = json.loads(alone.stdout)
    assert (found["a"], found["passed"], found["metrics"][0]["test"]) == ("new", False, "welch_t")
    for drop, status in (("2", 0), ("1%", 1)):
        done = deviate("check", *words, "--max-drop", drop)
        assert (done.status, done.json["passed"]) == (status, status == 0)
    assert deviate("check", "new", "--against", "baseline", "--metric", "val los").status == 2


def test_each_variant_goes_on_until_it_has_enough_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "train.py").write_text(TRAIN)
    vary = ("--vary", "algo+impl", "--vary", "control")
    done = deviate("run", "-n", "5", "--until", "train loss ±50", *vary, "--json", *COMMAND)
    assert done.status == 0, done.err
    varied, held = done.json["variants"]
    assert (len(varied["runs"]), varied["until"]["met"]) == (7, True)
    # Nothing varies in it, so that all values are equal is what is meant, and more of them would tell nothing.
    assert (len(held["runs"]), held["until"]["met"], held["until"]["interval"]) == (5, False, None)
    assert any("all gave exactly the same value, so there is no interval" in each for each in held["headline"])


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """An experiment of six short trainings, to decide against."""
    project = tmp_path_factory.mktemp("decided")
    (project / "train.py").write_text(TRAIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.delenv("PYTHONPATH", raising=False)
        assert deviate("run", "-n", "6", "-j", "2", "--name", "base", *COMMAND, "1").status == 0
    return project


def test_runs_are_added_until_it_is_decided_and_compare_says_the_same(base, monkeypatch):
    monkeypatch.chdir(base)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    words = ("run", "-n", "5", "--max", "9", "--name", "longer", "--until", "test accuracy decided against base")
    done = deviate(*words, *COMMAND, "40")
    assert done.status == 0, done.err
    runs = len(api.load("longer").samples().run.unique())
    lines = [line for line in done.err.splitlines() if "algo+impl against base: test accuracy" in line]
    assert len(lines) == runs - 4
    assert lines[-1].endswith("decided, algo+impl is better")
    assert api.load("longer").experiment.decided.against == "base"
    assert "Runs were added until a difference from base was shown" in " ".join(
        deviate("report", "longer", "-v").out.split()
    )
    compared = deviate("compare", "longer", "base", "--metric", "test accuracy", "--json").json
    assert compared["look"]["number"] == runs - 4
    assert (compared["look"]["most"], compared["look"]["most_b"], compared["look"]["open"]) == (9, 6, False)
    assert compared["metrics"][0]["verdict"] == "a better"
    assert "(1 of " not in deviate(*words, *COMMAND, "40").err


def test_equal_recipes_end_undecided_with_the_runs_that_are_allowed(base, monkeypatch):
    monkeypatch.chdir(base)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    words = ("run", "-n", "5", "-j", "2", "--name", "twin", "--seed", "7", "--until", "decided against base")
    done = deviate(*words, "--max", "7", *COMMAND, "1")
    assert done.status == 1, done.err
    assert "7 against 6 runs" in done.err
    assert "not decided, and no more runs are allowed" in done.err
    assert deviate("run", "-n", "8", "--name", "twin", "--seed", "7", *COMMAND, "1").status == 0
    assert api.load("twin").experiment.decided is None


def test_what_cannot_be_decided_writes_nothing(base, monkeypatch):
    monkeypatch.chdir(base)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    for until in ("decided against nobody", "test accuraci decided against base", "x decided against base"):
        done = deviate("run", "--name", "none", "--until", until, *COMMAND)
        assert done.status == 2, done.err
    assert "none" not in api.names()
