"""What reports, comparisons and checks show of predictions."""

import dataclasses
import json
import re

import numpy as np
import predicted_cases as made
import pytest
import report_cases as cases
from msgspec import structs

from deviate.core.errors import BadOption
from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions, Drop, GateOptions
from deviate.facts.gate import check_side
from deviate.facts.side import make_side
from deviate.observe.examples import Grouping, Groups
from deviate.observe.matching import EveryPass
from deviate.report.page import Drawing
from deviate.report.topics.comparison import comparison_page
from deviate.report.topics.curves import experiment_figures
from deviate.report.topics.experiment import experiment_page
from deviate.report.topics.gate import gate_page
from deviate.report.topics.stability import NOTHING_CAPTURED
from deviate.report.writers import markdown, terminal
from deviate.report.writers.contracts import comparison_json, experiment_json, gate_json
from deviate.report.writers.gate_junit import gate_junit
from deviate.report.writers.tables_csv import group_rows, groups_csv

ACC = [0.90, 0.91, 0.92, 0.90, 0.91, 0.93]


def results(evaluation, values=ACC):
    plain = cases.results({"algo+impl": {"test acc": values}})
    return structs.replace(plain, evaluations={"algo+impl": [evaluation]})


def report(evaluation):
    return cases.said(results(evaluation)).facts


def text_of(page, render):
    return " ".join(render(page).replace("\\", "").split())


def test_a_brief_report_says_how_many_answers_change():
    facts = report(made.evaluation(made.predictions(6)))
    text = text_of(experiment_page(facts, "brief"), lambda page: terminal.render_terminal(page, 100))
    (known,) = facts.stabilities
    assert "of the 60 examples differently" in text
    assert f"on {100 * known.labels.unstable:.0f}% it depends on the run" in text


def test_a_full_report_has_classes_flips_and_ensembles():
    facts = report(made.evaluation(made.predictions(6)))
    text = text_of(experiment_page(facts, "full"), markdown.render_markdown)
    for part in ("Predictions that change from run to run", "Flip list", "Classes", "Several runs together"):
        assert part in text
    assert "The shares of correct labels are the values of test acc in every run." in text


def test_of_several_variants_the_first_in_which_predictions_change_is_open():
    labels = made.predictions(4).labels
    equal = np.repeat(labels[:1], 4, axis=0)
    shown = {"control": equal, "init": labels, "shuffle": labels}
    plain = cases.results({variant: {"test acc": ACC[:4]} for variant in shown})
    evaluations = {
        variant: [made.evaluation(made.predictions(4, labels=each), variant=variant)] for variant, each in shown.items()
    }
    facts = cases.said(structs.replace(plain, evaluations=evaluations)).facts
    page = experiment_page(facts, "full")
    (folds,) = [section.blocks for section in page.sections if section.slug == "predictions"]
    assert [(fold.title, fold.open) for fold in folds] == [
        ("nothing (control)", False),
        ("initialisation", True),
        ("data order", False),
    ]
    drawn = [any(isinstance(block, Drawing) for block in fold.blocks) for fold in folds]
    assert drawn == [False, True, True]


@pytest.mark.parametrize(("kept", "explained"), [("scores", True), ("scores:every", True), ("labels", False)])
def test_scores_without_representations_are_explained(kept, explained):
    made_results = results(made.evaluation(made.predictions(6)))
    asked = structs.replace(made_results, experiment=structs.replace(made_results.experiment, predictions=kept))
    text = text_of(experiment_page(cases.said(asked).facts, "full"), markdown.render_markdown)
    assert ("no two runs kept what enters the last linear layer" in text) is explained


def test_the_figures_are_charts_of_vega_lite():
    figures = [
        each
        for each in experiment_figures(report(made.evaluation(made.predictions(6))))
        if each.section == "predictions"
    ]
    assert [each.slug for each in figures] == [
        "classes-algo-impl",
        "churn-algo-impl",
        "ensembles-algo-impl",
        "abstention-algo-impl",
    ]
    for figure in figures:
        assert figure.chart.to_dict()["description"]


@pytest.mark.parametrize("predicted", [made.predictions(1), None])
def test_what_cannot_be_compared_says_why(predicted):
    facts = report(made.evaluation(predicted, withheld="" if predicted else "the runs evaluated other examples"))
    text = text_of(experiment_page(facts, "brief"), lambda page: terminal.render_terminal(page, 100))
    assert "Predictions are not compared: " in text


def test_the_json_has_every_number():
    known = json.loads(experiment_json(report(made.evaluation(made.predictions(6)))))["predictions"]
    (stability,) = known
    assert stability["site"] == {"file": "train.py", "line": 9, "function": "evaluate"}
    assert stability["classification"]["correctness"]["classes"][0]["name"] == "0"
    assert np.shape(stability["classification"]["matrix"]) == (6, 6)


def test_the_json_has_likelihood_and_calibration_where_scores_were_kept():
    predicted = made.predictions(3)
    scores = np.where(np.arange(3) == predicted.labels[..., None], 0.8, 0.1)
    known = json.loads(
        experiment_json(report(made.evaluation(dataclasses.replace(predicted, scores=scores), metric=None)))
    )
    measured = known["predictions"][0]["classification"]["correctness"]["calibration"]
    right = predicted.labels == predicted.targets
    expected = -np.where(right, np.log(0.8), np.log(0.1)).mean(axis=1)
    assert measured["nll"]["values"] == pytest.approx(expected, rel=1e-6)
    assert sorted(measured) == ["brier", "ece", "nll"]


def test_where_nothing_was_captured_the_full_report_says_so_and_what_to_do():
    facts = cases.usual().facts
    assert json.loads(experiment_json(facts))["predictions"] == []
    assert NOTHING_CAPTURED.replace("`", "") in text_of(experiment_page(facts, "full"), html_free)
    none = structs.replace(facts, definition=structs.replace(facts.definition, predictions="none"))
    assert "redictions" not in markdown.render_markdown(experiment_page(none, "full"))


def html_free(page):
    return markdown.render_markdown(page).replace("`", "")


# Two sides


def sides(a, b):
    plain = [results(made.evaluation(each)) for each in (a, b)]
    renamed = [
        structs.replace(each, experiment=structs.replace(each.experiment, name=name))
        for name, each in zip("ab", plain, strict=True)
    ]
    return [make_side(each, "algo+impl", name) for name, each in zip("ab", renamed, strict=True)]


def test_a_comparison_says_what_b_changes_beyond_training_again():
    comparison = compare_sides(sides(made.predictions(6), made.predictions(6, seed=1)), ComparisonOptions())
    (pair,) = comparison.pairs
    text = text_of(comparison_page(comparison, "brief"), lambda page: terminal.render_terminal(page, 100))
    share = 100 * pair.predictions.churn.between.value
    assert f"a and b label {share:.1f}% of the 60 examples differently [" in text
    assert "These runs do not show that the share between a and b is above that of retraining alone." in text
    assert json.loads(comparison_json(comparison))["predictions"]["churn"]["between"]["value"] == pytest.approx(
        share / 100
    )


def test_a_screen_says_in_a_line_how_many_predictions_change():
    other = made.predictions(6, seed=1)
    shifted = made.predictions(6, labels=np.where(np.arange(60) < 20, 2, other.labels))
    for first in (shifted, made.predictions(6)):
        comparison = compare_sides(sides(first, other), ComparisonOptions())
        page = comparison_page(comparison, "screen")
        text = " ".join(terminal.render_terminal(page, 100).split())
        churn = comparison.pairs[0].predictions.churn
        ends = [100 * end for end in (churn.between.interval.low, churn.between.interval.high)]
        within = 50 * (churn.within_a.value + churn.within_b.value)
        between = f"{100 * churn.between.value:.1f}% [{ends[0]:.1f}, {ends[1]:.1f}]"
        more = "" if first is shifted else "; that it is more is not shown"
        said = f"Churn: they disagree on {between} of 60 examples, two runs of one recipe on {within:.1f}%{more}."
        assert said in text


def test_another_recipe_changes_more():
    other = made.predictions(6, seed=1)
    shifted = made.predictions(6, labels=np.where(np.arange(60) < 20, 2, other.labels))
    comparison = compare_sides(sides(shifted, other), ComparisonOptions())
    text = text_of(comparison_page(comparison, "full"), markdown.render_markdown)
    (excess,) = re.findall(
        r"The share between a and b is (\S+) points above that of retraining alone \(mean of both\)\.", text
    )
    assert float(excess) == pytest.approx(100 * comparison.pairs[0].predictions.churn.excess.value, abs=0.5)


def test_a_comparison_says_in_which_group_most_answers_change():
    grouping = Grouping("half", ("first", "second"), np.arange(60) // 30)
    groups = [Groups("groups.csv", "index", (grouping,))]
    other = made.predictions(6, seed=1)
    shifted = made.predictions(6, labels=np.where(np.arange(60) < 20, 2, other.labels))
    a, b = sides(shifted, other)
    a = structs.replace(a, evaluations=[structs.replace(a.evaluations[0], groups=groups)])
    comparison = compare_sides([a, b], ComparisonOptions(groups=("groups.csv",)))
    first, second = comparison.pairs[0].predictions.groups
    pairs = [(x[:30] != y[:30]).mean() for x in shifted.labels for y in other.labels]
    assert first.between.value == pytest.approx(np.mean(pairs))
    assert first.accuracy_a == pytest.approx((shifted.labels[:, :30] == other.targets[:30]).mean())
    assert (first.label, first.examples) == ("half=first", 30)
    assert second.excess.value < 0.05 < first.excess.value
    text = text_of(comparison_page(comparison, "full"), markdown.render_markdown)
    assert f"Most labels change in group half=first: {100 * first.between.value:.1f}% of its 30 examples." in text
    assert "| group | examples | accuracy of a | accuracy of b | changed | beyond | p | verdict |" in text
    assert "The accuracy of b is higher on half=first (1 of 2 groups; exploratory)." in text
    assert "adjusted over 2 tests of groups (Holm)." in text
    known = json.loads(comparison_json(comparison))["predictions"]
    assert [(each["name"], each["verdict"]) for each in known["groups"]] == [
        ("first", "b better"), ("second", "no difference shown")
    ]  # fmt: skip
    assert known["sentences"][-1].startswith("The accuracy of b is higher")


def test_predictions_of_different_metrics_are_not_compared():
    a, b = sides(made.predictions(6), made.predictions(6))
    b = structs.replace(b, evaluations=[structs.replace(b.evaluations[0], metric="train acc")])
    (pair,) = compare_sides([a, b], ComparisonOptions()).pairs
    assert pair.predictions.withheld == "the predictions of the two belong to different metrics"


# Checks


def checked(allowed, a=None, b=None):
    options = GateOptions(drops={"test acc": Drop()}, max_churn=allowed)
    return check_side(*sides(a or made.predictions(6), b or made.predictions(6, seed=1)), options)


def test_a_check_passes_only_what_is_shown_to_change_few_answers():
    gate = checked(0.5)
    assert gate.passed
    assert gate.churn.upper <= 0.5
    strict = checked(0.01)
    assert not strict.passed
    assert not strict.churn.passed
    text = text_of(gate_page(strict, "brief"), lambda page: terminal.render_terminal(page, 100))
    assert "FAIL changed answers at most " in text
    assert "Allowed is 1%, which is not shown to be kept" in text


def test_a_check_that_fails_by_churn_fails_in_every_format():
    gate = checked(0.01)
    assert json.loads(gate_json(gate))["churn"]["passed"] is False
    assert 'name="churn"' in gate_junit(gate)
    assert 'failures="1"' in gate_junit(gate)


def test_predictions_that_cannot_be_compared_do_not_pass():
    apart = made.predictions(6, keys=np.arange(1000, 1060))
    gate = checked(0.5, b=apart)
    assert not gate.passed
    assert "the sides evaluated other examples" in " ".join(json.loads(gate_json(gate))["churn"]["why"])


def test_a_side_without_predictions_is_refused():
    a, b = sides(made.predictions(6), made.predictions(6))
    options = GateOptions(drops={"test acc": Drop()}, max_churn=0.1)
    with pytest.raises(BadOption, match="max_churn: no predictions of b"):
        check_side(a, structs.replace(b, evaluations=[]), options)


# Groups


def grouped():
    groups = Groups("groups.csv", "index", (Grouping("sex", ("f", "m"), np.arange(60) % 2),))
    return report(made.evaluation(made.predictions(6, classes=2), groups=[groups], positive=1))


def test_a_full_report_has_the_rates_of_groups_beside_those_of_all_examples():
    text = text_of(experiment_page(grouped(), "full"), markdown.render_markdown)
    rates = "accuracy | SD | × all | FPR | SD of FPR | × all | FNR | SD of FNR | × all"
    assert f"| group | examples | positives | {rates} |" in text
    assert "| all | 60 |" in text
    assert "| sex=m | 30 |" in text
    assert "Groups of groups.csv, matched by the number of each example. Positive: class 1, against all others." in text


def test_groups_are_in_the_json_and_in_a_table_of_their_own():
    facts = grouped()
    (known,) = json.loads(experiment_json(facts))["predictions"]
    assert [group["name"] for group in known["groups"]["groups"]] == ["f", "m"]
    rows = {(row["group"], row["rate"]): row for row in group_rows(facts)}
    assert list(dict.fromkeys(rate for _, rate in rows)) == ["accuracy", "recall", "precision", "fpr", "fnr"]
    chosen = rows["m", "fnr"]
    assert chosen["mean"] == known["groups"]["groups"][1]["rates"]["fnr"]["mean"]
    assert groups_csv(facts).count("\n") == 1 + 3 * 5


# Every pass


def followed():
    predicted = made.predictions(6)
    labels = np.stack([made.predictions(6, seed=seed).labels for seed in range(30)], axis=2)
    every = EveryPass(dataclasses.replace(predicted, labels=labels), tuple(range(30)), 0)
    last, best = (made.evaluation(predicted, kept=kept, every=every) for kept in ("last", "best"))
    plain = results(last)
    return cases.said(structs.replace(plain, evaluations={"algo+impl": [last, best]})).facts


def test_a_full_report_has_the_churn_of_every_evaluation_once():
    facts = followed()
    text = text_of(experiment_page(facts, "full"), markdown.render_markdown)
    assert text.count("Runs first differ in evaluation 1 of 30") == 1
    assert "| 29 | 28 |" in text
    assert "| 30 | 29 |" in text
    assert "| 28 | 27 |" not in text
    (figure,) = [each for each in experiment_figures(facts) if each.slug == "passes-algo-impl"]
    assert len(figure.chart.to_dict()["datasets"]["points"]) == 30


def test_the_json_has_every_evaluation():
    known = json.loads(experiment_json(followed()))["predictions"]
    assert [each["learning"] and len(each["learning"]["passes"]) for each in known] == [30, None]
