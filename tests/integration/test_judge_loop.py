"""``deviate baseline`` and ``deviate judge`` on a training: how many runs are made, and what becomes the baseline."""

import sys

import pytest
from cli_tool import TRAIN, deviate

pytestmark = pytest.mark.slow

COMMAND = ("--", sys.executable, "train.py")


def runs_made(project, name):
    return len(list((project / ".deviate/experiments" / name / "runs").iterdir()))


def test_a_loop_over_changes_makes_no_run_too_many(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    measured = deviate("baseline", "-n", "5", "--set", "tries=2", "--metric", "test accuracy", "--json", *COMMAND).json
    baseline = measured["side"].partition(":")[0]
    assert (len(measured["values"]), measured["wanted"]) == (5, 5)

    same = deviate("judge", "--json", *COMMAND)
    assert (same.status, same.json["reason"], same.json["attempt"]) == (1, "same", 0)

    script.write_text(TRAIN.replace("import random, sys", "import random, sys\nsys.exit(3)"))
    failed = deviate("judge", "--json", *COMMAND)
    assert (failed.status, failed.json["values"], failed.json["attempt"]) == (1, [None], 1)

    script.write_text(TRAIN.replace("0.02 * gradient", "0.1 * gradient"))
    better = deviate("judge", "--json", *COMMAND)
    assert (better.status, better.json["decision"]) == (0, "keep")
    kept = better.json["change"].partition(":")[0]
    assert runs_made(tmp_path, kept) == better.json["runs"] < 5
    assert runs_made(tmp_path, baseline) == 5

    # The next change is judged against the one that was kept, whose floor is filled up first.
    script.write_text(TRAIN)
    back = deviate("judge", "--json", *COMMAND)
    assert (back.status, back.json["baseline"], len(back.json["floor"])) == (1, better.json["change"], 5)
    assert runs_made(tmp_path, kept) == 5
