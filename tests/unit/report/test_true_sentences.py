"""Sentences that hold only under a condition: said where it is met, and not where it is not."""

import numpy as np
import pytest
import report_cases as cases

from deviate.observe.events import ReachedDraw
from deviate.report.topics.caveats import experiment_caveats
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
    assert text.startswith("In test acc, run 7 (10) lies far from the others: mean and SD describe no typical run;")
    assert "far" not in first_sentences({"test acc": [97.1, 97.3, 96.9, 97.0, 97.2, 96.8, 97.4, 97.0]})


@pytest.mark.parametrize(("correlated", "shown"), [(True, True), (False, False)])
def test_pairing_is_said_to_help_only_where_the_interval_of_the_correlation_shows_it(correlated, shown):
    common, a, b = RNG.standard_normal((3, 12))
    if correlated:
        a, b = common + 0.2 * a, common + 0.2 * b
    found = contrast(a, b, RNG, pairs=[(index, index) for index in range(12)])
    assert (found.correlation_interval.low > 0) is shown


@pytest.mark.parametrize("by_name", [True, False])
def test_draws_whose_factor_names_alone_tell_are_named(by_name):
    drawn = [
        ReachedDraw(factor="data", call="numpy.random.normal", file="data.py", line=line, by_name=by_name)
        for line in (3, 4)
    ]
    drawn.append(ReachedDraw(factor="shuffle", call="random.sample", file="train.py", line=9, by_name=by_name))
    made = cases.results({"algo+impl": {"test acc": [0.1, 0.2]}}, draws=drawn)
    said = [caveat.message for caveat in experiment_caveats(cases.said(made)) if caveat.slug == "named-draws"]
    assert said == [
        "By the names in the source alone count as `data` numpy.random.normal at data.py:3 and numpy.random.normal at "
        "data.py:4; as `shuffle` random.sample at train.py:9. --set factor=FILE:LINE=NAME sets another."
    ] * by_name  # fmt: skip
