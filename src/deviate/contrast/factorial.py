"""Analysis of variance of a grid: which of its factors, and which of their interactions, move the mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import msgspec
import numpy as np

from deviate.contrast.results import Effect, Tested, outcome, quiet, unknown_effect
from deviate.measure.intervals import Interval
from deviate.measure.sample import Floats, common_scale, finite_sample, is_identical

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
    return _fitted([sample.tolist() for sample in scaled], settings, factors)


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


def _fitted(
    values: Sequence[Sequence[float]], settings: Sequence[Mapping[str, str]], factors: Sequence[str]
) -> Factorial:
    import pandas as pd
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    # Columns have names of their own, since those of the user may be words of a formula.
    rows = [
        {"value": value, **{f"f{place}": cell[name] for place, name in enumerate(factors)}}
        for sample, cell in zip(values, settings, strict=True)
        for value in sample
    ]
    with quiet():
        formula = " * ".join(f"C(f{place}, Sum)" for place in range(len(factors)))
        model = ols(f"value ~ {formula}", pd.DataFrame(rows)).fit()
        classic, robust = (anova_lm(model, typ=3, robust=how).T.to_dict() for how in (None, "hc3"))
        residual = float(model.df_resid)
        terms = [
            _term(
                [factors[place] for place in places], classic[_name(places)], robust[_name(places)], residual, len(rows)
            )
            for order in range(1, len(factors) + 1)
            for places in combinations(range(len(factors)), order)
        ]
    return Factorial(terms=terms, df_residual=residual)


def _name(places: Sequence[int]) -> str:
    return ":".join(f"C(f{place}, Sum)" for place in places)


def _term(factors: list[str], row: Mapping[str, float], robust: Mapping[str, float], residual: float, n: int) -> Term:
    return Term(
        factors=factors,
        df=row["df"],
        classic=outcome(row["F"], row["PR(>F)"], "F test, equal SDs"),
        robust=outcome(robust["F"], robust["PR(>F)"], "F test, HC3"),
        eta_squared=_eta_squared(row["F"], row["df"], residual, n),
    )


def _eta_squared(statistic: float, df: float, residual: float, n: int) -> Effect:
    """Give partial eta squared with its interval, from that of the noncentrality of F [1]_."""
    from statsmodels.stats.oneway import confint_noncentrality

    method = "noncentral F"
    if not np.isfinite(statistic):
        return unknown_effect("the statistic is not finite for these values", ETA_LEVEL, method)
    low, high = confint_noncentrality(statistic, (df, residual), alpha=1 - ETA_LEVEL)
    bounds = [max(float(end), 0.0) / (max(float(end), 0.0) + n) if np.isfinite(end) else 0.0 for end in (low, high)]
    interval = Interval(low=bounds[0], high=bounds[1], level=ETA_LEVEL, method=method)
    return Effect(value=statistic * df / (statistic * df + residual), interval=interval)
