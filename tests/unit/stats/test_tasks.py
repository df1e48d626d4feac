"""Two sides over tasks, against rliable 1.2.0 on runs that were published."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from deviate.stats.tasks import over_tasks, ranked_tasks, signed_rank

PUBLISHED = Path(__file__).parents[2] / "data" / "published"

#: rliable's `run_score_deviation` of DIAMOND at ten thresholds from its lowest value on, the highest left out.
RLIABLE_PROFILE = [
    *(0.9923076923076923, 0.4307692307692308, 0.27692307692307694, 0.2230769230769231, 0.16153846153846155),
    *(0.11538461538461539, 0.1, 0.08461538461538462, 0.06153846153846154, 0.015384615384615385),
]


def rows(name):
    with (PUBLISHED / name).open(newline="") as file:
        return list(csv.DictReader(file))


def human_normalised():
    """Return the returns of DIAMOND by game, 0 for random play and 1 for humans."""
    returns = json.loads((PUBLISHED / "DIAMOND.json").read_text())
    scale = {row["game"]: (float(row["random"]), float(row["human"])) for row in rows("atari_100k_references.csv")}
    return [(np.array(returns[game]) - low) / (high - low) for game, (low, high) in scale.items()]


def rtdl(algorithm):
    """Return the scores of a model on the ten data sets that all three were trained on."""
    scores = [row for row in rows("rtdl_scores.csv") if row["dataset"] != "yahoo" and row["algorithm"] == algorithm]
    names = sorted({row["dataset"] for row in scores})
    return [[float(row["score"]) for row in scores if row["dataset"] == name] for name in names]


def test_diamond_is_as_published():
    """Its paper has an interquartile mean of 0.641."""
    diamond = human_normalised()
    both = over_tasks(diamond, diamond, np.random.default_rng(0), enough=1.0)
    assert both.iqm_a.value == pytest.approx(0.6407874597037997, abs=1e-9)
    assert (both.difference.value, both.improvement.value) == (0, 0.5)
    # The paper has 0.480.
    assert both.gap_a.value == pytest.approx(0.48019553652768376, abs=1e-9)
    assert [point.a.value for point in both.profile] == pytest.approx(RLIABLE_PROFILE, abs=1e-9)
    # Of rliable's 20,000 resamples.
    assert (both.iqm_a.interval.low, both.iqm_a.interval.high) == pytest.approx((0.57840, 0.70820), abs=0.004)


def test_models_of_tabular_data_are_as_rliable_has_them():
    mlp, resnet, transformer = (rtdl(name) for name in ("mlp", "resnet", "ft_transformer"))
    both = over_tasks(mlp, transformer, np.random.default_rng(0))
    assert both.iqm_a.value == pytest.approx(0.5706936065789473, abs=1e-9)
    assert both.iqm_b.value == pytest.approx(0.5816005842105264, abs=1e-9)
    assert both.improvement.value == pytest.approx(0.9260000000000002, abs=1e-9)
    # Of rliable's 2,000 resamples.
    assert (both.improvement.interval.low, both.improvement.interval.high) == pytest.approx(
        (0.89843, 0.95245), abs=0.004
    )
    assert over_tasks(mlp, resnet, np.random.default_rng(0)).improvement.value == pytest.approx(
        0.7553333333333333, abs=1e-9
    )


def test_ties_count_half_and_tasks_may_have_other_numbers_of_runs():
    both = over_tasks([[1.0, 2.0], [0.0, 0.0, 0.0]], [[2.0, 3.0, 4.0], [0.0, 1.0]], np.random.default_rng(0))
    assert both.improvement.value == pytest.approx((5.5 / 6 + 0.75) / 2)


def test_an_equal_generator_gives_equal_intervals():
    sides = rtdl("mlp"), rtdl("resnet")
    first, second = (over_tasks(*sides, np.random.default_rng(3), resamples=200) for _ in range(2))
    assert first == second


def test_ranks_are_those_of_scipy_and_scikit_posthocs():
    """Numbers of SciPy's `friedmanchisquare` and scikit-posthocs 0.17.1's `posthoc_nemenyi_friedman`."""
    means = np.array([[np.mean(runs) for runs in rtdl(name)] for name in ("mlp", "resnet", "ft_transformer")]).T
    found = ranked_tasks(means)
    assert found.ranks == pytest.approx([2.7, 1.9, 1.4])
    assert (found.statistic, found.p) == pytest.approx((8.599999999999994, 0.01356855901220097), abs=1e-9)
    upper = [found.pairs[i][j] for i, j in ((0, 1), (0, 2), (1, 2))]
    assert upper == pytest.approx([0.17328712395744106, 0.01020777002623785, 0.502897435481422], abs=1e-9)
    assert ranked_tasks(-means, lower=True) == found


def test_ties_share_a_rank_and_sides_that_are_alike_are_not_ranked():
    tied = [[0, 0, 1, 0], [-1, 0, 1, 1], [-1, -1, -1, 0], [-2, 0, -1, -1], [-1, 0, 0, 1], [0, 1, -1, 0],
            [1, 0, -1, -1], [0, 0, -1, 0], [0, 1, 0, 0], [-1, 0, 1, 1], [-1, 2, 1, 1], [0, 0, 1, 2]]  # fmt: skip
    found = ranked_tasks(tied)
    assert (found.statistic, found.p) == pytest.approx((6.625, 0.08486104229185666), abs=1e-9)
    assert found.pairs[0][1:] == pytest.approx([0.22910353693815144, 0.6853421409087451, 0.16793644180648737], abs=1e-9)
    assert ranked_tasks([[1, 1, 1], [2, 2, 2]]) is None


@pytest.mark.parametrize(
    ("pair", "seed", "margin", "published"),
    [
        (("mlp", "ft_transformer"), 1, 0.0, (0.00045, 0, 0.99955)),
        (("mlp", "ft_transformer"), 1, 0.005, (0.0, 0.31455, 0.68545)),
        (("mlp", "resnet"), 7, 0.01, (0.0, 0.99655, 0.00345)),
    ],
)
def test_the_bayesian_signed_rank_test_is_baycomps(pair, seed, margin, published):
    """Numbers of baycomp 1.0.3's `SignedRankTest` with 20,000 samples of the same generator."""
    first, second = (np.array([np.mean(runs) for runs in rtdl(name)]) for name in pair)
    found = signed_rank(second - first, np.random.RandomState(seed), margin, draws=20_000)
    assert (found.a, found.alike, found.b) == pytest.approx(published, abs=1e-9)
