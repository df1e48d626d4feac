"""``deviate import`` on the command line: what it makes, what the other commands say of it, what it refuses."""

import re
import signal
import sys
from pathlib import Path

import pytest
from cli_tool import TRAIN, deviate, tree
from click.testing import CliRunner

from deviate import api
from deviate.cli.main import group
from deviate.core.errors import BadOption
from deviate.core.interrupts import Stopped

RESULTS = "seed,epoch,val acc,loss\n" + "".join(
    f"{seed},{epoch},{0.5 + epoch / 10 + seed / 100},{1 / (1 + epoch + seed)}\n"
    for seed in range(6)
    for epoch in range(3)
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results.csv").write_text(RESULTS)
    return tmp_path


def test_an_imported_experiment_is_listed_shown_and_reported_as_such(project):
    done = deviate("import", "results.csv", "--json")
    assert done.status == 0
    (made,) = done.json["experiments"]
    assert (made["name"], made["runs"], made["metrics"]) == ("results", 6, ["val acc", "loss"])
    assert made["imported"]["labels"]["5"] == "seed 5"

    listed = deviate("list")
    assert re.search(r"^ +results +imported +0\.725 ± 0\.019 +6 ", listed.out, re.MULTILINE)
    shown = deviate("show", "results")
    assert "imported     as csv" in shown.out
    assert "not known: Deviate did not run it" in shown.out
    assert "seed 5" in shown.out
    assert deviate("show", "results", "--json").json["imported"]["format"] == "csv"

    said = deviate("report", "results", "-v").out
    assert "val acc  0.725 ± 0.019   (mean ± SD of 6 runs, last" in said
    assert "which seeds varied, only their author knows" in " ".join(said.split())
    assert "identical runs" not in said
    assert "only their author knows" in " ".join(said.split())
    (variant,) = deviate("report", "results", "--format", "json").json["variants"]
    assert variant["variant"] == "imported"
    metrics = {metric["name"]: metric for metric in variant["metrics"]}
    assert metrics["val acc"]["values"] == pytest.approx([0.7 + seed / 100 for seed in range(6)])
    assert "time per run" not in metrics


def test_learning_curves_from_python(project):
    deviate("import", "results.csv")
    experiment = api.load("results")
    curve = experiment.curve("val acc", band=0.8)
    assert curve.iterations.tolist() == [0, 1, 2]
    assert curve.median.tolist() == pytest.approx([0.525, 0.625, 0.725])
    assert curve.n.tolist() == [6, 6, 6]
    assert experiment.parting("val acc").iteration == 0
    assert experiment.parting("val acc", tolerance=0.2).iteration is None
    with pytest.raises(BadOption, match="no variant"):
        experiment.curve("val acc", "control")


def test_curves_are_shown_if_asked_and_records_are_not_read_otherwise(project, monkeypatch):
    deviate("import", "results.csv")
    row = next(line for line in deviate("report", "results", "--set", "curves=true").out.splitlines() if "▁▅█" in line)
    assert row.split() == ["val", "acc", "0.525", "▁▅█", "0.725", "3"]

    def refuse(*_, **__):
        raise AssertionError("every value was kept")

    monkeypatch.setattr("deviate.facts.stored.values_by_run", refuse)
    monkeypatch.chdir(project)
    shown = CliRunner().invoke(group, ["report", "results"], catch_exceptions=False)
    assert "val acc" in shown.output
    with pytest.raises(AssertionError, match="every value"):
        CliRunner().invoke(group, ["report", "results", "--set", "curves=true"], catch_exceptions=False)


def test_weak_runs_and_times_on_the_command_line(project):
    deviate("import", "results.csv")
    options = ["--set", "weak=val acc<0.71", "--set", "reach=val acc>=0.65", "--set", "test_size=val acc=100"]
    done = deviate("report", "results", "--format", "json", *options)
    metrics = {metric["name"]: metric for metric in done.json["variants"][0]["metrics"]}
    assert metrics["val acc"]["runs"] == [1, 2, 3, 4, 5]
    assert metrics["val acc"]["including_weak"]["n"] == 6
    assert metrics["val acc"]["finite_test"]["standard_error"] == pytest.approx(0.044, abs=0.001)
    assert metrics["iterations to val acc>=0.65"]["values"] == [2, 2, 2, 2, 1]
    assert "seconds to val acc>=0.65" not in metrics
    refused = deviate("report", "results", "--set", "weak=acc<1")
    assert refused.status == 2
    assert "no metric 'acc'" in refused.err


def test_aggregates_and_directions_are_the_users(project):
    deviate("import", "results.csv", "--set", "aggregate=loss=max", "--set", "direction=loss=lower", "--metric", "loss")
    (variant,) = deviate("report", "results", "--format", "json").json["variants"]
    (metric,) = variant["metrics"]
    assert (metric["name"], metric["aggregate"]) == ("loss", "max")
    assert metric["values"] == pytest.approx([1 / (1 + seed) for seed in range(6)])
    (variant,) = deviate("report", "results", "--format", "json", "--set", "aggregate=loss=at 1").json["variants"]
    assert variant["metrics"][0]["values"] == pytest.approx([1 / (2 + seed) for seed in range(6)])


def test_a_column_makes_several_experiments(project):
    rows = "".join(f"{net},{seed},{0.5 + seed / 10}\n" for net in ("a", "b c") for seed in range(3))
    (project / "nets.csv").write_text("net,seed,acc\n" + rows)
    done = deviate("import", "nets.csv", "--name", "nets", "--experiment-column", "net", "--json")
    assert [(made["name"], made["runs"]) for made in done.json["experiments"]] == [("nets-a", 3), ("nets-b-c", 3)]


def test_a_run_that_failed_enters_no_statistic(project):
    (project / "runs.csv").write_text("run_id,status,metrics.acc\na,FINISHED,0.9\nb,FINISHED,0.8\nc,FAILED,0.1\n")
    done = deviate("import", "runs.csv")
    assert "1 run failed: c; no statistic has their 1 value" in done.out
    assert "deviate.load('runs').records(include_failed=True)" in done.out
    (variant,) = deviate("report", "runs", "--format", "json").json["variants"]
    assert [run["status"] for run in variant["runs"]] == ["completed", "completed", "failed"]
    assert variant["metrics"][0]["values"] == [0.9, 0.8]


def test_files_without_values_are_counted_as_runs_that_failed(project):
    for name, text in (("a", "epoch,acc\n0,0.9\n"), ("b", ""), ("c", "epoch,acc\n0,0.8\n")):
        (project / f"{name}.csv").write_text(text)
    done = deviate("import", "a.csv", "b.csv", "c.csv", "--name", "some")
    assert "1 run failed: b.csv\n" in done.out
    said = deviate("report", "some").out
    assert "1 of 3 runs failed" in said
    assert "b.csv has no row below its head" in " ".join(said.split())
    assert "b.csv has no row below its head" in deviate("show", "some").out


def test_copies_of_one_run_are_pointed_out(project):
    for name in ("run1.csv", "run2.csv", "best.csv"):
        (project / name).write_text("epoch,acc\n0,0.1\n1,0.2\n")
    done = deviate("import", "run1.csv", "run2.csv", "--name", "twice")
    assert "exactly the same values" in done.out
    assert "Taken for repeats of one recipe: no settings of theirs are known" in done.out
    asked = deviate("import", "run1.csv", "best.csv", "--name", "other")
    assert asked.status == 2
    assert "--run-column file if all are repeats" in asked.err


def test_a_name_is_taken_once_and_replaced_on_request(project):
    assert deviate("import", "results.csv").status == 0
    taken = deviate("import", "results.csv")
    assert taken.status == 2
    assert "--set replace=true" in taken.err
    (project / "results.csv").write_text("seed,acc\n0,1\n1,2\n")
    assert deviate("import", "results.csv", "--set", "replace=true").status == 0
    assert deviate("show", "results", "--json").json["planned"] == {"imported": 2}


def test_what_a_killed_import_was_about_to_replace_is_put_back_by_the_next(project, monkeypatch):
    assert deviate("import", "results.csv").status == 0
    rename = Path.rename

    def kill(path, target):
        if not path.name.startswith("results"):
            raise Stopped(signal.SIGTERM)
        return rename(path, target)

    (project / "other.csv").write_text(RESULTS)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", kill)
        with pytest.raises(Stopped):
            deviate("import", "results.csv", "--set", "replace=true")
    assert api.names() == []
    assert deviate("import", "other.csv").status == 0
    assert api.names() == ["other", "results"]
    assert not list(project.glob(".deviate/experiments/.*"))


def test_run_never_continues_what_was_imported_and_import_never_replaces_what_was_run(project):
    (project / "train.py").write_text(TRAIN)
    deviate("import", "results.csv", "--name", "study")
    refused = deviate("run", "-n", "2", "--name", "study", "--", sys.executable, "train.py")
    assert refused.status == 2
    assert "imported" in refused.err
    assert deviate("run", "-n", "2", "--name", "ran", "--", sys.executable, "train.py").status == 0
    refused = deviate("import", "results.csv", "--name", "ran", "--set", "replace=true")
    assert refused.status == 2
    assert "was run by Deviate" in refused.err


REFUSED = {
    "no such file": (["import", "missing.csv"], "missing.csv is not there"),
    "epochs as runs": (["import", "results.csv", "--run-column", "epoch"], "these are no runs"),
    "unknown column": (["import", "results.csv", "--run-column", "sed"], "there is no column 'sed'"),
    "unknown metric": (["import", "results.csv", "--metric", "acc"], "names 'acc', which was not found"),
    "no aggregate": (["import", "results.csv", "--set", "aggregate=loss=median"], "is no aggregate"),
    "no direction": (["import", "results.csv", "--set", "direction=loss=down"], "Invalid enum value"),
    "no sign": (["import", "results.csv", "--set", "where=fold"], "is not where=NAME=VALUE"),
    "bad name": (["import", "results.csv", "--name", ".."], "cannot name an experiment"),
    "a log without a pattern": (["import", "notes.txt"], "does not show what it is"),
    "nothing": (["import"], "PATHS"),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_input_is_refused_and_nothing_is_written(project, words, said):
    (project / "notes.txt").write_text("text\n")
    before = tree(project)
    done = deviate(*words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err
    assert tree(project) == before
