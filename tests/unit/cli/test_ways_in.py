"""What a user meets first: `deviate` alone, wrong names, completion, `init` and `doctor`."""

import importlib.util
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click import shell_completion
from click.shell_completion import ShellComplete, get_completion_class
from click.testing import CliRunner
from compared_sides import write_experiment
from msgspec import structs

from deviate.cli.main import COMMANDS, group, run_command_line
from deviate.cli.options import complete_whole_words
from deviate.cli.standing import STEPS
from deviate.core.errors import BadOption
from deviate.probes import machine
from deviate.runs.resume import free_name
from deviate.source.cells import read_cells
from deviate.source.config import FILE_NAME, Config, read_config
from deviate.source.selection import extract
from deviate.store.folders import Workspace

VALUES = {"test acc": [90.0, 91.0]}

TRAINING = """
import random
weight = random.random()
for epoch in range(3):
    loss = weight / (epoch + 1)
    print(f"epoch {epoch} loss {loss:.3f}")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(*words):
    return CliRunner().invoke(group, words)


def completions(*words, last=""):
    return [item.value for item in ShellComplete(group, {}, "deviate", "_X").get_completions(list(words), last)]


def test_metrics_are_completed_from_the_experiments_on_the_line(folder):
    write_experiment(folder, "base", VALUES)
    times = ["time per iteration", "time per run"]
    assert completions("report", "--metric", last="t") == ["test acc", *times]
    write_experiment(folder, "other", {"loss": [0.5, 0.6]})
    assert completions("report", "--metric", last="t") == []
    assert completions("report", "base", "--metric", last="te") == ["test acc"]
    assert completions("compare", "base", "other:algo", "--metric") == ["loss", "test acc", *times]
    assert completions("why", "nix", "--metric") == []


def test_bash_takes_a_name_with_a_blank_as_one_word(monkeypatch, tmp_path):
    monkeypatch.setattr(shell_completion, "_available_shells", dict(shell_completion._available_shells))
    complete_whole_words()
    source = get_completion_class("bash")(group, {}, "deviate", "_X").source()
    stub = tmp_path / "deviate"
    stub.write_text("#!/bin/sh\nprintf 'plain,test acc\\nplain,loss\\n'\n")
    stub.chmod(0o755)
    script = f'COMP_WORDS=(deviate report); {source} _deviate_completion {stub}; printf "<%s>" "${{COMPREPLY[@]}}"'
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    assert said == r"<test\ acc><loss>"


def test_help_lists_every_command_once():
    shown = typed("--help").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert [
        line.split()[0] for line in shown.splitlines() if line.startswith("  ") and line.split()[0] in COMMANDS
    ] == (list(COMMANDS))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_examples_that_can_be_typed(name):
    lines = typed(name, "--help").stdout.partition("Examples:\n")[2].splitlines()
    assert lines
    assert max(map(len, lines)) <= 80
    for line in lines:
        assert line.split()[:2] == ["deviate", name]
        words = line.partition(" -- ")[0].split()
        command = group.get_command(click.Context(group), name)
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("-")} <= known


@pytest.mark.parametrize(("wrong", "meant"), [("rnu", "run"), ("comapre", "compare"), ("reprot", "report")])
def test_a_wrong_command_gets_the_nearest_one(wrong, meant):
    done = typed(wrong)
    assert done.exit_code == 2
    assert f"No command '{wrong}'; did you mean '{meant}'?" in done.stderr.replace("no command", "No command")


def test_a_wrong_experiment_gets_the_nearest_else_all(folder):
    for name in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "train-wide"):
        write_experiment(folder, name, VALUES)
    wrong = typed("logs", "train_wide", "0").exception
    assert (wrong.message, wrong.hint) == ("no experiment train_wide; did you mean train-wide?", "")
    other = typed("logs", "other words", "0").exception
    assert other.message == "no experiment 'other words'"
    assert other.hint.startswith("type one of: alpha, beta, ")
    assert other.hint.endswith(" and 2 more")


def test_alone_in_a_new_folder_it_finds_the_training_by_name_and_content(folder):
    (folder / "plots.py").write_text("")
    assert typed().stdout.splitlines()[0] == "No experiment here yet."
    (folder / "model.py").write_text("loss.backward()\n")
    (folder / "experiment.py").write_text("for epoch in range(3):\n    loss.backward()\n")
    for name in ("my_train.py", "run_all.py"):
        (folder / name).write_text("")
    (folder / "train.py").write_text(TRAINING)
    lines = typed().stdout.splitlines()
    assert lines[0] == "No experiment here yet. train.py seems to train. Or my_train.py, run_all.py?"
    assert [line.partition("deviate ")[2] for line in lines[2:5]] == [
        "extract -- python train.py", "run -n 8 -- python train.py", "audit -- python train.py"
    ]  # fmt: skip


def test_alone_in_a_project_it_says_what_is_missing_and_what_comes_next(folder):
    write_experiment(folder, "base", VALUES, failed=1)
    write_experiment(folder, "wider", {"test acc": [92.0, 93.0]})
    lines = typed().stdout.splitlines()
    (again,) = [line for line in lines if line.startswith("make the 1 failed run again")]
    assert "  deviate run -n 3 --vary algo+impl --name base --retry-failed " in again
    assert any(line.endswith("  deviate compare base wider") for line in lines)
    assert sum("  deviate " in line for line in lines) <= STEPS


def test_alone_beside_one_experiment_it_offers_a_second_recipe_and_why(folder):
    write_experiment(folder, "base", VALUES)
    lines = typed().stdout.splitlines()
    assert any("  deviate run -n 8 --name NAME -- python train.py …" in line for line in lines)
    assert any("  deviate run -n 8 --name base-why --vary sources -- python train.py" in line for line in lines)


def test_a_report_ends_with_a_second_recipe_and_where_there_is_one_with_the_comparison(folder):
    write_experiment(folder, "base", VALUES)
    assert "deviate run -n 8 --name NAME -- python train.py …" in typed("report", "base").stdout
    write_experiment(folder, "other", {name: [value + 1 for value in each] for name, each in VALUES.items()})
    (folder / ".deviate/experiments/broken").mkdir()
    (folder / ".deviate/experiments/broken/experiment.json").write_text("{")
    assert typed("report", "base").stdout.splitlines()[-1].endswith("deviate compare base other")
    assert "deviate run" not in typed("report", "base").stdout


def test_where_runs_failed_nothing_else_is_suggested(folder):
    write_experiment(folder, "base", VALUES, failed=1)
    assert "another recipe" not in typed("report", "base").stdout


def test_alone_it_offers_only_what_can_be_done(folder):
    write_experiment(folder, "base", VALUES, variant="control")
    write_experiment(folder, "lost", {"test acc": []}, failed=2)
    (folder / "table.csv").write_text("seed,test acc\n1,0.5\n2,0.6\n")
    assert not any("  deviate compare" in line for line in typed().stdout.splitlines())
    assert typed("import", "table.csv", "--name", "read").exit_code == 0
    lines = typed().stdout.splitlines()
    assert not any("  deviate run" in line for line in lines)
    assert any(line.endswith("  deviate compare read base") for line in lines)


def test_alone_it_compares_only_what_has_a_number_in_common(folder):
    write_experiment(folder, "base", VALUES)
    write_experiment(folder, "nan", {"test acc": [math.nan, math.nan]})
    write_experiment(folder, "other", {"reward": [1.0, 2.0]})
    assert not any("  deviate compare" in line for line in typed().stdout.splitlines())
    write_experiment(folder, "wider", {"test acc": [92.0, 93.0]})
    assert any(line.endswith("  deviate compare base wider") for line in typed().stdout.splitlines())
    wider = Workspace(folder).experiment("wider")
    wider.write_experiment(structs.replace(wider.read_experiment(), entry="test.py"))
    assert not any("  deviate compare" in line for line in typed().stdout.splitlines())


def test_alone_it_compares_only_what_stands_for_runs_in_one_way(folder):
    write_experiment(folder, "base", VALUES)
    write_experiment(folder, "wider", {"test acc": [92.0, 93.0]}, aggregate="best")
    assert not any("  deviate compare" in line for line in typed().stdout.splitlines())


def test_a_grid_whose_command_was_changed_is_not_compared_and_says_so(folder):
    (folder / FILE_NAME).write_text(GRID)
    for width in (8, 16):
        write_cell(folder, width, ENOUGH)
    (folder / FILE_NAME).write_text(GRID.replace("train.py", "train.py --deep"))
    assert "compare widths" not in compares(folder)
    refused = str(typed("compare", "widths").exception)
    assert refused.startswith(
        "0 of 2 cells of 'widths' can be compared; widths@width=8: its runs were made with another"
    )


def test_alone_it_shows_why_runs_failed_where_none_completed(folder):
    write_experiment(folder, "lost", {"test acc": []}, failed=2)
    lines = typed().stdout.splitlines()
    assert any(line.endswith("  deviate logs lost algo+impl-0") for line in lines)
    assert not any("  deviate report" in line for line in lines)


GRID = """
[[experiment]]
name = "widths"
command = "python train.py {width}"
grid = {width = [8, 16]}
"""


def write_cell(folder, width, values, **options):
    file = write_experiment(folder, f"widths@width={width}", values, **options)
    file.write_experiment(structs.replace(file.read_experiment(), command=["python", "train.py", str(width)]))


def test_alone_in_a_project_with_a_grid_it_compares_its_cells(folder):
    (folder / FILE_NAME).write_text(GRID)
    write_cell(folder, 8, VALUES)
    assert not any("  deviate compare" in line for line in typed().stdout.splitlines())
    write_cell(folder, 16, VALUES)
    assert any(line.endswith("  deviate compare widths") for line in typed().stdout.splitlines())
    (folder / FILE_NAME).write_text("experiment = 3")
    assert any("  deviate compare widths@width=" in line for line in typed().stdout.splitlines())


ENOUGH = {"test acc": [90.0, 91.0, 90.5, 90.2, 90.7]}


def compares(folder):
    return [line.partition("  deviate ")[2] for line in typed().stdout.splitlines() if "  deviate compare" in line]


def test_alone_it_proposes_no_comparison_that_was_made_until_a_side_has_further_runs(folder):
    write_experiment(folder, "base", ENOUGH)
    write_experiment(folder, "wider", {"test acc": [value + 1 for value in ENOUGH["test acc"]]})
    assert compares(folder) == ["compare base wider"]
    assert typed("compare", "base", "wider").exit_code == 0
    assert compares(folder) == []
    assert typed("report", "base").stdout.splitlines()[-1].endswith("  deviate plan base")
    shutil.rmtree(Workspace(folder).experiment("base").path / "runs")
    write_experiment(folder, "base", {"test acc": [*ENOUGH["test acc"], 90.1]})
    assert compares(folder) == ["compare base wider"]
    assert typed("compare", "base", "wider").exit_code == 0
    write_experiment(folder, "third", ENOUGH)
    assert compares(folder) != []


def test_alone_it_compares_nothing_where_a_variant_has_to_be_named_or_the_default_one_has_no_run(folder):
    (folder / FILE_NAME).write_text(GRID)
    for width, failing in ((8, "init"), (16, "algo+impl")):
        write_cell(folder, width, {"test acc": []}, variant=failing, failed=1)
        write_cell(folder, width, ENOUGH, variant="control")
    assert compares(folder) == []


def test_alone_it_goes_on_where_what_was_compared_is_damaged(folder):
    (folder / FILE_NAME).write_text(GRID)
    for width in (8, 16):
        write_cell(folder, width, ENOUGH)
    for name in ("base", "wider"):
        write_experiment(folder, name, ENOUGH)
    assert typed("compare", "base", "wider").exit_code == 0
    for file in (folder / ".deviate/looks").glob("*.json"):
        file.write_text("{")
    assert compares(folder) == ["compare widths"]


def test_sources_are_reported_where_every_run_of_the_first_kind_failed(folder):
    write_experiment(folder, "base", {"test acc": []}, variant="control", failed=2)
    for variant in ("algo", "impl"):
        write_experiment(folder, "base", ENOUGH, variant=variant)
    for words in (("report", "base"), ("report", "base", "-v"), ("why", "base")):
        assert "kernels only" in typed(*words).stdout


def test_why_says_what_to_type_where_nothing_can_be_said(folder):
    write_experiment(folder, "a b", ENOUGH)
    with pytest.raises(BadOption) as refused:
        CliRunner().invoke(group, ["why", "a b"], standalone_mode=False, catch_exceptions=False)
    assert refused.value.hint == "type deviate run -n 8 --name 'a b-why' --vary sources -- python train.py"
    (folder / "table.csv").write_text("seed,test acc\n1,0.5\n2,0.6\n")
    assert typed("import", "table.csv", "--name", "read").exit_code == 0
    assert "imported" in str(typed("why", "read").exception)


def test_nothing_is_planned_with_runs_that_are_all_equal(folder):
    for name, value in (("base", 90.0), ("wider", 91.0)):
        write_experiment(folder, name, {"test acc": [value] * 5})
    assert typed("compare", "base", "wider").exit_code == 0
    for words in ((), ("report", "base")):
        assert not any("  deviate plan" in line for line in typed(*words).stdout.splitlines())


def test_alone_it_proposes_no_comparison_of_a_grid_that_was_made(folder):
    (folder / FILE_NAME).write_text(GRID)
    for width in (8, 16):
        write_cell(folder, width, ENOUGH)
    assert compares(folder) == ["compare widths"]
    assert typed("compare", "widths").exit_code == 0
    assert compares(folder) == []


def test_alone_it_quotes_names_that_a_shell_would_split(folder):
    write_experiment(folder, "my base", VALUES)
    write_experiment(folder, "wider (2)", {"test acc": [92.0, 93.0]})
    lines = typed().stdout.splitlines()
    assert any(line.endswith("  deviate compare 'my base' 'wider (2)'") for line in lines)
    assert any(
        line.endswith("  deviate report 'wider (2)'") or line.endswith("  deviate report 'my base'") for line in lines
    )


@pytest.mark.parametrize(
    "words", [("run", "--epochs", "3", "--", "python", "go.py"), ("run", "--epochs=3", "--", "python", "go.py")]
)
def test_an_option_of_the_training_before_the_dashes_is_shown_behind_them(folder, words):
    done = typed(*words)
    assert done.exit_code == 2
    assert "--epochs" in done.stderr
    with pytest.raises(click.NoSuchOption) as refused:
        CliRunner().invoke(group, words, standalone_mode=False, catch_exceptions=False)
    assert refused.value.fix.endswith("behind --: deviate run -- python go.py --epochs …")


def test_an_error_has_two_lines_and_no_usage(folder, monkeypatch, capsys):
    for words, lines in (
        (["lst"], ["error: no command 'lst'; did you mean 'list'?"]),
        (["list", "--xq"], ["error: no such option '--xq'", "fix:   deviate list --help"]),
        (
            ["show", "x"],
            [
                "error: no experiment x: none was made yet",
                "fix:   make one, such as deviate run -n 8 -- python train.py",
            ],
        ),
        (["show", "x", "--json"], ["error: no experiment x: none was made yet  [unknown-experiment]"]),
    ):
        monkeypatch.setattr(sys, "argv", ["deviate", *words])
        assert run_command_line() == 2
        assert capsys.readouterr().err.splitlines()[: len(lines)] == lines


def test_logs_without_a_run_lists_the_runs_with_the_failed_ones_first(folder):
    write_experiment(folder, "base", {"test acc": [90.0] * 6}, failed=1)
    lines = typed("logs", "base").stdout.splitlines()
    assert lines[0] == "base has 7 runs; type the name of one:"
    assert lines[2].split()[:2] == ["algo+impl-6", "failed"]
    assert lines[-3:] == ["… and 2 more: deviate show base", "", "deviate logs base algo+impl-6"]
    assert len(lines) <= 12


def test_logs_without_a_run_says_where_none_has_started(folder):
    write_experiment(folder, "new", {"test acc": []})
    assert typed("logs", "new").stdout == "no run of new has started yet\n"


@pytest.mark.parametrize("command", ["show", "logs"])
def test_without_a_name_the_only_experiment_is_meant_or_all_are_listed(folder, command):
    assert typed(command).exception.message == "there is no experiment here yet"
    write_experiment(folder, "base", VALUES)
    assert typed(command).stdout == typed(command, "base").stdout
    write_experiment(folder, "wider", VALUES)
    assert typed(command).exception.hint.startswith(f"type deviate {command} base; experiments, the newest first: ")


def test_logs_without_a_run_prints_the_only_one(folder):
    write_experiment(folder, "one", {"test acc": [90.0]})
    (run,) = Workspace(folder).experiment("one").runs()
    run.stdout_file.write_text("epoch 1\n")
    assert typed("logs", "one").stdout == "epoch 1\n"


def test_a_wrong_name_of_an_experiment_in_the_file_gets_those_that_it_lists(folder):
    (folder / "train.py").write_text(TRAINING)
    (folder / FILE_NAME).write_text(GRID)
    name = read_cells(folder)[0].entry.name
    refused = typed("run", "--name", "girds").exception
    assert refused.slug == "unknown-experiment"
    assert refused.hint.startswith(f"deviate.toml lists: {name}; a cell of a grid is named as {name}@")
    line = next(line for line in typed().stdout.splitlines() if line.endswith("  deviate run"))
    assert line.startswith("make the 2 experiments of deviate.toml:")


def test_extract_without_an_entry_names_the_likeliest_script(folder):
    assert typed("extract").exception.hint.endswith("; no Python file here looks like one")
    (folder / "fit_digits.py").write_text(TRAINING)
    assert typed("extract").exception.hint.endswith(": deviate extract fit_digits.py")


def test_names_and_variants_are_completed(folder):
    write_experiment(folder, "base", VALUES)
    write_experiment(folder, "wider", VALUES, variant="control")
    assert completions("report") == ["base", "wider"]
    assert completions("report", last="w") == ["wider"]
    assert completions("compare", "base", last="wider:") == ["wider:control"]
    assert completions("run", "--vary", last="init,sh") == ["init,shuffle"]


@pytest.mark.parametrize(
    ("typed", "kinds", "command"),
    [
        ("-n 3 --vary init shuffle -j 1 -- python a.py --vary x y", ("init", "shuffle"), "python a.py --vary x y"),
        ("--vary init --vary shuffle -- python a.py", ("init", "shuffle"), "python a.py"),
        ("--vary init sh a.sh -- --epochs 3", ("init",), "sh a.sh -- --epochs 3"),
        ("-- python a.py --vary x y", ("algo+impl",), "python a.py --vary x y"),
    ],
)
def test_several_values_may_follow_what_can_be_repeated(typed, kinds, command):
    made = group.get_command(None, "run").make_context("run", typed.split())
    assert (made.params["variants"], " ".join(made.params["command"])) == (kinds, command)


def uncommented(text):
    """Return the file with the tables that are comments in effect; its prose stays comments."""
    lines = [
        line.removeprefix("# ") if line.startswith("# ") and _sets(line[2:]) else line for line in text.split("\n")
    ]
    return "\n".join(lines)


def _sets(line):
    return line.startswith("[") or line.partition(" = ")[0].isidentifier()


def test_init_writes_a_file_that_changes_nothing(folder):
    (folder / "train.py").write_text(TRAINING)
    done = typed("init", "--", "python", "train.py")
    assert done.exit_code == 0, done.exception
    assert "metrics     loss\n" in done.stdout
    assert read_config(folder) == Config(entry="train.py")


def test_what_init_comments_out_is_what_was_found(folder):
    (folder / "train.py").write_text(TRAINING)
    before = extract(folder, "train.py")
    typed("init")
    path = folder / FILE_NAME
    path.write_text(uncommented(path.read_text()))
    after = extract(folder, "train.py")
    assert len(read_config(folder).draw) == 1
    assert [metric.name for metric in after.metrics if metric.selected] == ["loss"]
    assert after.main_loop.line == before.main_loop.line
    assert [draw.factor for draw in after.draws] == [draw.factor for draw in before.draws]
    cells = read_cells(folder)
    assert cells[0].name == "grid@lr=0.1,width=32"
    assert (len(cells), cells[0].command[:2]) == (4, ["python", "train.py"])


def test_init_leaves_a_file_that_is_there_alone(folder):
    (folder / "train.py").write_text(TRAINING)
    (folder / FILE_NAME).write_text("")
    assert "is there already" in typed("init").exception.message
    assert typed("init", "--dry-run").exit_code == 0
    assert (folder / FILE_NAME).read_text() == ""


def test_init_wants_a_command_where_no_script_seems_to_train(folder):
    (folder / "plots.py").write_text("")
    assert "no script in this folder" in typed("init").exception.message


def test_doctor_lists_settings_and_says_what_to_do(folder):
    checks = {check.name: check for check in machine.check_machine(folder, {"PATH": "", "OMP_NUM_THREADS": "3"})}
    assert checks["threads"].state == "note"
    assert checks["threads"].found == "OMP_NUM_THREADS=3"
    assert checks["determinism"].state == "ok"
    assert checks["python"].state == "problem"


def test_doctor_sees_switches_and_what_the_python_can_import(folder, monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    done = typed("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert "CUBLAS_WORKSPACE_CONFIG=:4096:8" in checks["determinism"]["found"]
    assert ("torch" in checks["frameworks"]["found"]) == (importlib.util.find_spec("torch") is not None)
    assert done.exit_code == 0


def test_doctor_notes_a_full_disk(folder, monkeypatch):
    monkeypatch.setattr(machine, "SPARE_DISK", 2**80)
    checks = {check.name: check for check in machine.check_machine(folder, {"PATH": ""})}
    assert checks["disk"].state == "note"
    assert "--set discard_work=true" in checks["disk"].advice


def test_a_report_without_a_name_is_of_the_only_experiment_or_lists_them(folder):
    refused = typed("report").exception
    assert (refused.message, refused.slug) == ("there is no experiment here yet", "bad-option")
    write_experiment(folder, "base", VALUES)
    assert "test acc  90.50 ± 0.71" in typed("report").stdout
    write_experiment(folder, "wider", VALUES)
    refused = typed("report").exception
    assert refused.message == "there are 2 experiments: name one"
    assert refused.hint.endswith("the newest first: base, wider")


def test_a_check_without_a_metric_names_those_there_are(folder):
    for name in ("base", "wider"):
        write_experiment(folder, name, {"train loss": [0.3, 0.2], "test acc": [90.0, 91.0]})
    refused = typed("check", "wider", "--against", "base").exception
    assert refused.message == "a check needs a metric"
    assert refused.hint.startswith("type for example --metric 'test acc' --max-drop 0.5; metrics: test acc, train loss")


@pytest.mark.parametrize(
    ("entry", "name"),
    [("train.py", "cifar"), ("src/Main.py", "cifar"), ("resnet.py", "resnet"), ("net/__main__.py", "net")],
)
def test_an_experiment_is_named_after_its_script_or_its_project(tmp_path, entry, name):
    workspace = Workspace(tmp_path / "cifar")
    assert free_name(workspace, entry) == name
    workspace.experiment(name).path.mkdir(parents=True)
    workspace.experiment(name).experiment_file.touch()
    assert free_name(workspace, entry) == f"{name}-2"


def test_a_script_below_the_folder_is_found_where_none_lies_in_it(tmp_path):
    from deviate.cli.standing import likely_scripts

    for place in ("tools/train_net.py", "tests/train.py", "package/deep/er/train.py", ".git/train.py", "plot.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert likely_scripts(tmp_path) == ["tools/train_net.py", "package/deep/er/train.py"]
    (tmp_path / "main.py").touch()
    assert likely_scripts(tmp_path) == ["main.py"]


def test_what_extract_says_to_type_next_has_a_mask_for_a_secret(folder):
    (folder / "train.py").write_text("for epoch in range(3):\n    print('loss', 1 / (epoch + 1))\n")
    lines = typed("extract", "--", "python", "train.py", "--client-secret", "Sesame-9281").stdout
    assert "--client-secret" in lines
    assert "Sesame" not in lines


def test_extract_is_typed_as_the_contract_has_it(folder):
    project = folder / "project"
    project.mkdir()
    (project / "train.py").write_text(TRAINING, encoding="utf-8")
    typed = ["extract", str(project / "train.py"), "--project", str(project), "--json"]
    found = json.loads(CliRunner().invoke(group, typed).output)
    assert (found["entry"], [metric["name"] for metric in found["metrics"]]) == ("train.py", ["loss"])


def test_no_quality_is_said_of_a_number_without_a_better_side(folder):
    program = TRAINING.replace("loss {loss:.3f}", "loss {loss:.3f} entropy {2 * loss:.3f}")
    (folder / "train.py").write_text(program)
    said = [line.split("   ")[-1] for line in typed("extract", "train.py", "-v").output.splitlines() if "%  " in line]
    assert sorted(said) == ["last", "loss, lower is better, last"]
