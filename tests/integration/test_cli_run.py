"""``deviate run`` and what can be asked about it afterwards, on a project that trains in a moment."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys

import pytest
from cli_tool import TRAIN, deviate, tree

import deviate as package

COMMAND = ("--", sys.executable, "train.py")


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with three runs, and what they said; each test has a copy of it."""
    project = tmp_path_factory.mktemp("made") / "train"
    project.mkdir()
    (project / "train.py").write_text(TRAIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.delenv("PYTHONPATH", raising=False)
        done = deviate("run", "-n", "3", "--json", *COMMAND)
    assert done.status == 0, done.err
    return project, done


@pytest.fixture
def trained(made, project):
    shutil.copytree(made[0], project, symlinks=True, dirs_exist_ok=True)
    return made[1]


def metrics_of(done, variant="algo+impl"):
    (found,) = [each for each in done.json["variants"] if each["variant"] == variant]
    return {metric["name"]: metric for metric in found["metrics"]}


def test_the_json_holds_the_documented_keys(trained):
    document = trained.json
    assert document["schema"] == 1
    assert document["experiment"] == "train"
    assert document["command"] == list(COMMAND[1:])
    (variant,) = document["variants"]
    assert [run["index"] for run in variant["runs"]] == [0, 1, 2]
    assert {run["status"] for run in variant["runs"]} == {"completed"}
    assert all(run["seconds"] > 0 and "seeds" in run and "fingerprints" in run for run in variant["runs"])
    wanted = {
        "name",
        "aggregate",
        "n",
        "mean",
        "sd",
        "cv",
        "min",
        "max",
        "range",
        "ci_mean",
        "ci_sd",
        "values",
        "excluded",
    }
    assert all(wanted <= metric.keys() for metric in variant["metrics"])
    assert isinstance(document["warnings"], list)


def test_metrics_are_those_the_program_prints_sorted_by_cv(trained):
    (variant,) = trained.json["variants"]
    names = [metric["name"] for metric in variant["metrics"]]
    assert {"train loss", "test accuracy", "time per run", "time per iteration"} <= set(names)
    known = [metric["cv"] for metric in variant["metrics"] if metric["cv"] is not None]
    assert known == sorted(known, reverse=True)


def test_the_recorded_values_are_the_printed_ones(trained, project):
    values = metrics_of(trained)["train loss"]["values"]
    for index, value in enumerate(values):
        last = deviate("logs", "train", index).out.splitlines()[-1]
        assert f"train loss {value:.4f} " in last


def test_runs_differ_unless_every_seed_is_held(trained):
    assert len(set(metrics_of(trained)["train loss"]["values"])) == 3
    control = deviate("run", "-n", "3", "--vary", "control", "--json", *COMMAND)
    assert len(set(metrics_of(control, "control")["train loss"]["values"])) == 1


def test_as_is_prints_what_the_bare_program_prints(project):
    bare = subprocess.run([sys.executable, "train.py"], capture_output=True, text=True, check=True).stdout
    deviate("run", "-n", "1", "--vary", "as-is", *COMMAND)
    assert deviate("logs", "train", "as-is-0").out == bare


def test_a_larger_n_adds_runs_and_keeps_the_others(project):
    assert deviate("run", "-n", "3", *COMMAND).status == 0
    runs = project / ".deviate/experiments/train/runs"
    before = {path.name: tree(path) for path in runs.iterdir()}
    more = deviate("run", "-n", "5", "--json", *COMMAND)
    assert metrics_of(more)["train loss"]["n"] == 5
    assert {name: tree(runs / name) for name in before} == before


def test_runs_that_are_added_go_on_side_by_side_as_those_before(project):
    deviate("run", "-n", "2", "-j", "2", *COMMAND)
    assert deviate("run", "-n", "3", *COMMAND).status == 0
    infos = [run.read_info() for run in package.load("train").folder.runs()]
    assert [(info.jobs, info.threads) for info in infos] == [(2, infos[0].threads)] * 3


def test_the_same_command_again_runs_nothing(trained):
    again = deviate("run", "-n", "3", "--json", *COMMAND)
    assert "(1 of " not in again.err
    assert metrics_of(again) == metrics_of(trained)


def test_reports_written_into_the_project_are_no_source_of_the_training(trained, project):
    for words in (("-o", "out.csv"), ("-o", "report.html"), ("--set", "figures=figures")):
        assert deviate("report", "train", *words).status == 0
    done = deviate("run", "-n", "4", "--json", *COMMAND)
    assert done.json["experiment"] == "train"
    assert "new one" not in done.err


def test_what_is_said_at_the_end_of_a_run_are_its_last_values(trained, project):
    first = next(line for line in trained.err.splitlines() if line.startswith("run 0  "))
    said = [metric["values"][0] for metric in trained.json["variants"][0]["metrics"] if metric["kind"] != "speed"]
    shown = re.search(r" (\d[\d.]*)  \(", first)[1]
    digits = len(shown.partition(".")[2])
    assert shown in [f"{value:.{digits}f}" for value in said]


def test_an_edit_makes_a_new_experiment_and_is_refused_under_a_name(trained, project):
    with (project / "train.py").open("a") as file:
        file.write("# edited\n")
    assert deviate("run", "-n", "1", "--json", *COMMAND).json["experiment"] == "train-2"
    refused = deviate("run", "-n", "4", "--name", "train", *COMMAND)
    assert refused.status == 2
    assert "train.py" in refused.err
    assert "--name" in refused.err


def test_a_name_of_another_command_is_refused(trained):
    refused = deviate("run", "-n", "1", "--name", "train", *COMMAND, "7")
    assert refused.status == 2
    assert "another command" in refused.err


def test_failed_runs_are_kept_shown_and_enter_no_statistic(project):
    crash = "if random.random() < 0.5:\n    raise RuntimeError('unlucky draw')\n"
    (project / "train.py").write_text(TRAIN + crash)
    done = deviate("run", "-n", "6", "--json", *COMMAND)
    assert done.status == 1
    (variant,) = done.json["variants"]
    failed = [run["index"] for run in variant["runs"] if run["status"] == "failed"]
    assert 0 < len(failed) < 6
    assert metrics_of(done)["train loss"]["n"] == 6 - len(failed)
    shown = deviate("report", "train").out
    assert "unlucky draw" in " ".join(shown.split())
    assert "RuntimeError" in deviate("logs", "train", failed[0]).out


def test_a_project_that_records_nothing_stops_after_its_first_run(project):
    (project / "train.py").write_text(TRAIN.replace("range(epochs)", "range(0)"))
    done = deviate("run", "-n", "5", *COMMAND)
    assert done.status == 1
    assert "recorded no value of a metric" in done.err
    assert [path.name for path in (project / ".deviate/experiments/train/runs").iterdir()] == ["algo+impl-0"]


def test_a_project_that_misses_a_module_stops_after_its_first_run(project):
    (project / "train.py").write_text("import not_installed_anywhere\n" + TRAIN)
    done = deviate("run", "-n", "5", *COMMAND)
    assert done.status == 1
    assert (
        "(4 not started): ModuleNotFoundError: No module named 'not_installed_anywhere'\nfix:   install the package, "
        in done.err
    )
    assert [path.name for path in (project / ".deviate/experiments/train/runs").iterdir()] == ["algo+impl-0"]
    (project / "train.py").write_text(TRAIN)
    assert deviate("run", "-n", "2", *COMMAND).status == 0


def test_a_name_that_a_module_lacks_asks_for_no_package(project):
    (project / "train.py").write_text("from json import not_there\n" + TRAIN)
    done = deviate("run", "-n", "5", *COMMAND)
    assert "cannot import name 'not_there'" in done.err
    assert "install" not in done.err


def test_a_first_run_that_no_instrument_reached_is_the_only_one(project):
    done = deviate("run", "-n", "3", "--", "env", "PYTHONPATH=.", *COMMAND[1:])
    assert done.status == 1
    assert "(2 not started)" in done.err
    assert "PYTHONPATH=src deviate run" in done.err
    assert started(project) == ["algo+impl-0"]


#: Fails in its second iteration.
FAIL = TRAIN + "    if epoch == 1:\n        raise RuntimeError('no room')\n"


def started(project):
    return sorted(path.name for path in (project / ".deviate/experiments/train/runs").iterdir())


def test_runs_that_fail_alike_end_after_two_and_go_on_where_that_is_asked_for(project):
    (project / "train.py").write_text(FAIL)
    done = deviate("run", "-n", "4", *COMMAND)
    assert done.status == 1
    assert "train.py failed alike, 2 of 2 runs (2 not started): " in done.err
    assert done.err.count("even_so=true") == 1
    assert started(project) == ["algo+impl-0", "algo+impl-1"]
    assert (
        deviate("run", "-n", "4", "--set", "even_so=true", "--json", *COMMAND).json["variants"][0]["failures"]["failed"]
        == 4
    )


def test_failures_at_different_places_are_an_outcome(project):
    varied = FAIL.replace("if epoch == 1", "if epoch == int('work/' in __file__ and 'impl-0' in __file__)")
    (project / "train.py").write_text(varied)
    done = deviate("run", "-n", "3", "--json", *COMMAND)
    assert done.json["variants"][0]["failures"]["failed"] == 3


def test_a_run_that_falls_silent_has_failed_with_the_reason(project):
    (project / "train.py").write_text(TRAIN + "import time\ntime.sleep(60)\n")
    done = deviate("run", "-n", "1", "--set", "stall=2", "--json", *COMMAND)
    (run,) = done.json["variants"][0]["runs"]
    assert run["status"] == "failed"
    assert "neither recorded nor printed anything for longer than allowed" in run["reason"]
    assert run["warnings"][-1] == "allow more than 2: --set stall=NUMBER"


def test_a_project_that_reaches_into_the_folders_above_it_runs(tmp_path, monkeypatch):
    for folder in ("shared", "programs/other"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "numbers.py").write_text("factor = 2")
    own = tmp_path / "programs" / "own"
    own.mkdir()
    imports = "import sys\nsys.path.append('../../')\nimport shared.numbers, programs.other.numbers\n"
    (own / "train.py").write_text(imports + TRAIN)
    monkeypatch.chdir(own)
    assert deviate("run", "-n", "2", *COMMAND).status == 0


def test_the_users_list_is_obeyed(project):
    deviate("extract", "train.py", "--write")
    text = (project / "deviate.toml").read_text().replace('name = "train loss"', 'name = "my loss"')
    added = '[[metric]]\nname = "weight"\nfile = "train.py"\nline = 10\nexpression = "weight"\naggregate = "mean"\n'
    (project / "deviate.toml").write_text(text + "\n" + added)
    found = metrics_of(deviate("run", "-n", "2", "--json", *COMMAND))
    assert {"my loss", "weight", "test accuracy"} <= found.keys()
    assert "train loss" not in found
    assert found["weight"]["aggregate"] == "mean"


def test_a_new_name_or_aggregate_needs_no_new_runs(trained, project):
    deviate("extract", "train.py", "--write")
    path = project / "deviate.toml"
    path.write_text(path.read_text().replace('name = "train loss"', 'name = "renamed"'))
    again = deviate("run", "-n", "3", "--json", *COMMAND)
    assert "(1 of " not in again.err
    assert metrics_of(again)["renamed"]["values"] == metrics_of(trained)["train loss"]["values"]


def test_an_aggregate_can_be_chosen_for_the_report(trained):
    best = deviate("report", "train", "--format", "json", "--set", "aggregate=train loss=min")
    records = list(csv.DictReader(io.StringIO(deviate("report", "train", "--format", "csv").out)))
    losses = [float(row["value"]) for row in records if row["metric"] == "train loss" and row["run"] == "0"]
    assert metrics_of(best)["train loss"]["values"][0] == min(losses)
    assert len(losses) == 3


@pytest.mark.parametrize("suffix", ["md", "json", "csv", "txt"])
def test_a_report_is_written_by_the_files_suffix(trained, tmp_path, suffix):
    assert deviate("report", "train", "-o", tmp_path / f"out.{suffix}").status == 0
    assert (tmp_path / f"out.{suffix}").stat().st_size > 100


def test_list_and_show_say_what_is_there(trained):
    assert deviate("list").out.splitlines()[1].split()[0] == "train"
    (listed,) = deviate("list", "--json").json["experiments"]
    assert listed["completed"] == {"algo+impl": 3}
    shown = deviate("show", "train").out
    assert "everything  3 runs, " in shown
    assert "train.py:6" in shown
    assert "algo+impl-2" in deviate("show", "train", "-v").out
    assert json.loads(deviate("show", "train", "--json").out)["entry"] == "train.py"


def test_the_python_interface_gives_the_same_numbers(trained):
    experiment = package.load("train")
    sample = experiment.samples().query("metric == 'train loss'")["value"]
    assert list(sample) == metrics_of(trained)["train loss"]["values"]
    assert len(experiment.records().query("metric == 'test accuracy'")) == 9
    more = package.run([*COMMAND[1:]], n=4)
    assert (more.name, more.summary()["completed"]) == ("train", {"algo+impl": 4})


def test_extract_prints_the_documented_json(project):
    found = deviate("extract", "train.py", "--json").json
    keys = "schema entry main_loop metrics rejected unreadable draws outside scripts"
    assert list(found) == keys.split()
    assert (found["entry"], found["main_loop"]["line"], found["main_loop"]["kind"]) == ("train.py", 6, "for")
    keys = "name variable expression file line end_line function sink kind direction aggregate confidence why selected"
    assert all(
        list(metric) == [*keys.split(), "further", "decimals", "unit", "pace", "main"] for metric in found["metrics"]
    )
    keys = "file line function call factor why by_name"
    assert all(list(draw) == keys.split() for draw in found["draws"])


def test_extract_shows_every_draw_with_its_factor_and_the_reason(project):
    screen = deviate("extract", "train.py").out
    assert len([line for line in screen.splitlines() if line]) <= 12
    shown = deviate("extract", "train.py", "-v").out
    draws = deviate("extract", "train.py", "--json").json["draws"]
    assert [draw["line"] for draw in draws] == [5, 9]
    for draw in draws:
        (line,) = [line for line in shown.splitlines() if f"train.py:{draw['line']} {draw['call']}" in line]
        assert line.split()[0] == draw["factor"]
        assert line.endswith(draw["why"])


def test_extract_shows_the_instrumented_source(project):
    diff = deviate("extract", "train.py", "--diff").out
    assert "+for epoch in __dv_loop__(range(epochs)):" in diff
    assert "{__dv__(" in diff


def test_public_names_are_these():
    assert package.__all__ == [
        "DeviateError", "StoredExperiment",
        "baseline", "certify", "check", "compare", "compare_grid", "judge", "load", "names", "plan", "run",
    ]  # fmt: skip
    assert all(getattr(package, name) for name in package.__all__)


def test_names_known_at_run_time_only_are_those_of_the_metrics(project):
    (project / "train.py").write_text(
        "import random, time\n"
        "def evaluate(split, loss):\n"
        "    print('%s loss: %.3f' % (split, loss))\n"
        "time.sleep(0.02)  # the process has started some time before it reports\n"
        "loss = 1.0\n"
        "for epoch in range(2):\n"
        "    loss -= 0.1 * random.random()\n"
        "    for split in ('train', 'test'):\n"
        "        evaluate(split, loss)\n"
    )
    found = metrics_of(deviate("run", "-n", "2", "--json", *COMMAND))
    assert {"train loss", "test loss"} <= found.keys()
    assert found["train loss"]["n"] == 2


@pytest.mark.parametrize("words", [(), ("--set", "warm=true")])
def test_a_program_that_is_trained_on_its_own_text_reads_it_as_it_is(project, words):
    program = (
        "import random\n"
        "text = open(__file__).read()\n"
        "loss = 1.0\n"
        "for epoch in range(2):\n"
        "    loss -= 0.1 * random.random()\n"
        "    print('loss', loss, 'perplexity', len(text))\n"
    )
    (project / "train.py").write_text(program)
    found = metrics_of(deviate("run", "-n", "2", "--json", *words, *COMMAND))
    assert found["perplexity"]["values"] == [len(program)] * 2
