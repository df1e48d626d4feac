"""Which factors of a grid move the mean, and which of several sides is best."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, product

import msgspec
import numpy as np
from scipy import special

from deviate.core.experiment import Direction
from deviate.stats.intervals import Interval
from deviate.stats.results import Effect, Tested, outcome, quiet, unknown_effect
from deviate.stats.spread import Floats, common_scale, finite_sample, is_identical

#: Level of the interval of partial eta squared: with 0.9 it leaves out 0 where F is beyond its 5 % point [1]_.
ETA_LEVEL = 0.9

#: Most factors: with more there are over 31 effects, which nobody reads.
MOST_FACTORS = 5


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A factor, or the interaction of several."""

    factors: list[str]
    df: float
    #: The F test of equal SDs, as in textbooks.
    classic: Tested
    #: The F test on covariances that allow for unequal SDs (HC3); decides.
    robust: Tested
    #: Partial eta squared: the share of the variance that this term explains of what the others leave.
    eta_squared: Effect


class Factorial(msgspec.Struct, frozen=True, kw_only=True):
    """The analysis of variance of one metric."""

    #: Main effects first, then interactions of two and more; empty where `reason` says why.
    terms: list[Term] = []
    df_residual: float | None = None
    reason: str = ""


def factorial_anova(samples: Sequence[Sequence[float]], settings: Sequence[Mapping[str, str]]) -> Factorial:
    """Test all main effects and interactions of a full grid.

    The model has every interaction; sums of squares are of type III with sum-to-zero contrasts, so that a main effect
    is that of the unweighted means of the cells, whatever their numbers of runs. In a balanced grid all types agree.

    Parameters
    ----------
    samples : sequence of sequences of float
        Values of each cell, one per run.
    settings : sequence of mapping of str to str
        The level of each factor, cell by cell. Factors with one level are left out.

    References
    ----------
    .. [1] J. H. Steiger, "Beyond the F test: effect size confidence intervals and tests of close fit in the analysis
       of variance and contrast analysis", Psychological Methods 9, 2004.
    .. [2] J. S. Long and L. H. Ervin, "Using heteroscedasticity consistent standard errors in the linear regression
       model", The American Statistician 54, 2000.
    """
    factors = [name for name in settings[0] if len({cell[name] for cell in settings}) > 1]
    values = [finite_sample(sample) for sample in samples]
    if reason := _why_not(values, settings, factors):
        return Factorial(reason=reason)
    scaled, _ = common_scale(values)
    return _analysed(scaled, settings, factors)


def _why_not(values: Sequence[Floats], settings: Sequence[Mapping[str, str]], factors: Sequence[str]) -> str:
    levels = [sorted({cell[name] for cell in settings}) for name in factors]
    if not factors:
        return "the grid has one cell"
    if len(factors) > MOST_FACTORS:
        return f"the grid has more than {MOST_FACTORS} factors"
    if {tuple(cell[name] for name in factors) for cell in settings} != set(product(*levels)):
        return "not every combination of the factors is there"
    if any(sample.size < 2 for sample in values):
        return "the analysis needs two runs or more in each cell"
    if all(is_identical(sample) for sample in values):
        return "the runs of each cell gave exactly the same value, so nothing shows how much runs vary"
    return ""


def _analysed(values: Sequence[Floats], settings: Sequence[Mapping[str, str]], factors: Sequence[str]) -> Factorial:
    levels = [sorted({cell[name] for cell in settings}) for name in factors]
    found = {tuple(cell[name] for name in factors): sample for sample, cell in zip(values, settings, strict=True)}
    cells = [found[setting] for setting in product(*levels)]
    effects = [each for order in range(1, len(factors) + 1) for each in combinations(range(len(factors)), order)]
    shape = [len(each) for each in levels]
    with quiet():
        terms = [_term([factors[place] for place in each], cells, _contrasts(shape, each)) for each in effects]
    return Factorial(terms=terms, df_residual=float(sum(sample.size - 1 for sample in cells)))


def _contrasts(shape: Sequence[int], places: Sequence[int]) -> Floats:
    """Return the contrasts of the cells' means that are 0 where the factors at `places` have no effect together."""
    rows = np.ones((1, 1))
    for place, levels in enumerate(shape):
        average = np.full((1, levels), 1 / levels)
        rows = np.kron(rows, np.eye(levels)[:-1] - average if place in places else average)
    return rows


def _term(factors: list[str], cells: Sequence[Floats], rows: Floats) -> Term:
    """Test that all contrasts of the cells' means, one a row, are 0."""
    runs, means = np.array([(sample.size, sample.mean()) for sample in cells]).T
    squares = np.array([np.square(sample - sample.mean()).sum() for sample in cells])
    n = float(runs.sum())
    residual = n - len(cells)
    # In a model with every interaction HC3 has a closed form.
    classic = _wald(means, squares.sum() / residual / runs, rows, residual)
    robust = _wald(means, squares / (runs - 1) ** 2, rows, residual)
    return Term(
        factors=factors,
        df=float(len(rows)),
        classic=outcome(*classic, "F test, equal SDs"),
        robust=outcome(*robust, "F test, HC3"),
        eta_squared=_eta_squared(classic[0], len(rows), residual, n),
    )


def _wald(means: Floats, variances: Floats, rows: Floats, residual: float) -> tuple[float, float]:
    """Return F and p; the means have these variances and are independent."""
    values, covariance = rows @ means, (rows * variances) @ rows.T
    rank = np.linalg.matrix_rank(covariance)
    statistic = values @ np.linalg.pinv(covariance) @ values / rank
    return float(statistic), float(special.fdtrc(rank, residual, statistic))


def _eta_squared(statistic: float, df: int, residual: float, n: float) -> Effect:
    """Give partial eta squared with its interval, from that of the noncentrality of F [1]_."""
    method = "noncentral F"
    if not np.isfinite(statistic):
        return unknown_effect("the statistic is not finite for these values", ETA_LEVEL, method)
    tail = (1 - ETA_LEVEL) / 2
    ends = special.ncfdtrinc(df, residual, [1 - tail, tail], statistic)
    low, high = (max(float(end), 0.0) / (max(float(end), 0.0) + n) if np.isfinite(end) else 0.0 for end in ends)
    interval = Interval(low=low, high=high, level=ETA_LEVEL, method=method)
    return Effect(value=statistic * df / (statistic * df + residual), interval=interval)


# Which of several sides is best, and how sure its place is.


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place of one side among several."""

    name: str
    #: By the means, 1 is best; equal means share the better place.
    rank: int
    #: Places that the pairwise tests leave open, at the family-wise level of their correction.
    lowest: int
    highest: int


def ranking(
    names: Sequence[str], means: Sequence[float], direction: Direction, proven: Collection[tuple[str, str]]
) -> list[Place]:
    """Rank the sides of one metric.

    The best comes first. A side that is proven worse than ``w`` others and better than ``b`` others of ``k`` has a
    place from ``1 + w`` to ``k - b``. Where the pairwise tests keep the family-wise error (Holm, Bonferroni), all these
    intervals hold the true places together with that confidence [1]_.

    Parameters
    ----------
    names : sequence of str
        Of the sides.
    means : sequence of float
        Of the sides, in the order of `names`.
    proven : collection of (str, str)
        Pairs (better, worse) that a test, adjusted for the number of pairs, shows to differ.

    References
    ----------
    .. [1] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with applications to mobility
       across neighbourhoods and academic achievement across countries", Review of Economic Studies 91, 2024.

    Examples
    --------
    >>> places = ranking(["a", "b", "c"], [1.0, 3.0, 2.0], "higher", {("b", "a")})
    >>> [(place.name, place.rank, place.lowest, place.highest) for place in places]
    [('b', 1, 1, 2), ('c', 2, 1, 3), ('a', 3, 2, 3)]
    """
    sign = -1 if direction == "higher" else 1
    signed = {name: sign * mean for name, mean in zip(names, means, strict=True)}
    places = [
        Place(
            name=name,
            rank=1 + sum(other < signed[name] for other in signed.values()),
            lowest=1 + sum(worse == name for _, worse in proven),
            highest=len(names) - sum(better == name for better, _ in proven),
        )
        for name in names
    ]
    return sorted(places, key=lambda place: place.rank)
