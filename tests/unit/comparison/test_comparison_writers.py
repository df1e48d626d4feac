"""What each format says of a comparison."""

import csv
import html
import io
import json

import pytest
from compared_sides import side, side_metric, sides

from deviate.report.comparison.build import build_comparison
from deviate.report.comparison.inputs import Asked
from deviate.report.writers.comparison_formats import COMPARISON_FORMATS, find_comparison_format
from deviate.report.writers.comparison_json import comparison_contract
from deviate.report.writers.comparison_terminal import render_comparison_terminal

CONTRACT = {"schema", "a", "b", "alpha", "correction", "metrics"}
METRIC = {
    *("name_a", "name_b", "n_a", "n_b", "mean_a", "mean_b", "sd_a", "sd_b", "difference", "ci_difference"),
    *("tests", "effects", "p_adjusted", "verdict", "why"),
}
TESTS = {"student_t", "welch_t", "mann_whitney_u", "permutation", "brown_forsythe", "f_variance", "bartlett"}
EFFECTS = {"cohen_d", "hedges_g", "cliff_delta", "p_superiority"}
VERDICTS = {"a better", "b better", "no difference shown", "equivalent", "too few runs"}


def comparison(compared=None, **asked):
    return build_comparison(compared or sides(), Asked(**asked), "deviate compare baseline proposed")


def test_json_keeps_the_contract():
    found = json.loads(COMPARISON_FORMATS["json"](comparison()))
    assert found.keys() >= CONTRACT
    assert (found["schema"], found["a"], found["b"], found["alpha"]) == (1, "baseline", "proposed", 0.05)
    assert list(found)[:6] == ["schema", "a", "b", "alpha", "correction", "metrics"]
    for metric in found["metrics"]:
        assert metric.keys() >= METRIC
        assert metric["tests"].keys() >= TESTS
        assert all(test.keys() >= {"statistic", "p"} for test in metric["tests"].values())
        assert metric["effects"].keys() >= EFFECTS
        assert metric["verdict"] in VERDICTS
        low, high = metric["ci_difference"]
        assert low < metric["difference"] < high
        assert isinstance(metric["why"], str)


def test_json_of_what_is_unknown_is_null():
    compared = [side("a", [side_metric(values=[1.0])]), side("b", [side_metric(values=[2.0, 3.0, 4.0])])]
    found = json.loads(COMPARISON_FORMATS["json"](comparison(compared)))["metrics"][0]
    assert (found["sd_a"], found["ci_difference"], found["p_adjusted"]) == (None, None, None)
    assert found["tests"]["welch_t"]["p"] is None
    assert "two runs" in found["tests"]["welch_t"]["reason"]
    assert found["verdict"] == "too few runs"
    assert found["almost_stochastic_order"]["epsilon_a_over_b"] is None


def test_json_of_three_sides_has_pairs():
    compared = [*sides(), side("third", sides(seed=4)[0].metrics)]
    found = comparison_contract(comparison(compared))
    assert (found["a"], found["metrics"]) == (None, None)
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [
        ("baseline", "proposed"),
        ("baseline", "third"),
        ("proposed", "third"),
    ]
    assert [one["rank"] for one in found["omnibus"][0]["ranking"]] == [1, 2, 3]


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_terminal_keeps_to_the_width_and_names_the_verdict(width):
    text = render_comparison_terminal(comparison(sides(shift=4.0)), width)
    assert max(map(len, text.splitlines())) <= width
    assert "proposed better" in text
    assert "no difference shown" in text
    assert "Welch's t test" in text


def test_terminal_shows_means_in_80_columns():
    head = next(line for line in render_comparison_terminal(comparison(), 80).splitlines() if line.startswith("metric"))
    assert head.split() == ["metric", "baseline", "proposed", "p", "adj.", "verdict"]


def test_names_of_users_are_made_harmless():
    nasty = "acc|<b>\x1b[31m[bold]"
    compared = [side("a", [side_metric(nasty, range(8))]), side("b", [side_metric(nasty, range(1, 9))])]
    for name, render in COMPARISON_FORMATS.items():
        text = render(comparison(compared))
        if name != "csv":
            assert "\x1b" not in text
    assert "acc\\|\\<b\\>" in COMPARISON_FORMATS["md"](comparison(compared))


def test_markdown_has_every_test_and_says_which_decides():
    text = COMPARISON_FORMATS["md"](comparison())
    assert "| welch_t (decides) |" in text
    assert "| brown_forsythe (decides) |" in text
    for name in (*TESTS, *EFFECTS):
        assert f"| {name}" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)


@pytest.mark.parametrize("format_name", ["md", "html", "tex", "json"])
def test_how_was_compared_is_said_for_a_paper(format_name):
    found = comparison(margins={"test acc": 0.5})
    assert any("Welch's t test" in sentence for sentence in found.methods)
    assert any("0.5" in sentence for sentence in found.methods)
    said = html.unescape(COMPARISON_FORMATS[format_name](found)).replace("\\", "")
    for sentence in found.methods:
        assert sentence.replace("%", "") in said.replace("%", "")


def test_csv_has_one_row_a_metric():
    rows = list(csv.DictReader(io.StringIO(COMPARISON_FORMATS["csv"](comparison()))))
    assert [row["metric_a"] for row in rows] == ["train loss", "test acc", "time per run"]
    assert float(rows[1]["p"]) == pytest.approx(comparison().pairs[0].metrics[1].contrast.p)


@pytest.mark.parametrize(("format_name", "path", "found"), [(None, None, "terminal"), ("MARKDOWN", None, "md")])
def test_format_is_found(format_name, path, found):
    assert find_comparison_format(format_name, path) == found
