"""Figures of comparisons show what the comparison says."""

import pytest
from compared_sides import sides

from deviate.inference.comparison.comparison import compare_sides
from deviate.inference.comparison.options import ComparisonOptions
from deviate.report.figures.comparison import comparison_figures

pytestmark = pytest.mark.long


def comparison(n=8, **options):
    return compare_sides(sides(n), ComparisonOptions(**options), "deviate compare baseline proposed")


def test_runs_means_and_difference_are_those_of_the_comparison():
    made = comparison(margins={"test acc": 0.5})
    figures = comparison_figures(made)
    assert [figure.metric for figure in figures] == [metric.name for metric in made.pairs[0].metrics]
    for figure, metric in zip(figures, made.pairs[0].metrics, strict=True):
        data = figure.spec["datasets"]
        assert data["runs"][0]["value"] == pytest.approx(metric.a.values, rel=1e-8)
        assert data["runs"][1]["value"] == pytest.approx(metric.b.values, rel=1e-8)
        assert [row["mean"] for row in data["means"]] == [metric.a.spread.mean, metric.b.spread.mean]
        found = metric.contrast.difference
        row = data["difference"][0]
        assert (row["difference"], row["low"], row["high"]) == (found.value, found.interval.low, found.interval.high)
        margin = [{"from": -0.5, "to": 0.5}] if metric.name == "test acc" else []
        assert data["margin"] == margin
        assert metric.verdict.replace("b better", "proposed better") in figure.description


def test_both_axes_have_one_scale_and_zero_is_at_the_mean_of_the_second_side():
    made = comparison()
    figure = comparison_figures(made)[0]
    values, difference = figure.spec["layer"]
    below = values["layer"][0]["encoding"]["x"]["scale"]["domain"]
    above = difference["layer"][0]["encoding"]["x"]["scale"]["domain"]
    zero = made.pairs[0].metrics[0].b.spread.mean
    assert [end + zero for end in above] == pytest.approx(below)
    assert figure.spec["resolve"] == {"scale": {"x": "independent"}}


def test_altair_accepts_the_chart():
    figure = comparison_figures(comparison(margins={"test acc": 0.5}))[1]
    assert figure.chart.to_dict()["description"] == figure.description


def test_one_run_a_side_has_a_difference_without_interval():
    figure = comparison_figures(comparison(n=1))[0]
    row = figure.spec["datasets"]["difference"][0]
    assert row["difference"] is not None
    assert row["low"] is None
    assert "too few runs" in figure.description
