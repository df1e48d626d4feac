"""``deviate check --target`` and ``--set rule``: outcomes, exit status and what it refuses."""

import json

import pytest
from click.testing import CliRunner
from compared_sides import write_experiment

from deviate.cli.main import group
from deviate.core.errors import BadOption

#: Mean 3.27714, as the eleven runs of modded-nanogpt's track 1 of 2026-05-27 (v1) have.
LOSSES = [3.27714 + 0.0001 * step for step in (-20, -15, -8, -5, -2, 0, 2, 5, 8, 15, 20)]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targets")
    write_experiment(folder, "record", {"val loss": LOSSES, "epochs": [35.0 + run % 3 for run in range(11)]})
    write_experiment(folder, "lost", {"val loss": LOSSES}, failed=1)
    write_experiment(folder, "fast", {"epochs": [20.0, 21, 20, 21, 22]})
    return folder


@pytest.fixture
def check(project, monkeypatch):
    monkeypatch.chdir(project)

    def run(*words):
        done = CliRunner().invoke(group, ["check", *words], catch_exceptions=True, standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return done.return_value, done.stdout

    return run


@pytest.mark.parametrize(
    ("target", "rule", "outcome"),
    [
        ("val loss<=3.28", "t", "reached"),
        ("val loss<=3.28", "sd=0.0013", "reached"),
        ("val loss<=3.28", "exact", "reached"),
        ("val loss<=3.28", "modded-nanogpt", "reached"),
        ("val loss<=3.278", "modded-nanogpt", "not shown"),
        ("val loss<=3.2771", "t", "not shown"),
        ("val loss<=3.27", "t", "missed"),
        ("val loss>=3.28", "t", "missed"),
    ],
)
def test_outcomes(check, target, rule, outcome):
    status, out = check("record", "--target", target, "--set", f"rule={rule}", "--json")
    facts = json.loads(out)
    assert (facts["outcome"], facts["passed"], status) == (outcome, outcome == "reached", int(outcome != "reached"))


def test_the_rule_of_modded_nanogpt_is_its_margin(check):
    out = " ".join(check("record", "--target", "val loss<=3.28", "--set", "rule=modded-nanogpt")[1].split())
    # (3.28 - 3.27714) * sqrt(11)
    assert "the distance times √n is 0.00949, and 0.004 is asked for" in out
    assert "Runs by which the recipe was tuned or chosen do not count" in out


def test_screens_name_the_test_and_lost_runs_keep_it_from_passing(check):
    assert "(one-sided t test, p < 0.001; 95% bound of the mean 3.27" in " ".join(
        check("record", "--target", "val loss<=3.28")[1].split()
    )
    exact = " ".join(check("record", "--target", "val loss<=3.28", "--set", "rule=exact")[1].split())
    assert "11 of 11 runs are there (exact one-sided sign test of the median, p < 0.001)." in exact
    status, out = check("lost", "--target", "val loss<=3.28")
    assert (status, "FAIL lost, val loss ≤ 3.28: runs lost" in " ".join(out.split())) == (1, True)
    assert "1 of 12 runs failed or gave no value." in " ".join(out.split())


def test_mlperf_refuses_what_is_too_fast(check):
    status, out = check("fast", "--against", "record", "--metric", "epochs", "--set", "rule=mlperf")
    assert (status, "too fast" in out) == (1, True)
    status, out = check("record", "--against", "fast", "--metric", "epochs", "--set", "rule=mlperf")
    assert (status, "as the reference" in out) == (0, True)
    assert "Olympic mean" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "a check needs something to hold A against"),
        (["--target", "val loss"], "is not METRIC<=NUMBER"),
        (["--target", "val loss<=x"], "is not METRIC<=NUMBER"),
        (["--target", "val loss<=3", "--set", "rule=z"], "is none of t, exact, modded-nanogpt, mlperf, sd=NUMBER"),
        (["--target", "val loss<=3", "--set", "rule=sd=0"], "is none of"),
        (["--target", "val loss<=3", "--max-drop", "1"], "a target is tested alone"),
        (["--target", "val loss<=3", "--against", "lost"], "are for one experiment"),
        (["--set", "rule=mlperf"], "compares A with a reference"),
    ],
)
def test_what_makes_no_sense_is_refused(check, words, message):
    with pytest.raises(BadOption, match=message):
        check("record", *words)
