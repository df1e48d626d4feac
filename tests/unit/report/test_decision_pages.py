"""Pages of gates and plans begin with a verdict or a number, and a chart of it."""

import page_cases as pages
import pytest
from msgspec import structs

from deviate.facts.comparison_options import Drop
from deviate.report.page import Answer, ByMetric, Code, Drawing
from deviate.report.topics.gate import gate_figures, gate_page
from deviate.report.topics.plan import plan_figure, plan_page
from deviate.report.writers.markdown import render_markdown


def first_section(page):
    return page.sections[0].blocks


@pytest.mark.parametrize("passed", [True, False])
def test_a_gate_begins_with_its_verdict_and_the_metric_that_fails(passed):
    gate = structs.replace(pages.gate(), passed=passed)
    metrics = [structs.replace(metric, passed=metric.name != "train loss") for metric in gate.metrics]
    answer, charts = first_section(gate_page(structs.replace(gate, metrics=metrics), "full"))
    assert isinstance(answer, Answer)
    assert (answer.badge.text, answer.badge.emphasis) == (("passes", "good") if passed else ("does not pass", "bad"))
    assert isinstance(charts, ByMetric)
    assert charts.first == "train loss"
    assert {panel.metric for panel in charts.panels} == {"test acc", "train loss"}


def test_a_gate_draws_the_limit_where_the_table_has_it():
    gate = pages.gate()
    for metric, figure in zip(gate.metrics, gate_figures(gate), strict=True):
        data = figure.spec["datasets"]
        assert data["limit"] == [{"limit": metric.limit}]
        assert [row["mean"] for row in data["means"]] == [metric.mean_a, metric.mean_b]
        worse, (interval,) = data["worse"][0], data["interval"]
        # The interval of the distance, seen from the limit, holds the mean.
        assert interval["low"] < metric.mean_a < interval["high"]
        ends = figure.spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
        if metric.direction == "higher":
            assert (worse["from"], worse["to"]) == (ends[0], metric.limit)
            assert interval["low"] - metric.limit == pytest.approx(metric.ci_room.low)
        else:
            assert (worse["from"], worse["to"]) == (metric.limit, ends[1])
            assert metric.limit - interval["high"] == pytest.approx(metric.ci_room.low)


def test_a_metric_without_a_limit_has_no_chart():
    gate = pages.gate()
    bare = [structs.replace(metric, limit=None, drop=Drop(0.0)) for metric in gate.metrics]
    assert gate_figures(structs.replace(gate, metrics=bare)) == []


def test_a_plan_begins_with_the_runs_of_the_first_question_and_draws_it():
    plan = pages.plan()
    blocks = first_section(plan_page(plan, "full"))
    assert blocks[0].figure.label == "to show a difference of 0.5"
    assert blocks[0].figure.text == f"{plan.answers[0].runs} runs of each recipe"
    assert isinstance(blocks[-1], Drawing)
    data = plan_figure(plan).spec["datasets"]
    assert [(row["runs"], row["difference"]) for row in data["ladder"]] == [
        (rung.runs, rung.detectable_difference) for rung in plan.ladder
    ]
    assert data["asked"] == [{"runs": plan.answers[0].runs, "difference": 0.5}]
    axis = plan_figure(plan).spec["layer"][0]["encoding"]["x"]["axis"]
    assert plan.answers[0].runs in axis["values"]
    assert axis["tickCount"] > len(axis["values"])
    # On a phone a tick this near would have no label.
    assert [runs / plan.answers[0].runs for runs in axis["values"] if 0.8 < runs / plan.answers[0].runs < 1.25] == [1]
    assert 10 in [rung.runs for rung in plan.ladder]


def test_a_page_says_once_what_its_figure_says():
    text = pages.outline_of("plan").text
    assert text.count("12 runs of each recipe") == 1
    assert "To show a difference of 0.5: 12 runs of each recipe." in render_markdown(plan_page(pages.plan(), "full"))


def test_a_gate_says_how_to_get_it_again():
    assert gate_page(pages.gate(), "full").sections[-1].blocks == [Code(lines=[pages.gate().command])]


def test_a_plan_that_nothing_was_asked_of_has_the_chart_alone():
    plan = structs.replace(pages.plan(), answers=[])
    (chart,) = first_section(plan_page(plan, "full"))
    assert chart.figure.spec["datasets"].keys() == {"ladder"}


def test_on_a_phone_a_row_of_a_plan_says_what_its_first_number_is():
    heads = [head for head in pages.outline_of("plan").of("th") if head.get("scope") == "row"]
    assert {head.get("data-head") for head in heads} == {"runs of each"}
    assert len(heads) == len(pages.plan().ladder)
    # A row that is named by words needs no head.
    names = [head for head in pages.outline_of("comparison").of("th") if head.get("scope") == "row"]
    assert {head.get("data-head") for head in names} == {None}
