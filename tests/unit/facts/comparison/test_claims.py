"""Claims about one metric, or one pair, after the other: counted, and corrected for."""

import numpy as np
import pytest
from compared_sides import write_experiment

from deviate.facts.compared_metric import Claimed, adjust_families
from deviate.facts.comparison import read_comparison
from deviate.facts.comparison_options import ComparisonOptions
from deviate.report.topics.comparison_answer import comparison_headline
from deviate.report.topics.reasons import reasons
from deviate.stats.multiplicity import LATER_LOOKS, claim_factor
from deviate.store.folders import Workspace

NAMES = ("acc", "f1", "recall")


def made(project, *experiments, n=8, shift=1.0):
    rng = np.random.default_rng(2)
    project.mkdir(exist_ok=True)
    for place, name in enumerate(experiments):
        values = {metric: (90 + place * shift + rng.standard_normal(n)).tolist() for metric in NAMES}
        write_experiment(project, name, values)
    return Workspace(project)


def asked(workspace, *names, **options):
    comparison = read_comparison(workspace, names, ComparisonOptions(**options))
    return comparison, {metric.name: metric for metric in comparison.pairs[0].metrics}


def test_later_claims_share_a_tenth_of_alpha_however_many_there_are():
    assert sum(1 / claim_factor(number) for number in range(2, 100_000)) == pytest.approx(LATER_LOOKS, rel=1e-4)


def test_metrics_named_one_after_the_other_are_counted_and_the_first_keeps_all_of_alpha(tmp_path):
    workspace = made(tmp_path, "a", "b")
    _, first = asked(workspace, "a", "b", metrics=["acc"])
    comparison, second = asked(workspace, "b", "a", metrics=["f1"])
    f1 = second["f1"]
    assert (first["acc"].claim, f1.claim) == (1, 2)
    assert f1.p_adjusted == pytest.approx(min(1.0, 20 * f1.contrast.p))
    assert "as claim 2 of these runs" in comparison_headline(comparison)[0]
    (pair,) = comparison.pairs
    why = " ".join(reasons(f1, pair, comparison))
    assert "times 20 as claim 2" in why
    assert "1 earlier comparison of these runs claimed something else, so p is multiplied by 20" in why
    _, third = asked(workspace, "a", "b", metrics=["recall"])
    assert third["recall"].claim == 3
    _, again = asked(workspace, "a", "b", metrics=["acc"])
    assert (again["acc"].claim, again["acc"].p_adjusted) == (1, first["acc"].p_adjusted)
    _, again = asked(workspace, "a", "b", metrics=["f1"])
    assert (again["f1"].claim, again["f1"].p_adjusted) == (2, f1.p_adjusted)


def test_what_was_claimed_together_stays_corrected_together(tmp_path):
    workspace = made(tmp_path, "a", "b")
    asked(workspace, "a", "b", metrics=["acc", "f1", "recall"])
    _, alone = asked(workspace, "a", "b", metrics=["f1"])
    assert (alone["f1"].claim, alone["f1"].family) == (1, 3)
    assert alone["f1"].p_adjusted == pytest.approx(min(1.0, 3 * alone["f1"].contrast.p))


def test_pairs_one_after_the_other_are_counted_where_they_share_runs(tmp_path):
    workspace = made(tmp_path, "a", "b", "c", "d", "e")
    claims = [asked(workspace, *pair)[1]["acc"].claim for pair in (("a", "b"), ("a", "c"), ("d", "e"), ("b", "c"))]
    assert claims == [1, 2, 1, 3]
    together = made(tmp_path / "together", "a", "b", "c")
    comparison, _ = asked(together, "a", "b", "c")
    assert {metric.claim for pair in comparison.pairs for metric in pair.metrics} == {1}


def test_few_runs_claim_nothing_and_no_correction_is_none(tmp_path):
    few = made(tmp_path / "few", "a", "b", n=3)
    asked(few, "a", "b", metrics=["acc"])
    assert asked(few, "a", "b", metrics=["f1"])[1]["f1"].claim == 1
    workspace = made(tmp_path, "a", "b")
    asked(workspace, "a", "b", metrics=["acc"])
    _, bare = asked(workspace, "a", "b", metrics=["f1"], correction="none")
    assert bare["f1"].p_adjusted == bare["f1"].contrast.p


def test_claims_of_one_comparison_are_adjusted_apart_from_those_before():
    ps = {("acc",): 0.01, ("f1",): 0.001, ("recall",): 0.0001}
    claims = {("acc",): Claimed(1, 1), ("f1",): Claimed(2), ("recall",): Claimed(2)}
    adjusted = adjust_families(ps, "holm", list(NAMES), claims)
    assert [round(each.p, 6) for each in adjusted.values()] == [0.01, 0.02, 0.004]
    assert [each.family for each in adjusted.values()] == [1, 2, 2]
