"""The studies that the examples do again by one command, each at its smallest: they end with their tables."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from installed import require

import deviate

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Two runs of one variant.
STUDIES = {
    "arms": "--parts faces --arms algo+impl --epochs 1",
    "sources": "--vary shuffle --epochs 1",
    "digits_mlp": "--vary algo+impl --epochs 1 --converged 1 --weak 0",
    "adversarial_digits": "--networks mlp --attacks fgsm --kinds algo+impl --epochs 1",
}


def run_study(folder: str, parent: Path) -> str:
    """Return what a study prints."""
    copy = shutil.copytree(EXAMPLES / folder, parent / folder, ignore=shutil.ignore_patterns("__pycache__", ".deviate"))
    words = [sys.executable, "study.py", "--runs", "2", "--jobs", "1", *STUDIES[folder].split()]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, cwd=copy, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def study(tmp_path, request):
    """Return what the study that a test is marked with prints."""
    require("torch", "sklearn", "safetensors")
    return run_study(request.param, tmp_path)


def studied(folder: str):
    return pytest.mark.parametrize("study", [folder], indirect=True)


def rows(output: str) -> list[list[str]]:
    """Return the cells of the rows of a table in Markdown, without its head."""
    lines = [line for line in output.splitlines() if line.startswith("|")]
    assert re.fullmatch(r"[|:-]+", lines[1])
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.slow
@studied("arms")
def test_arms_has_the_rates_of_groups_that_numpy_finds_in_the_predictions(study, tmp_path):
    found = {row[0]: row[1:] for row in rows(study)}
    assert list(found) == ["all", "female", "male", "young", "old"]
    part = "import faces, json; print(json.dumps([column.tolist() for column in faces.test_part()[1:]]))"
    made = subprocess.run([sys.executable, "-c", part], cwd=tmp_path / "arms", capture_output=True, check=True).stdout
    blond, male, old = map(np.array, json.loads(made))
    runs = deviate.load("faces", project=tmp_path / "arms").predictions()
    answers = []
    for _, run in runs.groupby("run"):
        ordered = run.sort_values("example", key=lambda column: column.astype(int))
        assert ordered["target"].astype(int).tolist() == blond.tolist(), "the runs have the author's data"
        answers.append(ordered["prediction"].to_numpy(int))
    groups = {"all": blond >= 0, "female": male == 0, "male": male == 1, "young": old == 0, "old": old == 1}
    for name, members in groups.items():
        columns = (members, members & (blond == 0), members & (blond == 1))
        wrong = [[100 * (answer[column] != blond[column]).mean() for column in columns] for answer in answers]
        spread = np.std(wrong, axis=0, ddof=1)
        shown = [float(cell.split()[0]) for cell in found[name]]
        assert shown == pytest.approx(spread, abs=0.0051)


@pytest.mark.slow
@pytest.mark.nightly
@studied("sources")
def test_sources_compares_answers_representations_and_weights_of_runs(study):
    (row,) = rows(study)
    assert row[:2] == ["shuffle", "2"]
    disagreement, correlation, similarity, distance = (float(row[place]) for place in (4, 7, 8, 9))
    assert 0 < disagreement < 100
    assert -1 <= correlation < 1
    assert similarity < 1
    assert 0 < distance <= 2


@pytest.mark.slow
@pytest.mark.nightly
@studied("digits_mlp")
def test_digits_mlp_has_spread_classes_and_convergence_of_identical_runs(study):
    (row,) = rows(study)
    assert row[:2] == ["free seeds", "2"]
    assert 0 < float(row[3]) <= float(row[5].split()[0]), "no class varies less than all of them"
    assert row[6] == "0 to 0"


@pytest.mark.slow
@pytest.mark.nightly
@studied("adversarial_digits")
def test_adversarial_digits_has_accuracy_under_both_attacks(study):
    (row,) = rows(study)
    assert row[:3] == ["mlp-fgsm", "free", "2"]
    one_step, several = row[6:]
    assert one_step != several
