"""Repeated checks of growing experiments: recorded, judged more strictly, and said."""

import json
import shutil

import numpy as np
import pytest
from compared_sides import side, side_metric, write_experiment
from scipy import stats

from deviate.core.errors import BadOption
from deviate.core.experiment import Until
from deviate.facts.comparison_options import Drop, GateOptions
from deviate.facts.gate import check_side, read_gate
from deviate.report.topics.gate import gate_caveats, gate_methods
from deviate.report.writers.contracts import gate_json
from deviate.report.writers.gate_junit import gate_junit
from deviate.store.folders import Workspace

DROP = 1.0


def grown(n, shift=0.0, seed=1):
    """The first n runs of the candidate, and all 20 of the baseline."""
    a, b = np.random.default_rng(seed).standard_normal((2, 20))
    return {"candidate": 90 + shift + a[:n], "baseline": 90 + b}


def check(project, n, shift=0.0, seed=1, drop=DROP, **options):
    project.mkdir(exist_ok=True)
    for name, values in grown(n, shift, seed).items():
        shutil.rmtree(project / ".deviate" / "experiments" / name, ignore_errors=True)
        write_experiment(project, name, {"test acc": values.tolist()})
    asked = GateOptions(drops={"test acc": Drop(drop)}, **options)
    return read_gate(Workspace(project), "candidate", "baseline", asked)


def p_not_worse(n, shift=0.0, seed=1):
    a, b = grown(n, shift, seed).values()
    return stats.ttest_ind(a, b - DROP, equal_var=False, alternative="greater").pvalue


def said(gate):
    return " ".join(caveat.message for caveat in gate_caveats(gate))


def test_a_check_made_once_says_nothing_of_looks(tmp_path):
    once = check(tmp_path, 10)
    assert (once.look.number, once.look.alpha) == (1, 0.05)
    assert "check" not in said(once)
    assert check(tmp_path, 10) == once


def test_after_more_runs_p_must_be_below_less_and_that_is_said(tmp_path):
    check(tmp_path, 5, shift=-0.6)
    second = check(tmp_path, 10, shift=-0.6)
    assert second.look.sizes == [(5, 20), (10, 20)]
    assert second.look.alpha < 0.01
    level = 1 - 2 * second.look.alpha
    assert second.metrics[0].ci_room.level == pytest.approx(level)
    assert "check 2 of these experiments as they grow (5 against 20, 10 against 20 runs)" in said(second)
    assert f"each one-sided p must be below {second.look.alpha}," in said(second)
    assert "5.5% or fewer over all checks" in said(second)
    assert json.loads(gate_json(second))["look"]["number"] == 2
    assert "check 2 of these experiments" in gate_junit(second)
    assert "was checked against baseline 2 times" in " ".join(gate_methods(second))


def test_a_p_between_the_limit_and_alpha_lets_nothing_pass_at_a_later_check(tmp_path):
    seed = next(seed for seed in range(500) if p_not_worse(5, seed=seed) > 0.05 > p_not_worse(10, seed=seed) > 0.02)
    assert check(tmp_path / "once", 10, seed=seed).passed
    assert not check(tmp_path / "again", 5, seed=seed).passed
    again = check(tmp_path / "again", 10, seed=seed)
    assert (again.passed, again.metrics[0].outcome) == (False, "inconclusive")


@pytest.mark.parametrize(("shift", "outcome"), [(1.5, "not worse"), (-3.5, "worse")])
def test_what_an_earlier_check_showed_stays_shown_at_alpha(tmp_path, shift, outcome):
    assert check(tmp_path, 8, shift=shift).metrics[0].outcome == outcome
    second = check(tmp_path, 12, shift=shift)
    assert (second.look.settled, second.look.alpha) == (1, 0.05)
    assert second.metrics[0].outcome == outcome
    assert "Check 1 showed what this one asks" in said(second)


def test_an_earlier_check_shows_nothing_of_another_limit_or_of_failures(tmp_path):
    check(tmp_path, 8, shift=-0.2, drop=3.0)
    assert check(tmp_path, 12, shift=-0.2, drop=0.3).look.settled is None
    assert check(tmp_path, 12, shift=-0.2, drop=3.0).look.settled == 1
    assert check(tmp_path, 12, shift=-0.2, drop=3.0, max_failures=0.5).look.settled is None


def test_the_limit_of_the_rate_of_failures_is_that_of_the_look(tmp_path):
    once = check(tmp_path / "once", 20, max_failures=0.15)
    assert once.failures.passed
    check(tmp_path / "again", 10, max_failures=0.15)
    again = check(tmp_path / "again", 20, max_failures=0.15)
    assert again.failures.upper > once.failures.upper
    assert not again.failures.passed


def test_comparisons_and_checks_have_looks_of_their_own(tmp_path):
    from deviate.facts.comparison import read_comparison
    from deviate.facts.comparison_options import ComparisonOptions

    check(tmp_path, 5)
    assert read_comparison(Workspace(tmp_path), ("candidate", "baseline"), ComparisonOptions()).pairs[0].alpha == 0.05
    assert check(tmp_path, 10).look.number == 2
    assert len(list((tmp_path / ".deviate" / "looks").iterdir())) == 2


def test_where_a_check_cannot_be_recorded_that_is_said(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("deviate.facts.looks.add_look", full)
    gate = check(tmp_path, 8)
    assert "This check could not be recorded (No space left on device)" in said(gate)


def test_a_refused_check_is_no_look(tmp_path):
    with pytest.raises(BadOption, match="alpha"):
        check(tmp_path, 8, alpha=0.9)
    assert not (tmp_path / ".deviate" / "looks").exists()


def test_sides_that_until_ended_are_checked_more_strictly_and_that_is_said():
    until = Until(metric="test acc", width=1, least=10, most=30)
    a, b = grown(20).values()
    ended = side("candidate", [side_metric(values=a)], until=until)
    gate = check_side(ended, side("baseline", [side_metric(values=b)]), GateOptions(drops={"test acc": Drop(DROP)}))
    assert (gate.look.stopped, gate.look.alpha) == (["candidate"], 0.033)
    assert "each one-sided p must be below 0.033 instead of 0.05" in said(gate)
