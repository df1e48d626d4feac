"""The accuracy on groups of examples, on two sides: tests, their correction, what is said of them."""

import dataclasses
from itertools import combinations

import numpy as np
import pytest
from msgspec import structs
from scipy import stats

from deviate.facts.comparable import Pairing
from deviate.facts.compared_predictions import changed_groups, judged_groups
from deviate.facts.predictions import Evaluation
from deviate.observe.examples import Grouping, Groups
from deviate.observe.matching import Predictions
from deviate.observe.predictions import Frame
from deviate.report.topics.comparison_predictions import group_note, group_sentences
from deviate.stats.contrast import WELCH_AND_PERMUTATION
from deviate.stats.tests import welch_t

EXAMPLES = 120
TARGETS = np.arange(EXAMPLES) % 3
COLUMNS = {"third": np.arange(EXAMPLES) // 40, "half": np.arange(EXAMPLES) // 60}


def predicted(runs, shares, seed):
    """Return runs that are right with a probability of their own on each third of the examples."""
    rng = np.random.default_rng(seed)
    right = rng.random((runs, EXAMPLES)) < np.repeat(shares, 40)
    return Predictions(
        runs=tuple(f"algo-{index}" for index in range(runs)), by="index", targets=TARGETS,
        labels=np.where(right, TARGETS, (TARGETS + 1) % 3), values=None, top=None, scores=None,
        keys=np.arange(EXAMPLES), classes=None,
    )  # fmt: skip


def groups_of(a, b, pairing=None):
    groupings = tuple(Grouping(name, tuple("abc"[: members.max() + 1]), members) for name, members in COLUMNS.items())
    evaluation = Evaluation(
        variant="algo", site=Frame("train.py", 9, "evaluate"), kept="last", data="", metric=None,
        iterations=[4] * len(a.runs), goodness=[0.9] * len(a.runs), predictions=a,
        groups=[Groups("groups.csv", "index", groupings)],
    )  # fmt: skip
    return changed_groups(evaluation, a, b, pairing, 0.95)


def accuracies(side, members, group):
    chosen = [i for i in range(EXAMPLES) if members[i] == group]
    return [sum(row[i] == TARGETS[i] for i in chosen) / len(chosen) for row in side.labels]


def holm(ps):
    """Adjust by Holm's own words: compare the k-th smallest with alpha / (m - k + 1), and stop at the first miss."""
    adjusted, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, (len(ps) - rank) * ps[place])
        adjusted[place] = min(1.0, largest)
    return adjusted


A, B = predicted(7, [0.95, 0.8, 0.7], 0), predicted(9, [0.7, 0.8, 0.75], 1)
PLACES = [(name, group) for name, members in COLUMNS.items() for group in range(members.max() + 1)]


def judged(groups, **changes):
    given = {"correction": "holm", "alphas": {("a", "b"): 0.05}, **changes}
    return judged_groups({("a", "b"): groups}, **given)["a", "b"]


def test_the_tests_are_welchs_over_runs_adjusted_by_holm_over_the_groups_of_all_columns():
    b = dataclasses.replace(B, labels=B.labels[:7], runs=B.runs[:7])
    groups = judged(groups_of(A, b))
    samples = [[accuracies(side, COLUMNS[name], group) for side in (A, b)] for name, group in PLACES]
    tests = [stats.ttest_ind(*pair, equal_var=False) for pair in samples]
    assert [each.label for each in groups] == [f"{name}={'abc'[group]}" for name, group in PLACES]
    assert [each.p for each in groups] == pytest.approx([test.pvalue for test in tests], rel=1e-12)
    assert [each.p_adjusted for each in groups] == pytest.approx(holm([test.pvalue for test in tests]), rel=1e-12)
    assert [each.difference.value for each in groups] == pytest.approx(
        [np.mean(first) - np.mean(second) for first, second in samples], abs=1e-12
    )
    ends = [test.confidence_interval() for test in tests]
    assert [each.difference.interval.low for each in groups] == pytest.approx([end.low for end in ends], rel=1e-9)
    assert {(each.n_a, each.n_b, each.test, each.family) for each in groups} == {(7, 7, "welch_t", 5)}
    assert [each.verdict for each in groups][:3] == ["a better", "no difference shown", "no difference shown"]


def welch(a, b):
    """Return Welch's t; infinite where both sides are constant."""
    error = np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b)
    gap = np.mean(a) - np.mean(b)
    return gap / error**0.5 if error > 1e-18 else np.copysign(np.inf, gap) if abs(gap) > 1e-9 else 0.0


def permuted(a, b):
    """Return p over all ways to divide the runs, counted one by one."""
    pooled, places = np.array([*a, *b]), range(len(a) + len(b))
    seen, arranged = welch(a, b), []
    for chosen in combinations(places, len(a)):
        others = [place for place in places if place not in chosen]
        arranged.append(welch(pooled[list(chosen)], pooled[others]))
    sides = [sum(t <= seen + 1e-9 for t in arranged), sum(t >= seen - 1e-9 for t in arranged)]
    return min(1.0, 2 * min(sides) / len(arranged))


def test_between_unequal_numbers_of_runs_the_greater_p_of_welchs_test_and_a_permutation_decides():
    groups = groups_of(A, B)
    samples = [[accuracies(side, COLUMNS[name], group) for side in (A, B)] for name, group in PLACES]
    both = [(stats.ttest_ind(*pair, equal_var=False).pvalue, permuted(*pair)) for pair in samples]
    assert [each.p for each in groups] == pytest.approx([max(pair) for pair in both], rel=1e-9)
    assert {np.argmax(pair) for pair in both} == {0, 1}
    assert {each.test for each in groups} == {WELCH_AND_PERMUTATION.test}


def test_runs_that_are_all_right_on_a_small_group_are_not_called_better_than_more_that_are_not():
    def side(right):
        return dataclasses.replace(
            A, runs=tuple(f"algo-{index}" for index in range(len(right))),
            labels=np.where(np.arange(EXAMPLES) < np.array(right)[:, None], TARGETS, (TARGETS + 1) % 3),
        )  # fmt: skip

    a, b = side([40] * 5), side([40] * 8 + [39] * 12)
    (first, *_) = groups_of(a, b)
    assert welch_t([1.0] * 5, [1.0] * 8 + [39 / 40] * 12).p < 0.001
    assert first.p == pytest.approx(2 * 1287 / 53130, abs=0.01)  # 13 of the 25 are right on all


def test_runs_that_belong_together_are_tested_in_pairs():
    b = dataclasses.replace(B, labels=B.labels[:7], runs=B.runs[:7])
    pairs = [(index, index) for index in range(7)]
    pairing = Pairing(a="a", b="b", reason="proven", indices=list(range(7)), runs=7, partners=7, pairs=pairs)
    groups = groups_of(A, b, pairing)
    ps = [
        stats.ttest_rel(*(accuracies(side, COLUMNS[name], group) for side in (A, b))).pvalue for name, group in PLACES
    ]
    assert [each.p for each in groups] == pytest.approx(ps, rel=1e-12)
    assert {each.test for each in groups} == {"paired_t"}


def test_the_groups_of_all_pairs_of_sides_are_one_family():
    c = predicted(6, [0.9, 0.85, 0.7], 2)
    pairs = {("a", "b"): groups_of(A, B), ("a", "c"): groups_of(A, c)}
    groups = judged_groups(pairs, "holm", dict.fromkeys(pairs, 0.05))
    listed = [each for both in groups.values() for each in both]
    assert [each.p_adjusted for each in listed] == pytest.approx(holm([each.p for each in listed]), rel=1e-12)
    assert {each.family for each in listed} == {10}


def test_few_runs_one_draw_and_equal_runs_give_no_verdict():
    few = judged(groups_of(*(dataclasses.replace(side, labels=side.labels[:3], runs=side.runs[:3]) for side in (A, B))))
    assert {each.verdict for each in few} == {"too few runs"}
    assert group_sentences(few, "a", "b", one_draw=False) == ["So few runs give no verdict on groups."]
    repeated = judged(groups_of(A, B), one_draw=[("a", "b")])
    assert {each.verdict for each in repeated} == {"too few runs"}
    assert group_sentences(repeated, "a", "b", one_draw=True) == []
    still = dataclasses.replace(A, labels=np.tile(TARGETS, (7, 1)))
    (same, *_) = judged(groups_of(still, still))
    assert (same.p, same.verdict) == (None, "no difference shown")
    assert same.reason


def test_the_groups_that_differ_are_named_with_the_better_side():
    groups = judged(groups_of(A, B))
    assert group_sentences(groups, "a", "b", one_draw=False)[0].startswith("The accuracy of a is higher on third=a")
    none = [structs.replace(each, verdict="no difference shown") for each in groups]
    assert group_sentences(none, "a", "b", one_draw=False) == ["On none of 5 groups another accuracy is shown."]
    assert (
        group_note(5, "holm", {"welch_t"})
        == "p: of the difference of the accuracies, adjusted over 5 tests of groups (Holm)."
    )
    assert group_note(5, "none", {"paired_t"}) == "p: of the difference of the accuracies."
    assert group_note(1, "holm", {WELCH_AND_PERMUTATION.test}) == (
        "p: of the difference of the accuracies by Welch's t test and by permuting the runs, the greater one of both."
    )
    assert group_note(1, "holm", {WELCH_AND_PERMUTATION.test, "welch_t"}) == (
        "p: of the difference of the accuracies by Welch's t test and, where accuracies are of two kinds, by permuting "
        "the runs, the greater one of both."
    )
