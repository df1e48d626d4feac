"""The first lines of a report on one variant: the number, its intervals, the runs, and what to type next."""

import math

import pytest
import report_cases as cases
from msgspec import structs

from deviate.cli.run import exit_status, main_choice
from deviate.facts.plan import PlanOptions, make_plan
from deviate.facts.proof import Evidence
from deviate.facts.samples import SampleOptions
from deviate.report.topics.experiment import experiment_page
from deviate.report.topics.headline import shown_sentences, taken_text
from deviate.report.writers.terminal import render_terminal

VALUES = [96.89, 95.33, 96.22, 94.67, 96.0, 96.67, 96.22, 96.01]
LOSSES = [0.1212, 0.1577, 0.1528, 0.1506, 0.1361, 0.1239, 0.1399, 0.1276]


def usual(**values):
    values = values or {"test acc": VALUES, "train loss": LOSSES}
    metrics = [
        structs.replace(
            cases.metric(name), aggregate="last", decimals=2 if "acc" in name else 4, unit="%" if "acc" in name else ""
        )
        for name in values
    ]
    return cases.document({"algo+impl": values}, metrics=metrics)


def screen(document, width=100):
    return render_terminal(experiment_page(document.facts, "screen"), width).splitlines()


def test_the_main_metric_comes_first():
    first, second, third, *_ = screen(usual())
    assert first == "test acc  96.00 ± 0.71   (mean ± SD of 8 runs, last; 95% CI in brackets)"
    assert second == "          mean [95.41, 96.60]   SD [0.37, 1.82]   range 2.22"
    assert third.startswith("          94.67 •")
    assert third.endswith("• 96.89")
    assert "mean ± SD of 8 runs, last" in usual().variants[0].headline[0]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_screen_and_all_fit_on_one(width):
    lines = screen(usual(), width)
    assert max(map(len, lines)) <= width
    assert len(lines) <= 20


def test_on_a_narrow_screen_the_brackets_are_explained_below():
    first, *_ = screen(usual(), 60)
    assert first == "test acc  96.00 ± 0.71   (mean ± SD of 8 runs; 95% CI below)"


def test_other_metrics_follow_in_a_table_with_the_decimals_of_the_program():
    (row,) = [line for line in screen(usual()) if line.startswith("train loss")]
    assert row.split("  ")[1] == "0.1387 ± 0.0139"
    assert "0.1212 to 0.1577" in row


def test_the_difference_that_shows_is_that_of_a_plan():
    (variant,) = usual().facts.variants
    (main, *_) = variant.metrics
    plan = make_plan(PlanOptions(sd=main.spread.sd, runs=8), None)
    known = next(rung for rung in plan.ladder if rung.runs == 8)
    # The SD of eight runs is not known exactly, so that more than with a known one is needed.
    assert variant.shown_difference > known.detectable_difference
    assert shown_sentences(variant)[0] == [
        "With 8 runs of each recipe, a difference of 1.2 points shows in 4 of 5 cases."
    ]


def test_of_equal_or_far_runs_no_difference_is_said():
    assert usual(**{"test acc": [90.0] * 8}).facts.variants[0].shown_difference is None
    assert usual(**{"test acc": [*VALUES[:-1], 10.0]}).facts.variants[0].shown_difference is None
    assert usual(**{"test acc": VALUES[:2]}).facts.variants[0].shown_difference is None


def test_what_varied_and_what_was_fixed_takes_a_line():
    facts = usual().facts
    found = {"init": "varied", "shuffle": "varied", "other": "absent", "data": "identical"}
    evidence = [
        Evidence(name=name, meant="held" if name == "data" else "varies", found=shown, groups=[])
        for name, shown in found.items()
    ]
    (variant,) = facts.variants
    facts = structs.replace(facts, variants=[structs.replace(variant, evidence=evidence, without_noise=True)])
    lines = render_terminal(experiment_page(facts, "screen"), 100).splitlines()
    assert "8 of 8 runs. Varied: initialisation, data order. Fixed: data draws." in lines


def test_a_narrow_screen_says_what_varied_too():
    said = " ".join(screen(usual(), 60))
    assert "varied" in said.lower()
    assert "More: " not in said


def test_where_runs_failed_they_stand_before_the_number():
    runs = [*cases.completed("algo+impl", 7), cases.failed("algo+impl", 7)]
    document = cases.document({"algo+impl": {"test acc": [*VALUES[:7], None]}}, runs=runs)
    lines = screen(document)
    assert "failed" in lines[0]
    assert any("mean ± SD of the other 7 runs" in line for line in lines)


@pytest.mark.parametrize(
    ("aggregate", "variable", "text"),
    [("last", "epoch", "last epoch"), ("best", "step", "best step"), ("at 5", "epoch", "at epoch 5"),
     ("mean", "i", "mean over iterations"), ("last", "", "last")],
)  # fmt: skip
def test_the_loop_is_called_as_the_program_calls_it(aggregate, variable, text):
    from deviate.core.experiment import MainLoop

    facts = usual().facts
    loop = MainLoop(file="train.py", line=1, variable=variable, kind="for", why="") if variable else None
    (variant,) = facts.variants
    metric = structs.replace(variant.metrics[0], aggregate=aggregate)
    assert taken_text(metric, variant, structs.replace(facts.definition, main_loop=loop)) == text


def test_runs_that_diverged_stand_before_the_number_which_is_of_the_others():
    values = {"test acc": [96.0, 10.0, 97.0, 10.0, 96.5, 96.2], "test loss": [0.1, math.nan, 0.2, math.inf, 0.1, 0.3]}
    metrics = [structs.replace(cases.metric(name), aggregate="last") for name in values]
    document = cases.document({"algo+impl": values}, metrics=metrics)
    lines = screen(document)
    assert lines[0] == "2 of 6 runs diverged (test loss not finite in runs 1 and 3)."
    assert any("mean ± SD of the other 4 runs" in line and "96.42 ± 0.43" in line for line in lines)
    assert any(line == "All 6: 68 ± 45; leave them out: --set 'weak=test loss'" for line in lines)
    assert exit_status(document.facts) == 1
    assert exit_status(usual().facts) == 0


def test_the_metric_that_the_user_chose_leads():
    made = cases.results(
        {"algo+impl": {"test acc": VALUES, "train loss": LOSSES}}, options=SampleOptions(main="train loss")
    )
    first, *_ = screen(cases.said(made))
    assert first.startswith("train loss  0.139 ± 0.014")


def test_which_metric_leads_is_said_where_another_might():
    said = main_choice(usual(**{"test acc": VALUES, "val acc": VALUES[::-1]}).facts)
    assert said == 'main metric: test acc (change: main = "val acc" below [statistics] in deviate.toml)'
    assert main_choice(usual(**{"test acc": VALUES, "train acc": VALUES[::-1]}).facts) == ""


def test_a_metric_that_is_reported_under_two_names_has_one_row():
    losses = {"train loss": LOSSES, "final_train_loss": [*LOSSES], "val acc": [*VALUES[1:], 90.0], "acc": VALUES}
    names = [line.split("  ")[0] for line in screen(usual(**{"test acc": VALUES, **losses}))]
    assert names.count("train loss") == 1
    assert names.count("val acc") == 1
    assert not {"final_train_loss", "acc"} & set(names)
