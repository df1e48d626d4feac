"""What a report says where ``--until`` decided how many runs were made."""

import numpy as np
import pytest
import report_cases as cases
from msgspec import structs

from deviate.core.experiment import Until
from deviate.stats.intervals import mean_interval

VALUES = np.random.default_rng(3).normal(90, 1, 20).tolist()
MEAN = Until(metric="test acc", width=0.8, least=10, most=30)


def described(until, values=VALUES, level=0.95):
    made = cases.results({"algo+impl": {"test acc": values, "test loss": values}})
    made = structs.replace(made, experiment=structs.replace(made.experiment, until=until))
    return cases.said(made, level=level)


def metrics(document):
    return {metric.name: metric for metric in document.variants[0].metrics}


def test_the_interval_of_that_mean_takes_the_place_of_the_t_interval():
    found = metrics(described(MEAN))
    mean = found["test acc"].spread.mean
    interval = found["test acc"].ci_mean
    assert (interval.low, interval.high) == pytest.approx((mean - 0.8, mean + 0.8))
    assert found["test loss"].ci_mean == mean_interval(VALUES)


def test_at_another_level_and_without_a_rule_it_is_the_t_interval():
    assert metrics(described(MEAN, level=0.9))["test acc"].ci_mean == mean_interval(VALUES, 0.9)
    assert metrics(described(None))["test acc"].ci_mean == mean_interval(VALUES)
    assert described(None).variants[0].stopped is None


@pytest.mark.parametrize("render", [cases.render_terminal, cases.render_markdown])
def test_every_writer_says_why_it_ended(render):
    text = " ".join(render(described(MEAN)).replace("\\", "").split())
    assert "Enough after 20 runs (--until 'test acc ±0.8'): the mean of test acc is" in text
    assert "How many runs were made depends on test acc" in text


def test_one_that_was_not_met_says_how_far_it_is_and_how_many_would_do():
    document = described(structs.replace(MEAN, width=0.1, most=20))
    (sentence,) = [each for each in document.variants[0].headline if "Not met" in each]
    assert "after 20 runs (--max 20)" in sentence
    assert "± 0.1 was wanted; about" in sentence
    assert cases.contract(document)["variants"][0]["until"]["met"] is False


def test_an_sd_has_the_cautious_interval():
    document = described(Until(metric="test acc", of="sd", width=0.8, relative=True, least=10, most=30))
    (until,) = [variant["until"] for variant in cases.contract(document)["variants"]]
    assert (until["of"], until["met"], until["relative"]) == ("sd", True, True)
    interval = metrics(document)["test acc"].ci_sd
    assert until["interval"] == [interval.low, interval.high]
    assert interval.method == "wider of chi-square and Bonett"
    assert "wider of the chi-square interval and Bonett's" in " ".join(document.methods)


def test_the_methods_paragraph_names_the_procedure():
    assert "until the mean of test acc was known to ± 0.8 at 95% confidence, at most 30" in " ".join(
        described(MEAN).methods
    )


def test_a_metric_that_is_not_there_is_passed_over():
    document = described(structs.replace(MEAN, metric="other"))
    assert document.variants[0].stopped is None
