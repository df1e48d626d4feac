"""What each format says of a comparison."""

import csv
import html
import io
import json
import re

import numpy as np
import pytest
import report_cases as cases
from compared_sides import prints, side, side_metric, sides
from html_outline import Outline
from msgspec import structs
from pdflatex import compile_paper, needs_pdflatex
from scipy import stats

from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.report.escape import markdown
from deviate.report.topics.comparison import comparison_page
from deviate.report.topics.comparison_screen import SHORT
from deviate.report.topics.reasons import comparison_checklist, comparison_methods
from deviate.report.topics.verdicts import MetricCells
from deviate.report.views import comparison_view
from deviate.report.writers.contracts import comparison_contract, comparison_json
from deviate.report.writers.latex import latex, number
from deviate.report.writers.registry import find_writer, writers
from deviate.report.writers.tables_csv import comparison_csv
from deviate.report.writers.terminal import render_terminal
from deviate.stats.contrast import EFFECTS as EFFECT_ROWS
from deviate.stats.contrast import TESTS as TEST_ROWS

pytestmark = pytest.mark.long

WRITERS = writers(json=comparison_json, csv=comparison_csv)

CONTRACT = {"schema", "a", "b", "alpha", "correction", "metrics"}
METRIC = {
    *("name_a", "name_b", "n_a", "n_b", "mean_a", "mean_b", "sd_a", "sd_b", "difference", "ci_difference"),
    *("tests", "effects", "p_adjusted", "verdict", "why"),
}
TESTS = {"student_t", "welch_t", "mann_whitney_u", "permutation", "brown_forsythe", "f_variance", "bartlett"}
EFFECTS = {"cohen_d", "hedges_g", "cliff_delta", "p_superiority"}
VERDICTS = {"a better", "b better", "differs", "no difference shown", "equivalent", "too few runs"}


def comparison(compared=None, **options):
    return compare_sides(compared or sides(), ComparisonOptions(**options), "deviate compare baseline proposed")


def rendered(name, facts):
    writer = WRITERS[name]
    return writer.render(comparison_page(facts, writer.reader) if writer.reader else facts)


def terminal(facts, width=100):
    return render_terminal(comparison_page(facts, "brief"), width)


def test_json_keeps_the_contract():
    found = json.loads(rendered("json", comparison()))
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
    found = json.loads(rendered("json", comparison(compared)))["metrics"][0]
    assert (found["sd_a"], found["ci_difference"], found["p_adjusted"]) == (None, None, None)
    assert found["tests"]["welch_t"]["p"] is None
    assert "two runs" in found["tests"]["welch_t"]["reason"]
    assert found["verdict"] == "too few runs"
    assert found["almost_stochastic_order"]["epsilon_a_over_b"] is None


def test_json_of_three_sides_has_pairs():
    compared = [*sides(), side("third", sides(seed=4)[0].samples)]
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
    text = terminal(comparison(sides(shift=4.0)), width)
    assert max(map(len, text.splitlines())) <= width
    assert text.startswith("proposed is better than baseline by ")
    assert "Welch's t test (decides)" in text
    assert "Mann-Whitney U" in text


def test_terminal_shows_means_in_80_columns():
    head = next(line for line in terminal(comparison(), 80).splitlines() if "B − A" in line)
    assert head.split()[:4] == ["A", "baseline", "B", "proposed"]
    assert "B − A [95% CI]" in head


def test_each_interval_of_a_table_is_named_for_what_it_is_of():
    text = terminal(comparison(), 160)
    (head,) = [line for line in text.splitlines() if "B − A" in line]
    assert "B − A [95% CI]" in head
    (tests,) = [line for line in text.splitlines() if line.startswith("test  ")]
    assert tests.endswith("[95% CI]")


def test_effects_and_statistics_are_those_of_b_against_a():
    found = comparison(sides(shift=3.0))
    metric = found.pairs[0].metrics[0]
    a, b = metric.a.values, metric.b.values
    u, t = stats.mannwhitneyu(b, a).statistic, stats.ttest_ind(b, a).statistic
    rows = {line.split("  ")[0]: line for line in terminal(found, 120).splitlines()}
    student = next(line for name, line in rows.items() if name.startswith("Student's"))
    assert f"t {t:.2f}" in student
    assert f"U {u:g}" in rows["Mann-Whitney U"]
    assert "P(B > A)" in rows["Mann-Whitney U"]
    assert f"{100 * u / len(a) / len(b):.0f}%" in rows["Mann-Whitney U"]
    ratio = np.std(b, ddof=1) / np.std(a, ddof=1)
    assert " SD B/A  " in rows["SD: Brown-Forsythe"]
    assert f"{ratio:.2f}" in rows["SD: Brown-Forsythe"]
    cells = MetricCells(metric, found.pairs[0])
    assert cells.difference == f"{np.mean(b) - np.mean(a):.{len(cells.difference.partition('.')[2])}f}"


def test_names_of_users_are_made_harmless():
    nasty = "acc|<b>\x1b[31m[bold]"
    compared = [side("a", [side_metric(nasty, range(8))]), side("b", [side_metric(nasty, range(1, 9))])]
    for name in WRITERS:
        text = rendered(name, comparison(compared))
        if name != "csv":
            assert "\x1b" not in text
    assert "acc\\|\\<b\\>" in rendered("md", comparison(compared))


def test_markdown_has_every_test_and_says_which_decides():
    text = rendered("md", comparison())
    assert "| Welch's t test (decides) |" in text
    assert "| SD: Brown-Forsythe, permuted too (decides) |" in text
    for name, row in {**TEST_ROWS, **EFFECT_ROWS}.items():
        label = markdown(SHORT.get(name, row.label))
        assert (re.search(rf"\| (SD: )?{re.escape(label)}( \(decides\))? \|", text) is not None) != row.paired
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)


@pytest.mark.parametrize("format_name", ["md", "html", "tex", "json"])
def test_how_was_compared_is_said_for_a_paper(format_name):
    found = comparison(margins={"test acc": 0.5})
    assert any("Welch's t test" in sentence for sentence in comparison_methods(found))
    assert any("0.5" in sentence for sentence in comparison_methods(found))
    said = html.unescape(rendered(format_name, found)).replace("\\", "").replace("$", "")
    for sentence in comparison_methods(found):
        assert sentence.replace("%", "") in said.replace("%", "")


def test_csv_has_one_row_a_metric():
    rows = list(csv.DictReader(io.StringIO(rendered("csv", comparison()))))
    assert [row["metric_a"] for row in rows] == ["test acc", "train loss", "time per run"]
    assert [row["family"] for row in rows] == ["1", "1", "1"]
    assert float(rows[1]["p"]) == pytest.approx(comparison().pairs[0].metrics[1].contrast.p)


def test_a_table_for_programs_has_the_words_that_people_read():
    values = [one.samples[1].values for one in sides(shift=4.0)]
    compared = [
        side(label, [side_metric("x", sample, direction=None), side_metric("few", sample[:2])])
        for label, sample in zip(("a", "b"), values, strict=True)
    ]
    found = comparison(compared)
    few, x = csv.DictReader(io.StringIO(rendered("csv", found)))
    assert (x["verdict"], x["differs"], x["shown_verdict"]) == ("differs", "true", "differs, direction unknown")
    assert (few["differs"], few["shown_verdict"]) == ("", "too few runs")
    for name in ("md", "html"):
        assert x["shown_verdict"] in rendered(name, found)
    assert x["verdict"] in rendered("terminal", found)
    assert comparison_contract(found)["metrics"][1]["differs"] is True
    equal, _, _ = csv.DictReader(io.StringIO(rendered("csv", comparison(sides(shift=0.0)))))
    assert equal["differs"] == "false"


@pytest.mark.parametrize("width", range(60, 150, 5))
def test_all_tables_in_a_terminal_have_the_same_columns(width):
    a, b = sides()
    wide = side("c", [side_metric(each.name, [1000 * x for x in each.values]) for each in b.samples])
    text = terminal(comparison([side("a", a.samples), side("b", b.samples), wide]), width)
    heads = [line.split() for line in text.splitlines() if "B − A" in line]
    plain = [" ".join(word for word in head if word not in ("a", "b", "c")) for head in heads]
    parts, more = divmod(len(plain), 3)
    assert parts > 0
    assert not more
    assert plain[:parts] * 3 == plain


def test_negative_numbers_have_a_minus_sign_and_names_keep_their_hyphens():
    compared = [
        side(label, [side_metric("log-likelihood -1", [-90.0 + shift + 0.1 * k for k in range(8)])])
        for label, shift in (("a-1", 0.0), ("b-2", 5.0))
    ]
    found = comparison(compared)
    for name in ("terminal", "md", "html"):
        text = rendered(name, found).replace("\\", "")
        assert "−89.65" in text
        assert "-89.65" not in text.partition("<script")[0]
        assert "log-likelihood -1" in text
        assert "b-2" in text
    assert ",-89.6" in rendered("csv", found)
    assert "$-89.65$" in rendered("tex", found)
    assert "-89.65" in terminal(found).replace("−", "-")


def test_large_ratios_are_written_in_full():
    compared = [
        side("a", [side_metric(values=range(8))]),
        side("b", [side_metric(values=[363.0 * x for x in range(8)])]),
    ]
    for name in ("md", "html"):
        text = rendered(name, comparison(compared))
        assert "363" in text
        assert "e+0" not in text.partition("<script")[0]


def test_the_page_has_words_for_tests_and_effects():
    page = html.unescape(rendered("html", comparison()).partition("<main")[2])
    for name, row in {**TEST_ROWS, **EFFECT_ROWS}.items():
        assert f"{name}<" not in page
        label = SHORT.get(name, row.label)
        assert (f"{label}<" in page or f"{label} (decides)<" in page) != row.paired


def test_each_table_says_over_how_many_tests_p_was_adjusted():
    named = {"metrics": ["test acc", "train loss"]}
    for name in ("md", "html", "tex"):
        text = rendered(name, comparison(**named)).replace("$", "")
        assert "p adjusted (Holm): 2 tests of test acc and train loss" in text
        for alone in (comparison(correction="none", **named), comparison()):
            assert "p adjusted" not in rendered(name, alone).replace("$", "")


@pytest.mark.parametrize(("format_name", "path", "found"), [(None, None, "terminal"), ("MARKDOWN", None, "md")])
def test_format_is_found(format_name, path, found):
    assert find_writer(format_name, path, WRITERS).name == found


@pytest.mark.parametrize("name", ["terminal", "md", "tex", "html"])
def test_a_p_just_below_alpha_is_never_written_as_alpha(name):
    """Each table and sentence writes it with the digits that tell it from alpha, and so do captions of figures."""
    made = comparison(metrics=["test acc"], alpha=0.01)
    (pair,) = made.pairs
    p = 0.00999
    contrast = pair.metrics[0].contrast
    tests = {test: structs.replace(tested, p=p) for test, tested in contrast.tests.items()}
    metric = structs.replace(
        pair.metrics[0],
        contrast=structs.replace(contrast, tests=tests),
        p_adjusted=p,
        spread_p_adjusted=p,
        equivalence_p_adjusted=p,
        verdict="b better",
        differs=True,
        noisier="b noisier",
    )
    made = structs.replace(made, pairs=[structs.replace(pair, metrics=[metric])])
    text = html.unescape(rendered(name, made))
    assert "0.00999" in text
    words = re.findall(r"[\w.]+", text.partition("<main")[2] or text)
    shown = [word for word in words if word.startswith(("0.00999", "0.01"))]
    # "Tests have a level of 0.01" is alpha itself.
    assert shown.count("0.01") == text.count("a level of 0.01")
    assert shown.count("0.00999") >= (2 if name == "terminal" else 1)


NASTY = r"acc_1 % & # $x$ {y} ~ ^ \ <z> \input{secret} -- é"


def nasty_comparison():
    values = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0, 7.0])
    made = [side(label, [side_metric(NASTY, sample)]) for label, sample in zip(("a_1", "b&2"), values, strict=True)]
    return comparison(made, margins={NASTY: 0.5})


def latex_rows(text):
    return [line.strip().removesuffix(r" \\").split(" & ") for line in text.split("\n") if line.endswith(r"\\")]


def test_latex_rows_have_the_numbers_of_all_formats():
    made = comparison(sides(shift=4.0))
    text = rendered("tex", made)
    better = []
    for metric in made.pairs[0].metrics[:2]:
        cells = MetricCells(metric, made.pairs[0])
        numbers = [number(each) for each in (cells.a, cells.b, cells.difference, cells.ci, cells.p)]
        (row,) = [row for row in latex_rows(text) if row[1:6] == numbers]
        better.append(row[6])
        assert row[6] in cells.verdict or cells.verdict == "no difference shown"
    assert "proposed" in better
    assert latex("–") in [row[-1] for row in latex_rows(rendered("tex", comparison(sides(shift=0.0))))]
    assert "Means are compared by Welch's t test" in text
    named = rendered("tex", comparison(metrics=["test acc", "train loss"]))
    assert "adjusted within each family (Holm): 2 tests of test acc and train loss." in named


def test_times_of_runs_that_were_not_made_in_turn_are_in_no_table_of_a_paper():
    apart, named = comparison(), comparison(metrics=["time per run"])
    (*_, time), text = apart.pairs[0].metrics, rendered("tex", apart)
    assert (time.confounded, time.direction) == (True, "lower")
    assert "time per run" not in text
    assert "measured times" not in text.partition(r"\paragraph")[0]
    assert "Times are left out of the tables, and counted among the tests: the runs compared were not" in text
    # Who asks for nothing else is shown it.
    assert "time per run" in rendered("tex", named)
    a, b = sides()
    in_turn = comparison([side("e:algo", a.samples), side("e:init", b.samples)])
    assert "time per run" in rendered("tex", in_turn)
    assert "Times are left out" not in rendered("tex", in_turn)


def test_a_difference_of_times_is_said_to_need_an_idle_machine():
    slow, quick = ([*(start + index / 10 for index in range(8))] for start in (9.0, 3.0))
    compared = [
        side(label, [side_metric("secs", values, kind="speed", unit="s", direction="lower")])
        for label, values in (("a", slow), ("b", quick))
    ]
    (metric,) = comparison_contract(comparison(compared))["metrics"]
    assert (metric["direction"], metric["confounded"], metric["differs"]) == ("lower", True, True)
    assert "If it was idle, add --set direction=secs=lower." in metric["why"]
    assert "b and a differ by 6.00 s in secs (64%) [" in " ".join(terminal(comparison(compared)).split())
    for name in ("terminal", "md", "html"):
        text = " ".join(rendered(name, comparison(compared)).split())
        assert text.count("their runs did not alternate") == 1
        assert "differ" in text
    assert "direction unknown" not in rendered("csv", comparison(compared))


def made(values, **environment):
    """Return the facts about the runs of both sides, by label."""
    return {
        label: cases.document({"algo+impl": {"test acc": each}}, environment=environment).facts
        for label, each in zip(("baseline", "proposed"), values, strict=True)
    }


def test_a_paper_says_how_the_compared_runs_were_made():
    facts = comparison()
    runs = made(([1.0, 2.0, 3.0], [2.0, 3.0]), python="3.11.7")
    page = comparison_page(facts, "paper", lambda: runs)
    texts = {block.about: " ".join(block.sentences) for block in page.sections[-2].blocks}
    assert list(texts) == ["Runs of baseline.", "Runs of proposed.", "All runs."]
    assert "was run 3 times with Deviate" in texts["Runs of baseline."]
    assert "was run 2 times with Deviate" in texts["Runs of proposed."]
    assert "All runs completed." in texts["All runs."]
    assert "Software: Python 3.11.7." in texts["All runs."]
    (table,) = page.sections[-1].blocks
    answers = {row.cells[0].text: row.cells[1].text for row in table.rows}
    assert "intervals of the difference of the means" in answers["Are there error bars, and of what?"]
    assert "Welch's t test" in answers["How were they computed, and what is assumed?"]
    number = answers["How many training runs are the results of?"]
    assert number == "baseline: 3 completed of 3 planned. proposed: 2 completed of 2 planned."
    alike = made(([1.0, 2.0], [2.0, 3.0]))
    (number, *_) = comparison_checklist(facts, alike)
    assert number.answer == "baseline: 2 completed of 2 planned. proposed: 2 completed of 2 planned."
    text = WRITERS["neurips"].render(page)
    assert [f"question {number}: justification" in text for number in (4, 6, 7, 8)] == [True] * 4


@pytest.mark.parametrize("examples", [("x", "x"), ("x", "y"), ("x", None)])
def test_one_set_of_examples_is_claimed_only_where_fingerprints_show_it(examples):
    compared = [
        side(label, [side_metric(values=range(4))], prints=prints(*[shown] * 4, name="examples") if shown else {})
        for label, shown in zip("ab", examples, strict=True)
    ]
    shown = comparison_page(comparison(compared), "paper", lambda: made(([1.0, 2.0], [2.0, 3.0])))
    text = WRITERS["tex"].render(shown)
    assert ("the same set of examples in all runs compared" in text) == (examples == ("x", "x"))


def test_latex_says_the_number_of_runs_once_where_all_metrics_have_as_many():
    alike = rendered("tex", comparison())
    assert r"mean $\pm$ SD over 8 and 8 runs" in alike
    assert "& $n$ &" not in alike
    values = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0, 7.0])
    some = [
        side(label, [side_metric("x", one), side_metric("y", one[:4])]) for label, one in zip("ab", values, strict=True)
    ]
    unlike = rendered("tex", comparison(some))
    assert "Metric & $n$ &" in unlike
    assert {row[1] for row in latex_rows(unlike) if len(row) == 8} >= {"5, 5", "4, 4"}


@needs_pdflatex
def test_pdflatex_takes_a_comparison(tmp_path):
    assert compile_paper(tmp_path, rendered("tex", nasty_comparison())) > 0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_row_of_the_markdown_tables_stands_in_the_page(count):
    a, b = sides(n=2 if count == 1 else 8)
    made = comparison([a, b, side("third", sides(seed=5)[1].samples)] if count == 3 else [a, b])
    tables = [{cell.strip() for cell in row} for table in Outline(rendered("html", made)).tables for row in table]
    for line in rendered("md", made).splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            cells = {cell.strip().replace("\\", "") for cell in line.strip("| ").split(" | ")}
            assert any(cells <= {*row, ""} for row in tables), line


def test_a_page_escapes_the_names_of_sides():
    text = rendered("html", comparison(sides(labels=("a</script><script>1", "b<!--"))))
    assert "</script><script>1" not in text
    assert "b<!--" not in text


def test_a_comparison_shows_itself_in_a_notebook():
    view = comparison_view(comparison())
    assert "<td>better</td>" in view._repr_html_()
    assert list(view.figures()) == ["comparison-test-acc", "comparison-train-loss", "comparison-time-per-run"]
    assert repr(view) == terminal(view.facts).rstrip("\n")


def test_a_page_begins_with_the_verdict_and_has_the_values_of_each_run():
    facts = comparison()
    page = comparison_page(facts, "full")
    (pair,) = facts.pairs
    first = pair.metrics[0]
    answer, drawn, table, *_ = next(section for section in page.sections if section.slug == "answer").blocks
    assert answer.badge.text in ("proposed better", "no difference shown")
    assert first.name in answer.sentences[0]
    assert drawn.leading.metric == first.name == table.rows[0].cells[0].text.removesuffix(" (%)")
    assert {card.name for card in page.runs} == {f"{pair.variant_a}-{run}" for run in (*first.a.runs, *first.b.runs)}
    assert page.runs[0].facts[0] == (f"{first.name}, {pair.a}", f"{first.a.values[0]:.5g}")
    assert page.runs[0].facts[-1] == (f"Whole log, {pair.b}", f"deviate logs {pair.b} {page.runs[0].name}")
    assert comparison_page(facts, "paper").runs == []


def test_a_run_that_one_experiment_has_names_no_log_of_another():
    a, b = sides()
    other = comparison_page(
        compare_sides([a, side(b.label, b.samples, variant="control")], ComparisonOptions()), "full"
    )
    logs = {card.name: [text for name, text in card.facts if name.startswith("Whole log")] for card in other.runs}
    assert logs["algo+impl-0"] == ["deviate logs baseline algo+impl-0"]
    assert logs["control-0"] == ["deviate logs proposed control-0"]


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_whoever_asks_for_more_gets_every_column_of_the_screen(width):
    def cells(reader):
        text = render_terminal(comparison_page(comparison(), reader), width)
        return {cell for line in text.splitlines() for cell in re.split(r"\s{2,}", line.strip())}

    heads = {"baseline", "proposed", "B − A [95% CI]", "p", "statistic", "effect", "[95% CI]"}
    assert heads <= cells("brief")
    assert "B − A [95% CI]" in cells("screen")
