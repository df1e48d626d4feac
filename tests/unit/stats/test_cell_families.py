"""Which factors of a grid change the SD, and many cells against one, beside SciPy and statsmodels."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from deviate.stats.multiplicity import dunnett, spread_effects

SETTINGS = [{"width": width, "rate": rate} for width in ("32", "64") for rate in ("0.1", "0.2", "0.3")]


def grid(runs, seed=0, factor=4.0):
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(90, factor if cell["width"] == "64" else 1.0, n)).tolist()
        for cell, n in zip(SETTINGS, runs, strict=True)
    ]


def test_the_test_of_a_factor_is_the_type_3_anova_of_the_distances_from_the_medians():
    cells = grid((6, 7, 8, 6, 9, 6))
    rows = [
        {**cell, "distance": abs(value - np.median(values))}
        for cell, values in zip(SETTINGS, cells, strict=True)
        for value in values
    ]
    model = ols("distance ~ C(width, Sum) * C(rate, Sum)", pd.DataFrame(rows)).fit()
    expected = anova_lm(model, typ=3)
    for effect in spread_effects(cells, SETTINGS):
        row = expected.loc[f"C({effect.factor}, Sum)"]
        assert effect.tested.statistic == pytest.approx(row["F"], rel=1e-9)
        assert effect.tested.p == pytest.approx(row["PR(>F)"], rel=1e-9)


def test_one_factor_is_the_test_of_brown_and_forsythe():
    cells = grid((6, 7, 8, 6, 9, 6))[:3]
    (effect,) = spread_effects(cells, [{"rate": cell["rate"]} for cell in SETTINGS[:3]])
    assert effect.tested.p == pytest.approx(stats.levene(*cells, center="median").pvalue, rel=1e-9)


def test_the_ratio_is_of_the_pooled_sds_of_two_levels():
    cells = grid((8,) * 6)
    width, rate = spread_effects(cells, SETTINGS)
    pooled = [np.sqrt(np.mean([np.var(each, ddof=1) for each in cells[at : at + 3]])) for at in (0, 3)]
    assert (width.factor, width.largest, width.smallest) == ("width", "64", "32")
    assert width.sds == pytest.approx({"32": pooled[0], "64": pooled[1]}, rel=1e-9)
    assert width.ratio.value == pytest.approx(pooled[1] / pooled[0], rel=1e-9)
    assert width.ratio.interval.low > 1
    assert (round(width.ratio.interval.level, 4), round(rate.ratio.interval.level, 4)) == (0.95, 0.9833)


def test_two_runs_in_a_cell_show_nothing_of_spread():
    assert spread_effects(grid((8, 8, 8, 8, 8, 2)), SETTINGS) == []


def test_many_to_one_is_dunnetts_test_for_so_many_cells():
    cells = grid((8,) * 6, factor=1.0)
    expected = stats.dunnett(*cells[1:], control=cells[0], rng=np.random.default_rng(1)).pvalue
    assert dunnett(cells) == pytest.approx(expected, abs=1e-3)
    assert dunnett(cells * 4) == [None] * 23
    assert dunnett([[1.0, 1.0]] * 3) == dunnett([[1.0], [2.0, 3.0], [3.0, 4.0]]) == [None, None]
