"""What each format says of a comparison."""

import csv
import html
import io
import json

import pytest
from compared_sides import side, side_metric, sides

from deviate.contrast.labels import EFFECT_NAMES, TEST_NAMES
from deviate.report.comparison.build import build_comparison
from deviate.report.comparison.inputs import Asked
from deviate.report.escape import markdown
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
    assert "| Welch's t (decides) |" in text
    assert "| Brown-Forsythe (decides) |" in text
    for name in (*TEST_NAMES.values(), *EFFECT_NAMES.values()):
        assert (f"| {markdown(name)} " in text) == ("pair" not in name and "Wilcoxon" not in name)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)


@pytest.mark.parametrize("format_name", ["md", "html", "tex", "json"])
def test_how_was_compared_is_said_for_a_paper(format_name):
    found = comparison(margins={"test acc": 0.5})
    assert any("Welch's t test" in sentence for sentence in found.methods)
    assert any("0.5" in sentence for sentence in found.methods)
    said = html.unescape(COMPARISON_FORMATS[format_name](found)).replace("\\", "").replace("$", "")
    for sentence in found.methods:
        assert sentence.replace("%", "") in said.replace("%", "")


def test_csv_has_one_row_a_metric():
    rows = list(csv.DictReader(io.StringIO(COMPARISON_FORMATS["csv"](comparison()))))
    assert [row["metric_a"] for row in rows] == ["test acc", "train loss", "time per run"]
    assert [row["family"] for row in rows] == ["2", "2", "1"]
    assert float(rows[1]["p"]) == pytest.approx(comparison().pairs[0].metrics[1].contrast.p)


def test_a_table_for_programs_has_the_words_that_people_read():
    values = [one.metrics[1].values for one in sides(shift=4.0)]
    compared = [
        side(label, [side_metric("x", sample, direction=None), side_metric("few", sample[:2])])
        for label, sample in zip(("a", "b"), values, strict=True)
    ]
    found = comparison(compared)
    few, x = csv.DictReader(io.StringIO(COMPARISON_FORMATS["csv"](found)))
    assert (x["verdict"], x["differs"], x["shown_verdict"]) == (
        "no difference shown",
        "true",
        "differs, better unknown",
    )
    assert (few["differs"], few["shown_verdict"]) == ("", "too few runs")
    for name in ("terminal", "md", "html"):
        assert x["shown_verdict"] in COMPARISON_FORMATS[name](found)
    assert comparison_contract(found)["metrics"][1]["differs"] is True
    equal, _, _ = csv.DictReader(io.StringIO(COMPARISON_FORMATS["csv"](comparison(sides(shift=0.0)))))
    assert equal["differs"] == "false"


@pytest.mark.parametrize("width", range(60, 150, 5))
def test_all_tables_in_a_terminal_have_the_same_columns(width):
    a, b = sides()
    wide = side("c", [side_metric(each.name, [1000 * x for x in each.values]) for each in b.metrics])
    text = render_comparison_terminal(comparison([side("a", a.metrics), side("b", b.metrics), wide]), width)
    heads = [line.split() for line in text.splitlines() if line.startswith("metric ")]
    assert len(heads) == 3
    assert len({" ".join(word for word in head if word not in ("a", "b", "c")) for head in heads}) == 1


def test_negative_numbers_have_a_minus_sign_and_names_keep_their_hyphens():
    compared = [
        side(label, [side_metric("log-likelihood -1", [-90.0 + shift + 0.1 * k for k in range(8)])])
        for label, shift in (("a-1", 0.0), ("b-2", 5.0))
    ]
    found = comparison(compared)
    for name in ("terminal", "md", "html"):
        text = COMPARISON_FORMATS[name](found).replace("\\", "")
        assert "−89.65" in text
        assert "-89.65" not in text.partition("<script")[0]
        assert "log-likelihood -1" in text
        assert "b-2" in text
    assert ",-89.6" in COMPARISON_FORMATS["csv"](found)
    assert "$-89.65$" in COMPARISON_FORMATS["tex"](found)
    assert "-89.65" in render_comparison_terminal(found).replace("−", "-")


def test_large_ratios_are_written_in_full():
    compared = [
        side("a", [side_metric(values=[363.0 * x for x in range(8)])]),
        side("b", [side_metric(values=range(8))]),
    ]
    for name in ("md", "html"):
        text = COMPARISON_FORMATS[name](comparison(compared))
        assert "363" in text
        assert "e+0" not in text.partition("<script")[0]


def test_the_page_has_words_for_tests_and_effects_and_one_column_of_sentences():
    page = html.unescape(COMPARISON_FORMATS["html"](comparison()).partition("<main")[2])
    for name, word in {**TEST_NAMES, **EFFECT_NAMES}.items():
        assert f"{name}<" not in page
        assert (f"{word}<" in page or f"{word} (decides)<" in page) == ("pair" not in word and "Wilcoxon" not in word)
    assert 'class="answers in-turn"' in page


def test_each_table_says_over_how_many_tests_p_was_adjusted():
    found = comparison()
    for name in ("md", "html", "tex"):
        text = COMPARISON_FORMATS[name](found).replace("$", "")
        assert "p adjusted (Holm): over 2 tests; of times that Deviate measures over 1" in text
        assert "p adjusted" not in COMPARISON_FORMATS[name](comparison(correction="none")).replace("$", "")


@pytest.mark.parametrize(("format_name", "path", "found"), [(None, None, "terminal"), ("MARKDOWN", None, "md")])
def test_format_is_found(format_name, path, found):
    assert find_comparison_format(format_name, path) == found
