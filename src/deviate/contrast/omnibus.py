"""Whether more than two sides differ at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike

from deviate.contrast.results import Tested, outcome, quiet
from deviate.measure.sample import Floats, common_scale, finite_sample, is_identical


def welch_anova(samples: Sequence[ArrayLike]) -> Tested:
    """Test for equal means of several sides without assuming equal SDs.

    Unknown where one side has fewer than two runs or is constant: its weight would be infinite.

    References
    ----------
    .. [1] B. L. Welch, "On the comparison of several mean values: an alternative approach", Biometrika 38, 1951.
    """
    values = _scaled(samples)
    if any(sample.size < 2 for sample in values):
        return Tested(reason="a test needs two runs or more of each")
    if any(is_identical(sample) for sample in values):
        return Tested(reason="the runs of one of them gave exactly the same value, so its weight would be infinite")
    sizes = np.array([sample.size for sample in values])
    means, variances = np.array([(sample.mean(), sample.var(ddof=1)) for sample in values]).T
    with quiet():
        weights = sizes / variances
        shares = weights / weights.sum()
        between = weights @ np.square(means - shares @ means) / (len(values) - 1)
        spread = (np.square(1 - shares) / (sizes - 1)).sum() / (len(values) ** 2 - 1)
        statistic = between / (1 + 2 * (len(values) - 2) * spread)
        return outcome(statistic, scipy.special.fdtrc(len(values) - 1, 1 / (3 * spread), statistic))


def kruskal_wallis(samples: Sequence[ArrayLike]) -> Tested:
    """Test by ranks whether values of some side tend to be higher.

    References
    ----------
    .. [1] W. H. Kruskal and W. A. Wallis, "Use of ranks in one-criterion variance analysis", JASA 47, 1952.
    """
    values = _scaled(samples)
    if any(sample.size < 2 for sample in values):
        return Tested(reason="a test needs two runs or more of each")
    if is_identical(np.concatenate(values)):
        return Tested(reason="all runs gave exactly the same value")
    test = scipy.stats.kruskal(*values)
    return outcome(test.statistic, test.pvalue, "chi-square approximation")


def _scaled(samples: Sequence[ArrayLike]) -> list[Floats]:
    if len(samples) < 2:
        raise ValueError(f"a comparison has two sides or more, not {len(samples)}")
    return common_scale([finite_sample(sample) for sample in samples])[0]
