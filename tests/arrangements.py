"""Comparisons of the same sides look at the same arrangements and powers: SciPy computes them once for all tests.

Only for tests of what is made of a comparison or a plan; those of the permutation test and of the power have their own.
"""

from collections.abc import Iterator
from math import comb

import numpy as np
import pytest
from scipy import stats

from deviate.stats import power

_SEEN: dict[object, object] = {}
_BEYOND: dict[object, object] = {}


@pytest.fixture(scope="module", autouse=True)
def arrangements_seen_once() -> Iterator[None]:
    """Return what SciPy said before of the same values, where it draws nothing as it looks at all arrangements."""
    plain = stats.permutation_test

    def remembered(data, statistic, *, n_resamples, rng, **options):
        options |= {"n_resamples": n_resamples}
        everything = comb(sum(values.size for values in data), data[0].size) <= n_resamples
        if "permutation_type" in options or not everything:
            return plain(data, statistic, rng=rng, **options)
        key = (*(values.tobytes() for values in data), statistic, *sorted(options.items()))
        if key not in _SEEN:
            _SEEN[key] = plain(data, statistic, rng=rng, **options)
        return _SEEN[key]

    shown_beyond = power.shown_beyond

    def remembered_beyond(edges, freedom, center):
        key = (edges.tobytes(), freedom, np.shape(center), np.asarray(center).tobytes())
        if key not in _BEYOND:
            _BEYOND[key] = shown_beyond(edges, freedom, center)
        return _BEYOND[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stats, "permutation_test", remembered)
        patch.setattr(power, "shown_beyond", remembered_beyond)
        yield
