"""Commands beside the training (``--then``, ``[[evaluate]]``, ``[setup]``, ``[cleanup]``), on a small project."""

import json
import re
import sys

import pandas as pd
import pytest
from cli_tool import deviate

from deviate import load
from deviate.observe.tables import open_tables, values_by_run

#: Both programs import `score`, which reports: its instrumented text differs between them.
SCORE = """\
def report(name, value):
    print(f"{name} accuracy {value:.6f}")
"""

TRAIN = """\
import json, random
import score

weight = 0.0
for epoch in range(3):
    weight += random.gauss(0, 1)
    loss = weight ** 2
    print(f"train loss {loss:.6f}")
score.report("test", weight)
json.dump(weight, open("model.json", "w"))
"""

EVALUATE = """\
import json, os, random
import score

bias = 1000
weight = json.load(open("model.json"))
print(f"bias error {bias + weight:.6f}")
score.report("kept", weight)
print(f"noisy error {weight + random.gauss(0, 0.01):.6f}")
print("env", os.environ.get("MODE"), repr(os.environ.get("CUDA_VISIBLE_DEVICES")), os.environ.get("OMP_NUM_THREADS"))
"""

RUN = ("run", "-n", "2", "--json")
COMMAND = ("--", sys.executable, "train.py")
THEN = f"{sys.executable} evaluate.py"


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in (("score", SCORE), ("train", TRAIN), ("evaluate", EVALUATE)):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def metrics_of(done):
    (variant,) = done.json["variants"]
    return {metric["name"]: metric for metric in variant["metrics"]}


def run_folder(project, index, name="train"):
    return project / ".deviate" / "experiments" / name / "runs" / f"algo+impl-{index}"


def model(project, index):
    (path,) = run_folder(project, index).glob("work/*/model.json")
    return json.loads(path.read_text())


def as_trained(project, metrics):
    """Tell whether the evaluations report of each run what its own training left, each value under its own name."""
    weights = [model(project, index) for index in range(2)]
    kept = next(metric for name, metric in metrics.items() if name.startswith("evaluate: ") and "accuracy" in name)
    assert kept["values"] == pytest.approx(weights, abs=1e-6)
    bias = metrics["evaluate: bias error"]["values"]
    assert bias == pytest.approx([1000 + weight for weight in weights], abs=1e-6)
    return weights[0] != weights[1]


def test_an_evaluation_runs_in_the_folder_of_each_run_and_its_metrics_join_the_others(project):
    done = deviate(*RUN, "--then", THEN, *COMMAND)
    assert done.status == 0, done.err
    metrics = metrics_of(done)
    assert as_trained(project, metrics)
    assert "train loss" in metrics
    assert metrics["evaluate: noisy error"]["site"] == "evaluate.py:8"
    (evaluation,) = done.json["evaluations"]
    assert (evaluation["name"], evaluation["runs"], evaluation["evaluated"]) == ("evaluate", 2, 2)
    assert f"--then '{THEN}'" in done.json["reproduce"]["command"]
    assert any(sentence.startswith("After each training, we ran") for sentence in done.json["methods"])
    chosen = deviate("report", "train", "--metric", "noisy error", "--format", "json")
    assert list(metrics_of(chosen)) == ["evaluate: noisy error"]
    assert "Evaluations after the training" in deviate("report", "train", "--format", "md").out


def test_finished_runs_are_evaluated_without_training_and_only_once(project):
    alone = deviate(*RUN, *COMMAND)
    before = [run_folder(project, index).joinpath("outcome.json").read_bytes() for index in range(2)]
    done = deviate("run", "--json", "--name", "train", "--then", THEN)
    assert done.status == 0, done.err
    assert as_trained(project, metrics_of(done))
    assert [run_folder(project, index).joinpath("outcome.json").read_bytes() for index in range(2)] == before
    assert metrics_of(done)["train loss"] == metrics_of(alone)["train loss"]
    lines = [line for line in done.err.splitlines() if "evaluated" in line]
    assert len(lines) == 2
    assert all(re.match(r"run \d  evaluated  ", line) for line in lines), lines
    assert all("  test accuracy " in line and "  evaluate: noisy error " in line for line in lines), lines
    again = deviate("run", "--json", "--name", "train", "--then", THEN)
    assert "evaluated" not in again.err
    # A run that is added is evaluated as the others are.
    more = deviate("run", "-n", "3", "--json", *COMMAND)
    assert metrics_of(more)["evaluate: noisy error"]["n"] == 3


def test_repeats_device_threads_and_variables_come_from_the_configuration(project, monkeypatch):
    # Shared out among trainings, and not taken for the evaluation's own.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    table = f'[[evaluate]]\nname = "cpu"\ncommand = "{THEN}"\nrepeat = 3\nthreads = 1\ndevice = "cpu"\n'
    (project / "deviate.toml").write_text(table + 'environment = { MODE = "fast" }\n')
    done = deviate(*RUN, "-j", "2", *COMMAND)
    assert done.status == 0, done.err
    for repeat in range(3):
        printed = (run_folder(project, 0) / "steps" / f"cpu-{repeat}" / "stdout.log").read_text()
        assert "env fast '' 1" in printed
    (evaluation,) = done.json["evaluations"]
    within = {each["metric"]: each for each in evaluation["within"]}
    logs = (run_folder(project, 0) / "steps" / f"cpu-{repeat}" / "stdout.log" for repeat in range(3))
    assert deviate("logs", "train", "0", "cpu", "--stdout").out == "".join(log.read_text() for log in logs)
    # What is drawn in the evaluation differs between its repeats, what the training left does not.
    assert 0.001 < within["cpu: noisy error"]["sd_within"] < 0.05 < within["cpu: noisy error"]["sd_between"]
    assert within["cpu: bias error"]["sd_within"] == 0
    weights = [model(project, index) for index in range(2)]
    assert metrics_of(done)["cpu: bias error"]["values"] == pytest.approx([1000 + weight for weight in weights])
    assert "SD within a run" in deviate("report", "train", "-v").out
    with open_tables(load("train").folder) as tables:
        whole, parts, values = tables.records(), list(tables.parts()), values_by_run(tables)
    frames = [pd.DataFrame({"variant": variant, "run": run, **columns}) for variant, run, columns in parts]
    pd.testing.assert_frame_equal(pd.concat(frames, ignore_index=True), whole)
    of_metric = whole.groupby(["variant", "run", "metric"])["value"].agg(list)
    kept = {
        (variant, run, name): series.values.tolist()
        for variant, runs in values.items()
        for run, metrics in runs.items()
        for name, series in metrics.items()
    }
    assert kept == of_metric.to_dict()


def test_a_failed_evaluation_is_said_and_loses_nothing_of_the_training(project):
    (project / "evaluate.py").write_text(EVALUATE.replace("bias = 1000", "import absent"))
    done = deviate(*RUN, "--then", THEN, *COMMAND)
    assert done.status == 1
    assert metrics_of(done)["train loss"]["n"] == 2
    said = [warning["message"] for warning in done.json["warnings"] if warning["slug"] == "evaluation-failed"]
    assert len(said) == 1
    assert "algo+impl-0 and algo+impl-1" in said[0]
    assert "No module named 'absent'" in said[0]
    # The edited script is another evaluation; the runs are not trained again, although git would know the file.
    (project / "evaluate.py").write_text(EVALUATE)
    again = deviate(*RUN, "--then", THEN, *COMMAND)
    assert again.json["experiment"] == "train"
    assert again.json["variants"][0]["runs"] == done.json["variants"][0]["runs"]
    assert metrics_of(again)["evaluate-2: noisy error"]["n"] == 2


def test_a_file_that_the_training_read_is_not_evaluated_with_once_it_was_edited(project):
    deviate(*RUN, *COMMAND)
    (project / "score.py").write_text(SCORE + "\nEDITED = True\n")
    refused = deviate("run", "--name", "train", "--then", THEN)
    assert refused.status == 2
    assert "score.py was edited since the runs of 'train' were trained with it" in refused.err
    assert deviate("run", "--name", "train", "--then", THEN, "--edited").status == 0


def test_what_was_deleted_cannot_be_evaluated(project):
    deviate(*RUN, "--set", "discard_work=true", *COMMAND)
    for words in (
        ["run", "--name", "train", "--then", THEN],
        [*RUN, "--set", "discard_work=true", "--then", THEN, *COMMAND],
    ):
        done = deviate(*words)
        assert (done.status, "the runs of 'train' have no working folder any more" in done.err) == (2, True)
    # Nothing of it stays, and runs that are still to be trained can be evaluated.
    assert deviate("report", "train", "--format", "json").json["evaluations"] == []
    more = deviate(*("3" if word == "2" else word for word in RUN), "--then", THEN, *COMMAND)
    assert any("the folder of its run was deleted" in warning["message"] for warning in more.json["warnings"])


def test_with_discard_work_a_run_is_evaluated_before_its_folder_goes(project):
    done = deviate(*RUN, "--set", "discard_work=true", "--then", THEN, *COMMAND)
    assert metrics_of(done)["evaluate: noisy error"]["n"] == 2
    assert not (run_folder(project, 0) / "work").exists()


@pytest.mark.parametrize(
    ("toml", "words", "message"),
    [
        ("", ("--name", "train"), "none to evaluate with"),
        ("", ("--then", "", *COMMAND), "--then is empty"),
        ("", ("--then", "python evaluate.py --api-key abc", *COMMAND), "holds a secret"),
        ("", ("--then", "python -c 'print(1)'", *COMMAND), "write the code into a script, and start that"),
        ('[[evaluate]]\nname = "a/b"\ncommand = "python evaluate.py"\n', COMMAND, "deviate.toml:1"),
        ('[[evaluate]]\ncommand = "python evaluate.py"\nrepeat = 0\n', COMMAND, "repeat = 0"),
        ('[[evaluate]]\nkommand = "python evaluate.py"\n', COMMAND, "kommand"),
        ('[setup]\ncommand = "echo \'"\n', COMMAND, "No closing quotation"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_trained(project, toml, words, message):
    if "--name" in words:
        deviate(*RUN, *COMMAND)
    (project / "deviate.toml").write_text(toml)
    refused = deviate("run", *words)
    assert refused.status == 2
    assert message in refused.err


def test_set_up_and_clean_up_are_around_the_training_and_outside_of_its_time(project):
    (project / "deviate.toml").write_text(
        '[setup]\ncommand = "sh -c \'echo 7 > made.txt\'"\n[cleanup]\ncommand = "mv made.txt gone.txt"\n'
    )
    (project / "train.py").write_text(TRAIN + 'print("made loss", int(open("made.txt").read()))\n')
    done = deviate("run", "-n", "1", "--json", "--then", THEN, *COMMAND)
    assert done.status == 0, done.err
    (run,) = done.json["variants"][0]["runs"]
    assert run["seconds"] == json.loads((run_folder(project, 0) / "ended.json").read_text())["seconds"]
    assert {path.name for path in (run_folder(project, 0) / "steps").iterdir()} == {
        "setup-0",
        "evaluate-0",
        "cleanup-0",
    }
    (work,) = run_folder(project, 0).glob("work/*")
    assert (work / "gone.txt").read_text() == "7\n"
    assert not (work / "made.txt").exists()


def test_a_set_up_that_fails_fails_the_run_and_the_clean_up_is_done_all_the_same(project):
    (project / "deviate.toml").write_text(
        '[setup]\ncommand = "sh -c \'echo no space >&2; exit 3\'"\n[cleanup]\ncommand = "touch cleaned"\n'
    )
    done = deviate("run", "-n", "1", "--json", *COMMAND)
    assert done.status == 1
    (run,) = done.json["variants"][0]["runs"]
    assert run["status"] == "failed"
    assert run["reason"] == "its set-up did not complete: it ended with status 3: no space"
    assert list(run_folder(project, 0).glob("work/*/cleaned"))
    assert not list(run_folder(project, 0).glob("work/*/model.json"))


def evaluated_twice(project):
    """Make two runs that are evaluated twice; return what is reported, and the folder of a pass."""
    text = EVALUATE + "import sys\nsys.stdout.write(''.join(f'{n} {v}\\n' for n, v in {'seen loss': weight}.items()))\n"
    (project / "evaluate.py").write_text(text)
    (project / "deviate.toml").write_text(f'[[evaluate]]\ncommand = "{THEN}"\nrepeat = 2\n')
    done = deviate(*RUN, *COMMAND)
    assert done.status == 0, done.err
    return done, run_folder(project, 0) / "steps" / "evaluate-1"


@pytest.mark.parametrize(("name", "slug"), [("records-*.bin", "evaluation-failed"), ("stdout.log", "text-damaged")])
def test_a_run_with_a_damaged_pass_has_no_mean_of_the_others(project, name, slug):
    whole, folder = evaluated_twice(project)
    (path,) = folder.glob(name)
    data = path.read_bytes()
    path.write_bytes(data[:5] + b"12345" + data[10:])
    done = deviate("report", "train", "--format", "json")
    before, after = metrics_of(whole), metrics_of(done)
    assert before["evaluate: seen loss"]["observed"]
    assert not before["evaluate: noisy error"]["observed"]
    for metric, each in before.items():
        lost = metric.startswith("evaluate: ") and (each["observed"] or slug == "evaluation-failed")
        assert after[metric]["values"] == each["values"][lost:]
    (said,) = [warning["message"] for warning in done.json["warnings"] if warning["slug"] == slug]
    assert path.name in said
    if slug == "evaluation-failed":
        again = deviate(*RUN, "--retry-failed", *COMMAND)
        assert "evaluated" in again.err
        assert metrics_of(again)["evaluate: bias error"] == before["evaluate: bias error"]


def test_an_evaluation_whose_source_was_damaged_is_refused_until_it_is_put_back(project):
    deviate(*RUN, "--then", THEN, *COMMAND)
    copy = project / ".deviate/experiments/train/steps/evaluate/evaluate.py"
    copy.write_text("print('noisy error 0.5')\n")
    refused = deviate("run", "-n", "3", *COMMAND)
    assert refused.status == 2
    assert "steps/evaluate were changed, and runs are evaluated with them" in refused.err
    assert "deviate run --name train --then" in refused.err
    assert deviate("run", "--name", "train", "--then", THEN).status == 0
    assert copy.read_text() == EVALUATE
    assert metrics_of(deviate("run", "-n", "3", "--json", *COMMAND))["evaluate: noisy error"]["n"] == 3


def test_a_mistaken_evaluation_is_said_to_have_failed_and_can_be_dropped(project):
    (project / "wrong.py").write_text(f"raise ValueError('{'far ' * 40}wrong')\n")
    deviate(*RUN, *COMMAND)
    done = deviate("run", "--name", "train", "--then", f"{sys.executable} wrong.py")
    assert f"run 0  wrong failed: it ended with status 1: ValueError: {'far ' * 40}wrong" in done.err
    assert "run 0  not evaluated by wrong" in done.err
    assert "far wrong" in deviate("logs", "train", "0", "wrong").out
    assert "wrong.py" in deviate("show", "train").out
    assert "evaluations: wrong" in deviate("logs", "train", "0", "other").err
    assert "evaluations: wrong" in deviate("rm", "train", "--evaluation", "other", "--yes").err
    assert deviate("rm", "train", "--evaluation", "wrong", "--yes").out == "removed wrong of train\n"
    left = deviate("report", "train", "--format", "json").json
    assert left["evaluations"] == []
    assert "evaluation-failed" not in [warning["slug"] for warning in left["warnings"]]
    assert not list(project.glob(".deviate/experiments/train/**/steps/wrong*"))
    assert deviate(*RUN, *COMMAND).status == 0


def test_an_evaluation_that_is_added_leaves_the_main_metric(project):
    noisy = f"{THEN} --noise 2"
    first = deviate(*RUN, "--then", THEN, "--then", noisy, *COMMAND).json
    names = [metric["name"] for metric in first["variants"][0]["metrics"]]
    bare = [name.removeprefix("evaluate: ") for name in names if name.startswith("evaluate: ")]
    assert bare
    assert all(names.index(f"evaluate: {name}") < names.index(f"evaluate-2: {name}") for name in bare)
    assert not first["variants"][0]["headline"][0].startswith("evaluate-2")
    refused = deviate("report", "train", "--metric", "noisy error")
    assert "'noisy error' names 2 metrics" in refused.err
    assert "'evaluate: noisy error'" in refused.err
    assert "'evaluate-2: noisy error'" in refused.err
    assert re.search(r"evaluate-2\s+\S*python", deviate("report", "train", "-v").out)
