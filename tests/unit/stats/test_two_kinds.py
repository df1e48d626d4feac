"""Values of two kinds: equal sides are called different as seldom as is said, by exact enumeration."""

import numpy as np
import pytest
from scipy.stats import binom

from deviate.stats.contrast import choose_location
from deviate.stats.effects import mean_difference, tost
from deviate.stats.gates import noninferiority
from deviate.stats.tests import are_of_two_kinds, welch_t
from deviate.stats.tests import test_of_means as choose_test


def zeros_and_ones(ones, n):
    return np.repeat([1.0, 0.0], [ones, n - ones])


def level(n, *, decides, width=0.0, draws=1):
    """Return the largest share of comparisons of equal sides, over all shares of ones, that is called different.

    All of one kind against all of the other has no two kinds on any side, and is left out.
    """
    rng, claimed = np.random.default_rng(n), np.zeros((n + 1, n + 1))
    for x in range(n + 1):
        for y in range(x - (x == n)):
            for _ in range(draws):
                first, second = (zeros_and_ones(ones, n) + rng.normal(0, width, n) for ones in (x, y + (x == n)))
                claimed[x, y + (x == n)] += is_claimed(first, second, decides) / draws
    shares = binom.pmf(np.arange(n + 1)[:, None], n, np.linspace(0.01, 0.99, 99))
    return np.einsum("xq,xy,yq->q", shares, claimed + claimed.T, shares).max()


def is_claimed(first, second, decides):
    plain = welch_t(first, second).p
    return plain is not None and plain <= 0.05 and (not decides or choose_test(first, second)(first, second).p <= 0.05)


@pytest.mark.parametrize(("n", "before", "now"), [(5, 0.0195, 0.0195), (8, 0.0768, 0.0212), (10, 0.0422, 0.0128)])
def test_equal_sides_of_two_values_are_seldom_called_different(n, before, now):
    assert level(n, decides=False) == pytest.approx(before, abs=1e-4)
    assert level(n, decides=True) == pytest.approx(now, abs=1e-4)


def test_nor_are_those_with_little_noise_around_two_places():
    assert level(8, decides=False, width=0.002) > 0.07
    assert level(8, decides=True, width=0.002, draws=20) < 0.06


def test_two_kinds_are_two_places_with_little_around_them():
    one, other = zeros_and_ones(6, 8), zeros_and_ones(2, 8)
    assert are_of_two_kinds(one, other)
    assert are_of_two_kinds(1e300 * one, 1e300 * other)
    assert not are_of_two_kinds(np.ones(8), np.zeros(8))
    assert not are_of_two_kinds(np.ones(8), np.zeros(0))
    # Two runs that lie apart, three places as far apart, and two sides far apart.
    assert not are_of_two_kinds(zeros_and_ones(2, 8), np.zeros(8))
    assert not are_of_two_kinds(one, np.array([0.0, 0.5] * 4))
    normal = np.random.default_rng(0).standard_normal((2, 8))
    assert not are_of_two_kinds(normal[0] + 20, normal[1])


def test_interval_test_and_gate_agree_on_two_kinds():
    one, other = zeros_and_ones(6, 8), zeros_and_ones(2, 8)
    assert choose_location(one, other, 0).test == "welch_permutation"
    assert welch_t(one, other).p < 0.05 < choose_test(one, other)(one, other).p
    interval = mean_difference(one, other).interval
    assert interval.method == "Welch t and permutation"
    # Of the arrangements that are as frequent, the observed one is the farthest out.
    assert interval.low == pytest.approx(0, abs=1e-12)
    gate = noninferiority(one, other, "higher", 0.025)
    assert gate.location.test == "welch_permutation"
    assert gate.p_not_worse > 0.025
    within = mean_difference(one, other, 0.9).interval.high
    assert tost(one, other, within + 0.01).p <= 0.05
