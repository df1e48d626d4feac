"""Sentences that hold only under a condition: said where it is met, and not where it is not."""

import numpy as np
import pytest
import report_cases as cases

from deviate.stats.contrast import contrast

RNG = np.random.default_rng(5)


def first_sentences(values):
    (variant,) = cases.document({"algo+impl": values}).variants
    return " ".join(variant.headline)


def test_scores_that_have_an_upper_end_are_not_ranked_by_cv():
    values = {name: (97 + RNG.standard_normal(8)).tolist() for name in ("test acc", "val acc")}
    assert "relative to its mean" not in first_sentences(values)
    losses = {name: (1 + 0.1 * RNG.standard_normal(8)).tolist() for name in ("test loss", "train loss")}
    assert "relative to its mean" in first_sentences(losses)


def test_a_run_far_from_the_others_is_named_before_any_mean():
    text = first_sentences({"test acc": [97.1, 97.3, 96.9, 97.0, 97.2, 96.8, 97.4, 10.0]})
    assert text.startswith(
        "In test acc, algo+impl-7 (10) lies far from the others: mean and SD describe no typical run;"
    )
    assert "far" not in first_sentences({"test acc": [97.1, 97.3, 96.9, 97.0, 97.2, 96.8, 97.4, 97.0]})


@pytest.mark.parametrize(("correlated", "shown"), [(True, True), (False, False)])
def test_pairing_is_said_to_help_only_where_the_interval_of_the_correlation_shows_it(correlated, shown):
    common, a, b = RNG.standard_normal((3, 12))
    if correlated:
        a, b = common + 0.2 * a, common + 0.2 * b
    found = contrast(a, b, RNG, pairs=[(index, index) for index in range(12)])
    assert (found.correlation_interval.low > 0) is shown
