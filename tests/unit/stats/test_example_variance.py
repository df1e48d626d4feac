"""Parts of the variance, against covariances, the analysis of variance and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deviate.stats.ensembles import NOT_FROM_0, example_variance
from deviate.stats.intervals import cautious_sd_interval

TABLES = arrays.arrays(np.float64, st.tuples(st.integers(2, 7), st.integers(2, 12)), elements=st.integers(-3, 3))


@given(TABLES)
def test_the_part_of_the_distribution_is_the_mean_covariance_of_two_examples(table):
    examples = table.shape[1]
    covariances = np.cov(table, rowvar=False)
    parts = example_variance(table)
    off_diagonal = (covariances.sum() - np.trace(covariances)) / (examples * (examples - 1))
    assert parts.distribution == pytest.approx(off_diagonal, abs=1e-12)
    assert parts.per_example == pytest.approx(np.trace(covariances) / examples, abs=1e-12)
    assert parts.between_runs == pytest.approx(table.mean(axis=1).var(ddof=1), abs=1e-12)


@given(TABLES)
def test_it_is_jordans_formula(table):
    examples = table.shape[1]
    expected = examples / (examples - 1) * table.mean(axis=1).var(ddof=1)
    expected -= table.var(axis=0, ddof=1).sum() / (examples * (examples - 1))
    assert example_variance(table).distribution == pytest.approx(expected, abs=1e-12)


@given(TABLES)
def test_the_parts_add_up(table):
    parts = example_variance(table)
    assert parts.distribution + parts.finite_test == pytest.approx(parts.between_runs, abs=1e-12)
    # The standard error that an evaluation tool gives of one run, squared and averaged.
    squared = (table.var(axis=1, ddof=1) / table.shape[1]).mean()
    assert parts.finite_test + parts.choice_of_examples == pytest.approx(squared, abs=1e-12)
    assert parts.standard_error == pytest.approx(np.sqrt(squared), abs=1e-7)


def test_it_is_the_analysis_of_variance_of_runs_and_examples():
    """Reference: sums of squares of statsmodels for a two-way table without replication."""
    pd = pytest.importorskip("pandas")
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    table = np.sin(np.arange(4 * 9)).reshape(4, 9) + np.arange(4)[:, None] / 3
    run, example = (axis.ravel() for axis in np.indices(table.shape))
    frame = pd.DataFrame({"value": table.ravel(), "run": run, "example": example})
    table_of_squares = anova_lm(ols("value ~ C(run) + C(example)", frame).fit())
    squares = (table_of_squares["sum_sq"] / table_of_squares["df"]).to_dict()
    parts = example_variance(table)
    assert parts.distribution == pytest.approx((squares["C(run)"] - squares["Residual"]) / 9, abs=1e-12)
    assert parts.finite_test == pytest.approx(squares["Residual"] / 9, abs=1e-12)
    assert parts.choice_of_examples == pytest.approx((squares["C(example)"] - squares["Residual"]) / 4 / 9, abs=1e-12)


@given(TABLES, st.integers(-3, 3), st.integers(-4, 4), st.randoms(use_true_random=False))
def test_shift_scale_and_order(table, shift, power, random):
    runs, examples = (random.sample(range(size), size) for size in table.shape)
    before, after = example_variance(table), example_variance((table * 2.0**power + shift)[runs][:, examples])
    for name in ("between_runs", "distribution", "finite_test", "per_example", "choice_of_examples"):
        assert getattr(after, name) == pytest.approx(getattr(before, name) * 4.0**power, rel=1e-9, abs=1e-9)


def test_the_interval_is_that_of_the_variance_between_runs_less_the_finite_test_set():
    table = np.sin(np.arange(60)).reshape(6, 10) + np.arange(6)[:, None]
    parts, of_sd = example_variance(table, level=0.9), cautious_sd_interval(table.mean(axis=1), 0.9)
    assert parts.interval.low == pytest.approx(of_sd.low**2 - parts.finite_test, abs=1e-12)
    assert parts.interval.high == pytest.approx(of_sd.high**2 - parts.finite_test, abs=1e-12)
    assert parts.distribution_sd == pytest.approx(np.sqrt(parts.distribution))
    assert parts.distribution_sd_at_most == pytest.approx(np.sqrt(parts.interval.high))
    assert parts.reason == ""


def test_an_estimate_below_0_stays_below_0():
    parts = example_variance([[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 1]])
    assert parts.distribution < 0
    assert (parts.distribution_sd, parts.reason) == (None, NOT_FROM_0)
    assert parts.interval.low < 0
    assert parts.distribution_sd_at_most == pytest.approx(np.sqrt(parts.interval.high))


def test_runs_that_are_all_alike_in_the_mean_have_no_interval():
    parts = example_variance([[1, 0], [0, 1], [1, 0]])
    assert parts.distribution == pytest.approx(-1 / 3)
    assert parts.distribution_sd_at_most is None
    assert parts.reason == "all 3 runs gave exactly the same value"


@pytest.mark.parametrize(
    ("table", "reason"),
    [([[1, 0, 1]], "one run has no variance"), ([[1], [0]], "one example cannot separate runs from examples")],
)
def test_what_cannot_be_divided_is_none_with_a_reason(table, reason):
    parts = example_variance(table)
    assert (parts.between_runs, parts.distribution, parts.per_example, parts.standard_error) == (None,) * 4
    assert parts.reason == parts.interval.reason == reason
    assert parts.mean == np.mean(table)


def test_truth_values_are_numbers_and_nan_is_refused():
    assert example_variance([[True, False], [True, True]]).mean == 0.75
    with pytest.raises(ValueError, match="NaN"):
        example_variance([[1, np.nan], [0, 1]])


def test_it_is_unbiased_where_runs_do_not_differ():
    rng = np.random.default_rng(0)
    shares = rng.random(100)
    estimates = np.array([example_variance(rng.random((5, 100)) < shares).distribution for _ in range(300)])
    assert abs(estimates.mean()) < 4 * estimates.std() / np.sqrt(estimates.size)
    assert 0.4 < (estimates < 0).mean() < 0.75
