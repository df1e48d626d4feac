"""Figures of comparisons show what the comparison says."""

import pytest
from compared_sides import side, side_metric, sides

from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.report.topics.comparison_figure import comparison_figures

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
        found = metric.contrast.difference.negated
        row = data["difference"][0]
        assert (row["difference"], row["low"], row["high"]) == (found.value, found.interval.low, found.interval.high)
        margin = [{"from": -0.5, "to": 0.5}] if metric.name == "test acc" else []
        assert data["margin"] == margin
        assert metric.verdict.replace("b better", "proposed better") in figure.description


def test_both_axes_have_one_scale_and_zero_is_at_the_mean_of_the_first_side():
    made = comparison()
    figure = comparison_figures(made)[0]
    values, difference = figure.spec["layer"]
    below = values["layer"][0]["encoding"]["x"]["scale"]["domain"]
    above = difference["layer"][0]["encoding"]["x"]["scale"]["domain"]
    zero = made.pairs[0].metrics[0].a.spread.mean
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


def test_an_enormous_interval_does_not_stretch_the_axis_and_is_said():
    few = [side(label, [side_metric(values=values)]) for label, values in (("a", [1.0, 1.5]), ("b", [1.1, 3.0]))]
    made = compare_sides(few, ComparisonOptions(), "")
    (figure,) = comparison_figures(made)
    (row,) = figure.spec["datasets"]["difference"]
    interval = made.pairs[0].metrics[0].contrast.difference.negated.interval
    assert (row["low"], row["high"]) == (interval.low, interval.high)
    low, high = figure.spec["layer"][0]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert high - low < interval.high - interval.low
    assert row["low"] < row["from"]
    assert row["to"] < row["high"]
    assert float(row["low_cut"].replace("−", "-")) == pytest.approx(interval.low, abs=0.01)
    assert "An arrow marks where the interval goes on beyond the chart." in figure.description
    marks = [layer["mark"] for layer in figure.spec["layer"][1]["layer"]]
    assert {"triangle-left", "triangle-right"} <= {mark.get("shape") for mark in marks}
    assert figure.chart.to_dict()["description"] == figure.description


def test_an_interval_that_fits_has_no_arrow():
    figure = comparison_figures(comparison())[0]
    assert "arrow" not in figure.description
    assert not any("triangle" in layer["mark"].get("shape", "") for layer in figure.spec["layer"][1]["layer"])
