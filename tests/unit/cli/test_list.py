"""``deviate list``, and what the command line says when it ends early."""

import sys

import click
import pytest
from click.testing import CliRunner
from compared_sides import write_experiment
from msgspec import structs

from deviate.cli import main as cli_main
from deviate.cli.list import aligned, lines
from deviate.cli.main import group

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
@pytest.mark.parametrize("kind", [KeyboardInterrupt, click.Abort])
def test_ctrl_c_ends_with_what_to_do(monkeypatch, capsys, words, said, kind):
    def stop(**options):
        raise kind

    monkeypatch.setattr(sys, "argv", ["deviate", *words])
    monkeypatch.setattr(group, "main", stop)
    with pytest.raises(SystemExit) as ended:
        cli_main()
    assert ended.value.code == 130
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("stopped")
    assert line.endswith(said)
