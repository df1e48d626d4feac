"""Repeated comparisons of growing experiments: recorded, judged more strictly, and told."""

import json
import shutil

import numpy as np
import pytest
from compared_sides import side, side_metric, sides, write_experiment
from scipy import stats

from deviate.core.errors import BadOption, WorkspaceUnusable
from deviate.core.experiment import Until
from deviate.facts.comparison import compare_sides, read_comparison
from deviate.facts.comparison_options import ComparisonOptions
from deviate.report.topics.comparison_answer import comparison_headline
from deviate.report.topics.reasons import reasons
from deviate.report.writers.contracts import comparison_contract
from deviate.store.folders import Workspace


def grown(n, shift=0.0, seed=1):
    """The first n runs of two experiments."""
    a, b = np.random.default_rng(seed).standard_normal((2, 40))
    return {"baseline": 90 + a[:n], "proposed": 90 + shift + b[:n]}


def compare(project, n, names=("baseline", "proposed"), shift=0.0, seed=1, **options):
    for name, values in grown(n, shift, seed).items():
        shutil.rmtree(project / ".deviate" / "experiments" / name, ignore_errors=True)
        write_experiment(project, name, {"test acc": values.tolist()})
    return read_comparison(Workspace(project), names, ComparisonOptions(**options))


def welch_p(n, seed):
    return stats.ttest_ind(*grown(n, seed=seed).values(), equal_var=False).pvalue


def why(comparison):
    pair = comparison.pairs[0]
    return " ".join(reasons(pair.metrics[0], pair, comparison))


def test_a_comparison_made_once_says_nothing_of_looks(tmp_path):
    once = compare(tmp_path, 8)
    assert once.pairs[0].alpha == once.alpha == 0.05
    assert "look" not in why(once)
    again = compare(tmp_path, 8)
    assert again == once
    assert again.pairs[0].look.number == 1


def test_after_more_runs_p_must_be_below_less_and_that_is_told(tmp_path):
    compare(tmp_path, 5)
    compare(tmp_path, 10)
    third = compare(tmp_path, 15)
    look = third.pairs[0].look
    assert (look.number, look.sizes) == (3, [(5, 5), (10, 10), (15, 15)])
    assert look.alpha == 0.0023
    assert "look 3" in why(third)
    assert "p must be below 0.0023" in why(third)
    assert "5.5%" in why(third)
    assert "limit 0.0023 at look 3" in comparison_headline(third)[0]
    contract = comparison_contract(third)
    assert contract["look"]["number"] == 3
    assert contract["look"]["alpha"] == look.alpha
    assert third.pairs[0].metrics[0].contrast.difference.interval.level == pytest.approx(1 - look.alpha)


def test_looks_are_those_of_both_sides_in_either_order(tmp_path):
    compare(tmp_path, 5)
    assert compare(tmp_path, 10, names=("proposed", "baseline")).pairs[0].look.number == 2


def test_a_p_between_the_limit_and_alpha_shows_nothing_at_a_later_look(tmp_path):
    seed = next(seed for seed in range(500) if welch_p(5, seed) > 0.05 > welch_p(10, seed) > 0.01)
    compare(tmp_path, 5, seed=seed)
    second = compare(tmp_path, 10, seed=seed).pairs[0].metrics[0]
    assert second.verdict == "no difference shown"
    assert not second.differs


def test_what_an_earlier_look_showed_stays_shown_at_alpha(tmp_path):
    assert compare(tmp_path, 8, shift=2.5).pairs[0].metrics[0].verdict == "b better"
    second = compare(tmp_path, 12, shift=2.5)
    assert second.pairs[0].look.settled == 1
    assert second.pairs[0].alpha == 0.05
    assert "shown at look 1" in why(second)


def test_few_runs_are_no_look(tmp_path):
    compare(tmp_path, 4)
    assert compare(tmp_path, 8).pairs[0].look.number == 1


def test_an_experiment_made_anew_is_another_side(tmp_path):
    compare(tmp_path, 5)
    file = Workspace(tmp_path).experiment("baseline").experiment_file
    made = json.loads(file.read_text())
    del made["crc32"]
    made["created"] = "2031-01-01T00:00:00+00:00"
    file.write_text(json.dumps(made))
    anew = read_comparison(Workspace(tmp_path), ("baseline", "proposed"), ComparisonOptions())
    assert anew.pairs[0].look.number == 1


def test_a_plan_shares_alpha_over_all_looks_and_ends(tmp_path):
    first = compare(tmp_path, 10, until="decided", most=20)
    assert first.pairs[0].alpha < 0.01
    assert first.open_pairs
    assert "Nothing is decided yet" in why(first)
    last = compare(tmp_path, 20)
    assert last.pairs[0].look.most == 20
    assert last.pairs[0].alpha == pytest.approx(0.05, abs=0.003)
    assert not last.open_pairs
    assert "this was the last look" in why(last)


def test_a_side_that_has_its_runs_is_planned_with_them(tmp_path):
    samples = grown(30)
    write_experiment(tmp_path, "baseline", {"test acc": samples["baseline"][:8].tolist()})
    asked = ComparisonOptions(until="decided", first_grows=True)
    for n in (10, 30):
        shutil.rmtree(tmp_path / ".deviate" / "experiments" / "proposed", ignore_errors=True)
        write_experiment(tmp_path, "proposed", {"test acc": samples["proposed"][:n].tolist()})
        compared = read_comparison(Workspace(tmp_path), ("proposed", "baseline"), asked)
        (pair,) = compared.pairs
        assert (pair.look.most, pair.look.most_b) == (30, 8)
        if n == 10:
            assert "Looks are planned up to 30 against 8 runs" in why(compared)
            assert "make more runs of proposed (a larger -n)" in why(compared)
    assert pair.alpha == pytest.approx(0.05, abs=0.01)
    assert not compared.open_pairs
    assert "There are 30 against 8 runs, as planned" in why(compared)
    turned = read_comparison(Workspace(tmp_path), ("baseline", "proposed"), ComparisonOptions())
    assert (turned.pairs[0].look.most, turned.pairs[0].look.most_b) == (8, 30)
    assert turned.pairs[0].alpha == pair.alpha


def test_a_decided_plan_is_not_open(tmp_path):
    assert not compare(tmp_path, 16, shift=4.0, until="decided").open_pairs


def test_a_plan_is_made_before_the_first_look_and_stays(tmp_path):
    compare(tmp_path, 5)
    with pytest.raises(BadOption, match="compared before without --until"):
        compare(tmp_path, 10, until="decided")
    other = tmp_path / "other"
    other.mkdir()
    compare(other, 5, until="decided", most=20)
    with pytest.raises(BadOption, match="had 20"):
        compare(other, 10, until="decided", most=40)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"most": 20}, "--set max says when"),
        ({"until": "bored"}, "is not 'decided'"),
        ({"until": "decided", "most": 3}, "too few"),
    ],
)
def test_what_cannot_be_planned_is_refused(tmp_path, options, message):
    with pytest.raises(BadOption, match=message):
        compare(tmp_path, 8, **options)


def test_a_damaged_record_of_looks_is_refused(tmp_path):
    compare(tmp_path, 5)
    (file,) = (tmp_path / ".deviate" / "looks").iterdir()
    file.write_bytes(file.read_bytes().replace(b"baseline", b"bbseline"))
    with pytest.raises(WorkspaceUnusable, match="changed since it was written"):
        compare(tmp_path, 10)


def test_where_a_look_cannot_be_recorded_that_is_told(tmp_path):
    (tmp_path / ".deviate").mkdir()
    (tmp_path / ".deviate" / "looks").write_text("in the way")
    assert "could not be recorded" in why(compare(tmp_path, 8))


def test_sides_that_until_ended_are_tested_more_strictly_and_that_is_told():
    until = Until(metric="test acc", width=0.3, least=10, most=30)
    a, b = (side(each.label, each.samples, until=until) for each in sides(n=12, shift=0.0))
    comparison = compare_sides([a, b], ComparisonOptions())
    assert comparison.pairs[0].alpha == 0.03
    assert "p must be below 0.03 instead of 0.05" in why(comparison)
    assert comparison.pairs[0].look.stopped == ["baseline", "proposed"]


def test_sides_that_ended_when_their_sd_was_known_are_tested_as_others():
    until = Until(metric="test acc", of="sd", width=0.35, relative=True, least=10, most=45)
    a, b = (side(each.label, each.samples, until=until) for each in sides(n=12, shift=0.0))
    assert compare_sides([a, b], ComparisonOptions()).pairs[0].alpha == 0.05


def test_several_pairs_have_looks_of_their_own(tmp_path):
    compare(tmp_path, 5)
    write_experiment(tmp_path, "third", {"test acc": grown(10)["baseline"].tolist()})
    three = compare(tmp_path, 10, names=("baseline", "proposed", "third"))
    assert [pair.look.number for pair in three.pairs] == [2, 1, 1]
    assert three.omnibus_alpha == three.pairs[0].alpha


def test_metrics_of_one_value_are_left_to_the_tests(tmp_path):
    same = side("a", [side_metric("test acc", [1.0] * 8)]), side("b", [side_metric("test acc", [1.0] * 8)])
    assert compare_sides(same, ComparisonOptions()).pairs[0].look.number == 1
