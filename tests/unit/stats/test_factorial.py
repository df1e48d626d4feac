"""The analysis of variance of a grid, against published results, SciPy and values worked out by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.oneway import confint_noncentrality

from deviate.stats.factorial import factorial_anova

#: R's ``warpbreaks``: breaks of yarn by wool and tension (Tippett, Technological Applications of Statistics, 1950).
WARPBREAKS = {
    ("A", "L"): [26, 30, 54, 25, 70, 52, 51, 26, 67],
    ("A", "M"): [18, 21, 29, 17, 12, 18, 35, 30, 36],
    ("A", "H"): [36, 21, 24, 18, 10, 43, 28, 15, 26],
    ("B", "L"): [27, 14, 29, 19, 29, 31, 41, 20, 44],
    ("B", "M"): [42, 26, 19, 16, 39, 28, 21, 39, 29],
    ("B", "H"): [20, 21, 24, 17, 13, 15, 15, 16, 28],
}


def grid(cells, *names):
    return factorial_anova(list(cells.values()), [dict(zip(names, key, strict=True)) for key in cells])


def test_it_is_what_aov_of_r_prints():
    # summary(aov(breaks ~ wool * tension, warpbreaks)), R 4.
    found = grid(WARPBREAKS, "wool", "tension")
    assert found.df_residual == 48
    printed = {
        ("wool",): (1, 3.765, 0.058213),
        ("tension",): (2, 8.498, 0.000693),
        ("wool", "tension"): (2, 4.189, 0.021044),
    }
    assert [tuple(term.factors) for term in found.terms] == list(printed)
    for term in found.terms:
        df, f, p = printed[tuple(term.factors)]
        assert term.df == df
        assert term.classic.statistic == pytest.approx(f, abs=5e-4)
        assert term.classic.p == pytest.approx(p, abs=5e-7)
    # 450.7, 2034.3 and 1002.8 of sums of squares beside 5745.1 of the residuals.
    assert [term.eta_squared.value for term in found.terms] == pytest.approx(
        [450.7 / 6195.8, 2034.3 / 7779.4, 1002.8 / 6747.9], abs=1e-4
    )


@pytest.mark.parametrize("shape", [(3,), (2, 2), (4, 3), (2, 2, 3)], ids=str)
def test_it_is_the_analysis_of_statsmodels(shape):
    rng = np.random.default_rng(len(shape))
    cells = {
        key: rng.normal(rng.normal(), rng.lognormal(), rng.integers(2, 9)).tolist()
        for key in product(*("abcd"[:levels] for levels in shape))
    }
    # A cell whose runs agree has no variance.
    cells[next(iter(cells))] = [1.5, 1.5, 1.5]
    names = [f"f{place}" for place in range(len(shape))]
    rows = [{**dict(zip(names, key, strict=True)), "value": value} for key, each in cells.items() for value in each]
    model = ols(f"value ~ {' * '.join(f'C({name}, Sum)' for name in names)}", pd.DataFrame(rows)).fit()
    classic, robust = (anova_lm(model, typ=3, robust=how).T.to_dict() for how in (None, "hc3"))
    found = grid(cells, *names)
    assert found.df_residual == model.df_resid
    assert len(found.terms) == len(classic) - 2
    for term in found.terms:
        name = ":".join(f"C({factor}, Sum)" for factor in term.factors)
        for tested, expected in ((term.classic, classic[name]), (term.robust, robust[name])):
            assert (tested.statistic, tested.p) == pytest.approx(
                (expected["F"], expected["PR(>F)"]), rel=1e-12, abs=1e-12
            )
        ends = confint_noncentrality(classic[name]["F"], (term.df, model.df_resid), alpha=0.1)
        shares = [max(end, 0) / (max(end, 0) + len(rows)) if np.isfinite(end) else 0 for end in ends]
        interval = term.eta_squared.interval
        assert [interval.low, interval.high] == pytest.approx(shares, rel=1e-12, abs=1e-12)


def test_one_factor_is_the_one_way_analysis_of_scipy():
    rng = np.random.default_rng(1)
    cells = {(level,): rng.normal(place, 1, 7).tolist() for place, level in enumerate("abc")}
    (term,) = grid(cells, "lr").terms
    expected = stats.f_oneway(*cells.values())
    assert (term.classic.statistic, term.classic.p) == pytest.approx((expected.statistic, expected.pvalue))


def test_unequal_numbers_of_runs_test_the_unweighted_means():
    # Worked out by hand: cell means 1, 3, 2, 4 of 2, 4, 2, 2 runs, sums of squares within cells 2, 4, 2, 2.
    cells = {
        ("a", "x"): [0.0, 2.0], ("a", "y"): [2.0, 4.0, 2.0, 4.0], ("b", "x"): [1.0, 3.0], ("b", "y"): [3.0, 5.0],
    }  # fmt: skip
    terms = {tuple(term.factors): term for term in grid(cells, "f", "g").terms}
    residual, weights = 10 / 6, 1 / 2 + 1 / 4 + 1 / 2 + 1 / 2
    by_hand = {("f",): (2 + 4) - (1 + 3), ("g",): (3 + 4) - (1 + 2), ("f", "g"): (1 - 3) - (2 - 4)}
    for factors, contrast in by_hand.items():
        assert terms[factors].classic.statistic == pytest.approx(contrast**2 / weights / residual, abs=1e-9)


def test_the_robust_test_is_that_of_hc3_in_closed_form():
    # In a full model HC3 divides the sum of squares of a cell by (n - 1)^2 for the variance of its mean.
    rng = np.random.default_rng(2)
    cells = {(f, g): rng.normal(0, spread, 5).tolist() for (f, g), spread in
             {("a", "x"): 4, ("a", "y"): 1, ("b", "x"): 1, ("b", "y"): 2}.items()}  # fmt: skip
    terms = {tuple(term.factors): term for term in grid(cells, "f", "g").terms}
    means = {key: np.mean(values) for key, values in cells.items()}
    variance = sum(np.var(values, ddof=1) / (len(values) - 1) for values in cells.values())
    contrast = means["a", "x"] + means["a", "y"] - means["b", "x"] - means["b", "y"]
    assert terms["f",].robust.statistic == pytest.approx(contrast**2 / variance)
    assert terms["f",].robust.p == pytest.approx(stats.f.sf(contrast**2 / variance, 1, 16))


def test_several_contrasts_of_unequal_cells_are_tested_at_once():
    # The Wald statistic of independent means, as `benchmarks/statistics/grid.py` has it.
    rng = np.random.default_rng(3)
    sizes = {("a", "x"): 5, ("a", "y"): 9, ("b", "x"): 4, ("b", "y"): 5, ("c", "x"): 7, ("c", "y"): 12}
    cells = {key: rng.lognormal(0, 1, n).tolist() for key, n in sizes.items()}
    means = np.array([np.mean(values) for values in cells.values()])
    squares = np.array([np.var(values) * len(values) for values in cells.values()])
    runs = np.array(list(sizes.values()))
    first, second = np.eye(3)[:2] - 1 / 3, np.array([[0.5, -0.5]])
    by_hand = {
        ("f",): np.kron(first, [[0.5, 0.5]]),
        ("g",): np.kron([[1 / 3] * 3], second),
        ("f", "g"): np.kron(first, second),
    }
    df = int(runs.sum()) - 6
    for term in grid(cells, "f", "g").terms:
        rows = by_hand[tuple(term.factors)]
        for tested, variances in (
            (term.robust, squares / (runs - 1) ** 2),
            (term.classic, squares.sum() / df / runs),
        ):
            values, covariance = rows @ means, rows @ np.diag(variances) @ rows.T
            statistic = values @ np.linalg.solve(covariance, values) / len(rows)
            assert tested.statistic == pytest.approx(statistic, rel=1e-9)
            assert tested.p == pytest.approx(stats.f.sf(statistic, len(rows), df), rel=1e-9)


def test_the_interval_of_eta_squared_inverts_the_noncentral_f():
    term = grid(WARPBREAKS, "wool", "tension").terms[1]
    f, n = term.classic.statistic, 54
    for end, share in ((term.eta_squared.interval.low, 0.95), (term.eta_squared.interval.high, 0.05)):
        assert stats.ncf.cdf(f, 2, 48, n * end / (1 - end)) == pytest.approx(share, abs=1e-4)


def test_the_unit_and_large_values_change_nothing():
    scaled = {key: [1e200 * value for value in values] for key, values in WARPBREAKS.items()}
    before, after = grid(WARPBREAKS, "wool", "tension"), grid(scaled, "wool", "tension")
    assert [term.robust.p for term in after.terms] == pytest.approx([term.robust.p for term in before.terms])


def test_a_factor_with_one_level_is_none():
    cells = {(wool, tension, "same"): values for (wool, tension), values in WARPBREAKS.items()}
    names = {name for term in grid(cells, "wool", "tension", "data").terms for name in term.factors}
    assert names == {"wool", "tension"}


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({("a", "x"): [1, 2]}, "one cell"),
        ({("a", "x"): [1, 2], ("b", "y"): [1, 3]}, "not every combination"),
        ({("a", "x"): [1, 2], ("b", "x"): [1]}, "two runs or more in each cell"),
        ({("a", "x"): [1, 1], ("b", "x"): [2, 2]}, "exactly the same value"),
        ({tuple(f"{place:06b}"): [place, 1.0] for place in range(64)}, "more than 5 factors"),
    ],
)
def test_a_reason_is_given_where_there_is_none(cells, reason):
    found = grid(cells, *"abcdef"[: len(next(iter(cells)))])
    assert not found.terms
    assert reason in found.reason
