"""Guards, choices and verdicts: nothing is said that the runs cannot carry."""

import numpy as np
import pytest

from deviate.stats.contrast import TESTS, choose_location, contrast, judge, judge_spread
from deviate.stats.effects import dominance, p_superiority, sd_ratio, tost
from deviate.stats.factorial import ranking
from deviate.stats.multiplicity import adjust
from deviate.stats.paired_tests import correlation, paired_permutation, paired_t
from deviate.stats.results import fewest_runs, smallest_p
from deviate.stats.tests import (
    bartlett,
    brown_forsythe,
    f_variance,
    kruskal_wallis,
    mann_whitney_u,
    permutation,
    student_t,
    welch_anova,
    welch_t,
)


def rng():
    return np.random.default_rng(0)


def judged(**changes):
    fields = {"n_a": 8, "n_b": 8, "alpha": 0.05, "p_adjusted": 0.01, "difference": 1.0, "direction": "higher"}
    return judge(**{**fields, **changes})


@pytest.mark.parametrize(("n", "m"), [(3, 3), (4, 4), (5, 5), (3, 8), (5, 16)])
def test_smallest_p_is_reached_by_sides_that_do_not_overlap(n, m):
    a, b = list(range(n)), list(range(100, 100 + m))
    assert mann_whitney_u(a, b, rng()).p == pytest.approx(smallest_p(n, m))
    assert permutation(a, b, rng()).p >= smallest_p(n, m) - 1e-12


@pytest.mark.parametrize("n", [3, 5, 8])
def test_smallest_p_of_pairs_is_reached_by_differences_of_one_sign(n):
    assert paired_permutation(np.arange(n), 2.0 * np.arange(n) + 1, rng()).p == pytest.approx(
        smallest_p(n, n, paired=True)
    )


@pytest.mark.parametrize(("alpha", "n"), [(0.2, 5), (0.05, 5), (0.01, 5), (0.005, 6), (0.001, 7), (1e-6, 12)])
def test_a_stricter_alpha_needs_more_runs(alpha, n):
    assert fewest_runs(alpha) == n
    assert smallest_p(n, n) <= alpha


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "a better"),
        ({"difference": -1.0}, "b better"),
        ({"direction": "lower"}, "b better"),
        ({"direction": "lower", "difference": -1.0}, "a better"),
        ({"p_adjusted": 0.06}, "no difference shown"),
        ({"p_adjusted": 0.05}, "a better"),
        ({"n_a": 4}, "too few runs"),
        ({"n_b": 3, "p_adjusted": 1e-9}, "too few runs"),
        ({"alpha": 0.001, "p_adjusted": 1e-9, "n_a": 6}, "too few runs"),
        ({"p_adjusted": None}, "not compared"),
        ({"p_adjusted": None, "difference": 0.0}, "no difference shown"),
        ({"difference": None}, "not compared"),
        ({"direction": None}, "differs"),
        ({"p_adjusted": 0.6, "equivalence_p": 0.01}, "equivalent"),
        ({"equivalence_p": 0.01}, "equivalent"),
        ({"p_adjusted": 0.6, "equivalence_p": 0.2}, "no difference shown"),
        ({"n_a": 3, "equivalence_p": 0.001}, "too few runs"),
    ],
)
def test_verdict(changes, verdict):
    assert judged(**changes).verdict == verdict


def test_a_difference_of_unknown_direction_is_told_but_nobody_is_called_better():
    verdict = judged(direction=None)
    assert (verdict.verdict, verdict.differs) == ("differs", True)
    assert judged(p_adjusted=0.5, direction=None).differs is False


@pytest.mark.parametrize(
    ("n", "p", "sds", "verdict"),
    [
        (8, 0.01, (1.0, 2.0), "b noisier"),
        (8, 0.01, (2.0, 1.0), "a noisier"),
        (8, 0.2, (2.0, 1.0), "no difference shown"),
        (4, 0.01, (2.0, 1.0), "too few runs"),
        (8, None, (0.0, 0.0), "too few runs"),
    ],
)
def test_verdict_on_the_spread(n, p, sds, verdict):
    assert judge_spread(n_a=n, n_b=n, alpha=0.05, p_adjusted=p, sd_a=sds[0], sd_b=sds[1]) == verdict


@pytest.mark.parametrize("test", [student_t, welch_t, brown_forsythe, f_variance, bartlett])
def test_what_cannot_be_tested_has_a_reason(test):
    assert "two runs" in test([1.0], [1.0, 2.0]).reason
    assert "exactly the same value" in test([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]).reason
    with pytest.raises(ValueError, match="NaN"):
        test([1.0, float("nan")], [1.0, 2.0])


def test_a_side_of_one_value_repeated():
    constant, other = [1.0] * 5, [2.0, 3.0, 2.5, 2.0, 2.2]
    assert welch_t(constant, other).p is not None
    assert "variance is zero" in f_variance(constant, other).reason
    assert "zero or infinite" in sd_ratio(constant, other).reason
    assert "weight" in welch_anova([constant, other]).reason
    assert kruskal_wallis([constant, other]).p is not None
    assert "all runs" in kruskal_wallis([constant, constant]).reason


def test_few_runs_have_no_interval_of_the_sd_ratio_and_no_stochastic_order():
    effect = sd_ratio([1.0, 2.0, 4.0, 8.0], [1.0, 2.0, 3.0, 4.0, 6.0])
    assert effect.value is not None
    assert "5 runs" in effect.interval.reason
    assert "5 runs" in dominance([8.0], [5.0, 5.0, 8.0, 7.0, 8.0], rng()).reason
    assert p_superiority([1.0], [2.0, 3.0]).value is None


def test_pairs_must_be_pairs():
    for test in (paired_t, lambda a, b: paired_permutation(a, b, rng())):
        with pytest.raises(ValueError, match="as many runs"):
            test([1.0, 2.0], [1.0, 2.0, 3.0])
    assert "same amount" in paired_t([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]).reason
    assert correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None


def test_pairing_is_chosen_only_where_most_runs_have_a_partner():
    seven, eight, sixteen = (np.arange(float(n)) for n in (7, 8, 16))
    assert choose_location(eight, eight, 8).test == "paired_t"
    assert choose_location(eight, seven, 7).test == "paired_t"
    assert choose_location(sixteen, eight, 8).test == "welch_permutation"
    assert choose_location(eight, eight, 0).test == "welch_t"


def test_paired_contrast_uses_the_pairs():
    a = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    b = a[::-1] + np.array([0.5, 0.4, 0.6, 0.5, 0.45, 0.55])
    compared = contrast(a, b, rng(), pairs=[(k, 5 - k) for k in range(6)], margin=1.0)
    assert compared.paired
    assert compared.p == compared.tests["paired_t"].p < 1e-4
    assert compared.tests["welch_t"].p > 0.5
    assert compared.correlation == pytest.approx(1, abs=0.01)
    assert compared.equivalence.p < 0.001
    assert "cohen_dz" in compared.effects


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="margin"):
        tost([1.0, 2.0], [1.0, 2.0], 0.0)
    with pytest.raises(ValueError, match="correction"):
        adjust([0.1], "sidak")
    with pytest.raises(ValueError, match="two sides"):
        welch_anova([[1.0, 2.0]])


def test_values_of_any_size_are_compared():
    """Squares of these overflow or vanish."""
    for factor in (1e300, 1e-300):
        a, b = factor * np.array([1.0, 2.0, 3.0, 4.0, 5.0]), factor * np.array([3.0, 4.0, 5.0, 6.0, 7.5])
        compared = contrast(a, b, rng(), margin=factor)
        assert compared.p == pytest.approx(contrast(a / factor, b / factor, rng()).p, rel=1e-9)
        assert compared.difference.value == pytest.approx(-2.1 * factor)
        assert compared.effects["cohen_d"].value == pytest.approx(-2.1 / np.sqrt((2.5 + 3.05) / 2))


def test_ranking_of_equal_means_and_lower_is_better():
    places = ranking(["a", "b", "c"], [2.0, 1.0, 1.0], "lower", {("b", "a"), ("c", "a")})
    assert [(place.name, place.rank, place.lowest, place.highest) for place in places] == [
        ("b", 1, 1, 2),
        ("c", 1, 1, 2),
        ("a", 3, 3, 3),
    ]


def test_tests_are_made_when_they_are_looked_at_and_draw_the_same_in_any_order(monkeypatch):
    a, b = rng().standard_normal((2, 30))
    asked = contrast(a, b, rng())
    other = contrast(a, b, rng())
    assert other.tests["permutation"].p is not None

    def refused(*samples):
        raise AssertionError("nobody looked at this test")

    with monkeypatch.context() as patched:
        patched.setitem(TESTS, "permutation", TESTS["permutation"]._replace(function=refused))
        untouched = contrast(a, b, rng())
        assert untouched.p == asked.p
        with pytest.raises(AssertionError, match="nobody looked"):
            untouched.tests["permutation"]
    assert dict(asked.tests) == dict(other.tests)
    assert "paired_t" not in asked.tests
