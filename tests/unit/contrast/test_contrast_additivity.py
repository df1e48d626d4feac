"""The sum of variances beside the variance of all together."""

import numpy as np
import pytest
from reference_samples import A, B, C
from scipy import stats

from deviate.contrast.additivity import added_variances

REPEATS = 2000


def test_one_source_beside_the_whole_is_the_classical_ratio_of_variances():
    effect = added_variances([A], B, 0.9)
    ratio = np.var(A, ddof=1) / np.var(B, ddof=1)
    low, high = ratio / stats.f(len(A) - 1, len(B) - 1).ppf([0.95, 0.05])
    assert effect.value == pytest.approx(ratio, rel=1e-12)
    assert (effect.interval.low, effect.interval.high) == (
        pytest.approx(low, rel=1e-12),
        pytest.approx(high, rel=1e-12),
    )


def test_the_interval_covers_the_ratio_as_often_as_it_says():
    rng = np.random.default_rng(5)
    sds, n = np.array([1.0, 0.6, 0.2]), 8
    truth = (sds**2).sum() / 1.3**2
    covered = 0
    for _ in range(REPEATS):
        parts = [rng.normal(0, sd, n) for sd in sds]
        interval = added_variances(parts, rng.normal(0, 1.3, n)).interval
        covered += interval.low < truth < interval.high
    assert covered / REPEATS == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / REPEATS) ** 0.5 + 0.01)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_the_unit_does_not_matter(scale):
    scaled = added_variances([np.multiply(A, scale), np.multiply(B, scale)], np.multiply(C, scale))
    assert scaled.value == pytest.approx(added_variances([A, B], C).value, rel=1e-9)


@pytest.mark.parametrize(
    ("parts", "whole"), [([], A), ([[1.0]], A), ([A], [1.0]), ([[2.0, 2.0]], A), ([A], [2.0, 2.0, 2.0])]
)
def test_what_is_not_known_has_a_reason(parts, whole):
    effect = added_variances(parts, whole)
    assert effect.value is None
    assert effect.reason
    assert not effect.interval.known
