"""Predictions that a program writes to a file, from the run to the check."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli_tool import PREDICT, TRAIN, deviate

from deviate import api
from deviate.core.errors import BadOption

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "train.py").write_text(TRAIN)
    (folder / "predict.py").write_text(PREDICT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, seed in (("one", "0"), ("two", "5")):
            words = ("run", "-n", "4", "--name", name, "--seed", seed, "--predictions", "preds.csv")
            assert deviate(*words, "--set", "discard_work=true", "--", sys.executable, "predict.py").status == 0
    return folder


def test_the_churn_is_that_of_the_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (known,) = deviate("report", "one", "--format", "json").json["predictions"]
    files = sorted((project / ".deviate/experiments/one/runs").glob("*/predictions-preds.csv"))
    rows = [[line.split(",")[1] for line in file.read_text().splitlines()[1:]] for file in files]
    pairs = [(a, b) for index, a in enumerate(rows) for b in rows[:index]]
    churn = sum(sum(x != y for x, y in zip(a, b, strict=True)) / 40 for a, b in pairs) / len(pairs)
    assert len(files) == 4
    assert known["by"] == "digest"
    assert known["classification"]["churn"]["value"] == pytest.approx(churn)


def test_python_gives_predictions_as_a_table(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    table = api.load("one").predictions()
    assert list(table.columns) == ["variant", "run", "example", "target", "prediction", "score"]
    assert len(table) == 4 * 40
    for run, part in table.groupby("run"):
        file = project / f".deviate/experiments/one/runs/algo+impl-{run}/predictions-preds.csv"
        rows = [line.split(",")[1:3] for line in file.read_text().splitlines()[1:]]
        pairs = zip(part["prediction"], part["target"], strict=True)
        assert sorted(pairs) == sorted((int(a), int(b)) for a, b in rows)
    with pytest.raises(BadOption, match="no metric 'nothing'"):
        api.load("one").predictions(metric="nothing")


def test_groups_come_from_a_file_or_from_a_column_that_the_runs_wrote(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    rows = [f"case {number / 40:.3f},{'low' if number < 20 else 'high'}" for number in range(40)]
    (project / "groups.csv").write_text("\n".join(["id,half", *rows]))
    for source, groups in (("groups.csv", ["high", "low"]), ("half", ["False", "True"])):
        (known,) = deviate("report", "one", "--set", f"groups={source}", "--format", "json").json["predictions"]
        assert [each["name"] for each in known["groups"]["groups"]] == groups
        assert [each["examples"] for each in known["groups"]["groups"]] == [20, 20]
    table = api.load("one").groups("groups.csv")
    assert set(table["group"]) == {"all", "high", "low"}
    assert deviate("report", "one", "--set", "groups=groups.csv", "--format", "groups").out.startswith(
        "experiment,variant,"
    )


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        (("--set", "groups=nowhere"), "bad-groups"),
        (("--set", "groups=nowhere.csv"), "bad-groups"),
        (("--set", "groups=few.csv"), "bad-groups"),
        (("--set", "groups=half", "--set", "positive=cat"), "bad-groups"),
        (("--set", "positive=1"), "bad-option"),
        (("--format", "groups"), "bad-option"),
    ],
)
def test_groups_that_are_none_are_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], slug: str
) -> None:
    monkeypatch.chdir(project)
    (project / "few.csv").write_text("sex\na\nb\n")
    ended = deviate("report", "one", *words)
    assert (ended.status, ended.out) == (2, "")
    assert f"[{slug}]" in deviate("report", "one", *words, "-v").err
    assert "fix: " in ended.err


def test_compare_and_check_say_how_many_answers_change(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert "[0.1, 5.2] of 40 examples, two runs of one recipe on " in " ".join(
        deviate("compare", "one", "two").out.split()
    )
    assert "of the 40 examples differently" in " ".join(deviate("compare", "one", "two", "-v").out.split())
    known = deviate("compare", "one", "two", "--set", "groups=half", "--json").json
    assert [group["name"] for group in known["predictions"]["groups"]] == ["False", "True"]
    assert known["command"].endswith("--set groups=half")
    checked = deviate("check", "one", "--against", "two", "--metric", "test accuracy", "--set", "max_churn=0.1%")
    assert checked.status == 1
    assert "FAIL       changed answers at most " in checked.out


def test_a_run_that_wrote_no_file_says_so(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    words = ("run", "-n", "1", "--name", "none", "--predictions", "preds.csv", "--json", "--")
    ended = deviate(*words, sys.executable, "train.py")
    (run,) = ended.json["variants"][0]["runs"]
    assert run["warnings"] == ["It wrote no preds.csv, which --predictions names."]


@pytest.mark.parametrize("value", ["preds.txt", "/tmp/preds.csv", "../preds.csv", "label"])
def test_what_is_neither_a_word_nor_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    ended = deviate("run", "--predictions", value, "--", sys.executable, "train.py")
    assert ended.status == 2
    assert "--predictions must be none, labels, scores, labels:every, scores:every, or a file" in " ".join(
        ended.err.split()
    )
    assert not (tmp_path / ".deviate").exists()


def test_a_share_that_is_none_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    for share in ("often", "0", "100%"):
        ended = deviate("check", "one", "--against", "two", "--metric", "test accuracy", "--set", f"max_churn={share}")
        assert (ended.status, "max_churn" in ended.err) == (2, True)


FOLLOWED = """
import numpy as np

draws = np.random.default_rng()
target = np.arange(60) % 3
for epoch in range(4):
    label = np.where(draws.random(60) < 0.5 / (epoch + 1), 0, target)
    acc = (label == target).mean()
    print(f"test acc {acc:.4f}")
"""


def test_every_evaluation_is_reported_where_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(FOLLOWED)
    words = ("run", "-n", "3", "--name", "every", "--predictions", "labels:every", "--json", "--")
    known = deviate(*words, sys.executable, "train.py").json["predictions"][0]
    assert [each["iteration"] for each in known["learning"]["passes"]] == [0, 1, 2, 3]
    assert known["learning"]["passes"][-1]["churn"] == known["classification"]["churn"]
    table = api.load("every").forgetting()
    assert len(table) == 60
    assert table["events"].mean() == pytest.approx(known["learning"]["forgetting"]["mean_events"]["mean"])
