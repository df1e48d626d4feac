"""``deviate list``, and what the command line says when it ends early."""

import json
import shutil
import signal
import sys

import click
import pytest
from click.testing import CliRunner
from compared_sides import write_experiment
from msgspec import structs

from deviate.api import names
from deviate.cli.list import aligned, lines
from deviate.cli.main import NO_ANSWER, group, run_command_line
from deviate.cli.options import experiment_sides
from deviate.cli.standing import standing_lines
from deviate.core.interrupts import Stopped, number_of

BASE = {"train loss": [0.3, 0.31], "test acc": [90.0, 91.0]}


@pytest.fixture
def project(tmp_path, monkeypatch):
    write_experiment(tmp_path, "zero", BASE, failed=1)
    for variant in ("algo+impl", "algo", "control"):
        folder = write_experiment(tmp_path, "arms", BASE, variant=variant)
    folder.write_experiment(structs.replace(folder.read_experiment(), created="2026-03-02T09:00:00+00:00"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_experiments_are_listed_in_columns_the_newest_first(project):
    assert CliRunner().invoke(group, ["list"]).stdout.splitlines() == [
        "arms  3 variants 6/6  2026-03-02 09:00  python train.py",
        "zero  algo+impl 2/3   2026-03-01 12:00  python train.py",
    ]


def facts(name, created, **planned):
    return {"name": name, "command": ["python", "a b.py"], "created": created, "planned": planned, "completed": planned}


def test_people_see_what_the_columns_are():
    found = [
        facts("a", "2026-03-01T12:00:00+02:00", algo=8),
        facts("b", "2026-03-01T11:00:00+00:00", algo=8, impl=10),
    ]
    assert lines(found, heads=True) == [
        "experiment  runs                  made              command",
        "b           algo 8/8, impl 10/10  2026-03-01 11:00  python 'a b.py'",
        "a           algo 8/8              2026-03-01 12:00  python 'a b.py'",
    ]


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
    *others, last = ended.stdout.splitlines()
    reason = f"{harmed} was changed since it was written: its content does not fit its checksum"
    assert (ended.exit_code, [line.split()[0] for line in others]) == (0, ["arms", "zero"])
    assert last.split(maxsplit=2) == ["harmed", "unreadable", reason]
    assert ended.stderr.startswith("harmed: restore the file; ")
    assert ended.stderr.endswith("; to remove the experiment: deviate rm harmed\n")
    facts = json.loads(CliRunner().invoke(group, ["list", "--json"]).stdout)
    assert [each["name"] for each in facts["experiments"]] == ["arms", "zero"]
    assert [(each["name"], each["problem"]) for each in facts["unreadable"]] == [("harmed", reason)]


def test_beside_a_damaged_experiment_the_project_stands_as_it_does(project, harmed):
    said = standing_lines()
    assert [line.split()[0] for line in said[1:3]] == ["arms", "zero"]
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
