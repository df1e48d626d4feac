"""``deviate list``, and what the command line says when it ends early."""

import json
import shutil
import signal
import sys
from datetime import UTC, datetime

import click
import pytest
from click.testing import CliRunner
from compared_sides import write_experiment
from msgspec import structs
from rich.cells import cell_len

from deviate.api import names
from deviate.cli.board import board_lines, entries
from deviate.cli.main import NO_ANSWER, group, run_command_line
from deviate.cli.options import experiment_sides
from deviate.cli.printing import aligned
from deviate.cli.standing import standing_lines
from deviate.core.errors import BadOption
from deviate.core.interrupts import Stopped, number_of
from deviate.facts.overview import Standing, Summary

BASE = {"train loss": [0.3, 0.31], "test acc": [90.0, 91.0]}


@pytest.fixture
def project(tmp_path, monkeypatch):
    write_experiment(tmp_path, "zero", BASE, failed=1)
    for variant in ("algo+impl", "algo", "control"):
        folder = write_experiment(tmp_path, "arms", BASE, variant=variant)
    folder.write_experiment(structs.replace(folder.read_experiment(), created="2026-03-02T09:00:00+00:00"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_experiments_are_listed_with_mean_and_sd_the_best_first(project):
    write_experiment(project, "better", {"train loss": [0.2, 0.21], "test acc": [92.0, 93.5]})
    listed = CliRunner().invoke(group, ["list"]).stdout.splitlines()
    assert " ".join(listed[3].split()) == (
        "arms everything same 2 runs as zero; and 2 other kinds of variation 2026-03-02"
    )
    assert listed[1].split()[:5] == ["better", "92.8", "±", "1.1", "2"]
    assert listed[2].split()[:5] == ["zero", "90.50", "±", "0.71", "2"]
    (project / "deviate.toml").write_text("[statistics]\nmain = 'train loss'\n")
    lower = CliRunner().invoke(group, ["list"]).stdout.splitlines()
    assert lower[1].split()[0] == "better"


def test_what_was_compared_is_told_below_the_table_and_in_json(project):
    enough = [90.0, 91.0, 90.5, 90.2, 90.7]
    for shift, name in enumerate(("low", "middle", "high")):
        write_experiment(project, name, {"test acc": [value + shift for value in enough]})
    assert "compared:" not in CliRunner().invoke(group, ["list"]).stdout
    for words in (("low", "high"), ("high", "middle"), ("low", "zero"), ("low", "arms:algo")):
        assert CliRunner().invoke(group, ["compare", *words]).exit_code == 0
    # A look at fewer runs than a verdict needs claims nothing.
    assert CliRunner().invoke(group, ["list"]).stdout.splitlines()[-1] == "compared:  high with low, middle"
    listed = json.loads(CliRunner().invoke(group, ["list", "--json"]).stdout)["experiments"]
    partners = {each["name"]: each["compared_with"] for each in listed}
    assert partners == {"arms": [], "high": ["low", "middle"], "low": ["high"], "middle": ["high"], "zero": []}
    assert CliRunner().invoke(group, ["rm", "low", "--yes"]).exit_code == 0
    (file,) = [path for path in (project / ".deviate/looks").glob("*.json") if "middle" in path.read_text()]
    assert CliRunner().invoke(group, ["list"]).stdout.splitlines()[-1] == "compared:  high with middle"
    file.write_text("{")
    assert "compared:" not in CliRunner().invoke(group, ["list"]).stdout


def facts(name, created="2026-03-01T12:00:00+00:00", command=("python", "a.py"), **planned):
    return {
        "name": name, "command": list(command), "created": created, "planned": planned, "completed": planned,
        "running": False, "problem": "",
    }  # fmt: skip


def summary(*values, variant="algo"):
    standing = Standing(
        name="test acc", taken="last epoch", kind="quality", direction="higher", decimals=2, values=list(values),
        mean=sum(values) / len(values), sd=0.5, low=min(values) - 1, high=max(values) + 1,
    )  # fmt: skip
    return Summary(made_from="", variants={variant: [standing]})


NOW = datetime(2026, 3, 2, tzinfo=UTC)


def board(found, summaries, width):
    return board_lines(entries(found, summaries, "test acc"), width, "test acc (last epoch, higher is better)", NOW)


def test_recipes_are_told_apart_by_what_their_commands_add_and_a_grid_is_one_block():
    found = [
        facts("base", algo=2),
        facts("slow", command=("python", "a.py", "--lr", "1e-3"), algo=2),
        facts("grid@lr=0.1,width=8", algo=2),
        facts("grid@lr=0.2,width=8", algo=2),
    ]
    summaries = {
        "base": summary(90.0, 91.0), "slow": summary(80.0, 81.0), "grid@lr=0.1,width=8": summary(95.0, 96.0),
        "grid@lr=0.2,width=8": summary(85.0, 86.0),
    }  # fmt: skip
    lines = board(found, summaries, 100)
    assert max(map(cell_len, lines)) <= 100
    assert [line.partition(" ± ")[0].split() for line in lines[1:]] == [
        ["grid", "lr", "0.1,", "width", "8", "95.50"], ["lr", "0.2,", "width", "8", "85.50"],
        ["base", "90.50"], ["slow", "--lr", "1e-3", "80.50"],
    ]  # fmt: skip
    assert board(found, summaries, 60) == [
        "test acc (last epoch, higher is better)      runs",
        "  grid  best: lr 0.1, width 8  95.50 ± 0.50     2",
        "  base                         90.50 ± 0.50     2",
        "  slow  --lr 1e-3              80.50 ± 0.50     2",
    ]


def test_ends_of_the_scale_that_have_no_room_side_by_side_are_left_out():
    found = [facts("base", algo=2), facts("slow", command=("python", "a.py", "--lr", "1e-3"), algo=2)]
    for size, is_said in ((1.0, True), (1e12, False)):
        values = {"base": summary(90.1 * size, 91.0 * size), "slow": summary(80.0 * size, 81.0 * size)}
        head, *_ = board(found, values, 100)
        assert head.endswith("   made")
        assert (len(head.partition("runs")[2].split()) > 1) == is_said


def test_what_runs_or_failed_is_said_in_place_of_a_number():
    lost = {**facts("lost", algo=0), "problem": "it ended with status 2: train.py: error: unrecognized arguments: --x"}
    going = {**facts("going", algo=8), "completed": {"algo": 3}, "running": True}
    lines = board([facts("base", algo=2), lost, going], {"base": summary(90.0, 91.0)}, 100)
    assert "✗ lost" in "".join(lines)
    assert any("failed: --x" in line or "unrecognized arguments" in line for line in lines)
    assert any("running, 3 of 8" in line for line in lines)


@pytest.mark.parametrize(("values", "same"), [((90.0, 91.0), True), ((90.0, 90.0), False)])
def test_runs_are_the_same_only_where_a_metric_tells_them_apart(values, same):
    lines = board(
        [facts("base", algo=2), facts("twin", algo=2)], dict.fromkeys(("base", "twin"), summary(*values)), 100
    )
    assert ("same 2 runs as base" in "".join(lines)) is same


def test_wide_letters_take_two_columns():
    assert aligned([("基線", "x"), ("ab", "y")]) == ["基線  x", "ab    y"]


@pytest.mark.parametrize(
    ("words", "said"), [(["run", "--", "x"], "the same command continues from here"), (["list"], "stopped")]
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_with_what_to_do(monkeypatch, capsys, words, said, number):
    def stop(context):
        raise Stopped(number)

    monkeypatch.setattr(sys, "argv", ["deviate", *words])
    monkeypatch.setattr(group, "invoke", stop)
    with pytest.raises(Stopped) as stopped:
        run_command_line()
    assert number_of(stopped.value) == number
    line = capsys.readouterr().err.strip()
    assert line.startswith("stopped")
    assert line.endswith(said)


def test_a_question_without_an_answer_is_no_signal(monkeypatch, capsys):
    def ask(context):
        raise click.Abort

    monkeypatch.setattr(sys, "argv", ["deviate", "list"])
    monkeypatch.setattr(group, "invoke", ask)
    assert run_command_line() == NO_ANSWER
    assert capsys.readouterr().err == "stopped\n"


@pytest.fixture
def harmed(project):
    """A project in which another experiment's file was changed."""
    file = write_experiment(project, "harmed", BASE).experiment_file
    file.write_bytes(file.read_bytes().replace(b"python", b"cobra ", 1))
    return file


def test_a_damaged_experiment_is_listed_with_its_reason_beside_the_others(project, harmed):
    ended = CliRunner().invoke(group, ["list"])
    _, *others, last = ended.stdout.splitlines()
    reason = f"{harmed} was changed since it was written: its content does not fit its checksum"
    assert (ended.exit_code, [line.split()[0] for line in others]) == (0, ["zero", "arms"])
    assert last.split(maxsplit=3) == ["✗", "harmed", "unreadable", reason]
    assert ended.stderr.startswith("harmed: restore the file; ")
    assert ended.stderr.endswith("; to remove the experiment: deviate rm harmed\n")
    facts = json.loads(CliRunner().invoke(group, ["list", "--json"]).stdout)
    assert [each["name"] for each in facts["experiments"]] == ["arms", "zero"]
    assert [(each["name"], each["problem"]) for each in facts["unreadable"]] == [("harmed", reason)]


def test_where_no_experiment_can_be_read_each_is_named(project, harmed):
    for name in ("zero", "arms"):
        shutil.rmtree(harmed.parents[1] / name)
    ended = CliRunner().invoke(group, ["list"])
    assert (ended.exit_code, ended.stdout.split()[:3]) == (0, ["✗", "harmed", "unreadable"])


def test_one_experiment_is_not_taken_for_a_command(project):
    for words in (["zero"], ["zero", "zero"]):
        with pytest.raises(BadOption, match="'zero' is one experiment") as raised:
            group.main(["diverge", *words], standalone_mode=False)
        assert raised.value.hint.endswith("deviate diverge zero 0 1")


def test_beside_a_damaged_experiment_the_project_stands_as_it_does(project, harmed):
    said = standing_lines()
    assert [line.split()[0] for line in said[1:3]] == ["zero", "arms"]
    assert any(line.endswith("deviate report arms") for line in said)
    assert said[-3] == "harmed cannot be read"
    assert said[-2].startswith(f"  {harmed} was changed since it was written: ")
    assert names(project) == ["arms", "harmed", "zero"]
    assert [experiment_sides(None, None, f"{name}:al") for name in ("zero", "harmed")] == [["zero:algo+impl"], []]
    ended = CliRunner().invoke(group, ["watch", "--terminal"])
    assert (ended.exit_code, "arms" in ended.stdout) == (0, True)
    assert ended.stderr.startswith("harmed cannot be read: ")
    shutil.rmtree(harmed.parents[1] / "arms")
    harmed.parents[1].joinpath("zero", "experiment.json").write_text("{")
    assert [line.split()[0] for line in standing_lines() if line] == ["harmed", str(harmed), "restore"]
    assert CliRunner().invoke(group, ["watch", "--terminal"]).exit_code == 1
    assert CliRunner().invoke(group, ["rm", "harmed", "--yes"]).exit_code == 0
    assert names(project) == ["zero"]
