"""Metrics come in the order in which a reader asks for them, the same in all variants and formats."""

import re
from pathlib import Path

import msgspec
import pandas as pd
import pytest
import report_cases as cases

from deviate.core.experiment import Run
from deviate.facts.curves import curves_of
from deviate.facts.metric import by_cv, ordered
from deviate.lexicon.words import UNNAMED, meaning_of
from deviate.observe.headline import main_first, main_metric
from deviate.report.page import ByMetric, Drawing
from deviate.report.topics.answer import full
from deviate.report.topics.curves import Charts
from deviate.report.topics.experiment import experiment_page
from deviate.report.topics.metrics import ORDER
from deviate.report.writers.latex import render_latex
from deviate.runs.events import RunProgress, RunStarted, values_ordered, with_ordered_values

#: By CV the reverse of what a reader wants.
VALUES = {
    "val loss": [1.0, 3.0, 2.0],
    "train acc": [80.0, 85.0, 90.0],
    "val acc": [80.0, 84.0, 88.0],
    "test acc": [90.0, 91.0, 90.5],
}
FIRST = ["test acc", "train acc", "val acc", "val loss", "time per run"]


def names(metrics):
    return [metric.name for metric in metrics]


def places(text, wanted):
    return [re.search(rf"^\W*{name}\b", text, re.MULTILINE).start() for name in wanted]


def test_the_main_metric_comes_first_and_times_come_last():
    (variant,) = cases.document({"algo+impl": VALUES}).variants
    assert names(variant.metrics) == FIRST
    assert names(by_cv(variant.metrics))[0] == "val loss"


def test_a_loss_that_names_no_data_is_behind_that_of_the_training_which_it_may_be_a_part_of():
    values = {"prob loss": [1.0, 2.0], "train loss": [1.0, 3.0]}
    (variant,) = cases.document({"algo+impl": values}).variants
    assert main_metric(variant.metrics).name == "train loss"
    (variant,) = cases.document({"algo+impl": {**values, "val kl loss": [1.0, 2.0]}}).variants
    assert main_metric(variant.metrics).name == "val kl loss"


def test_metrics_of_evaluations_stand_where_the_documentation_says():
    configuration = Path(__file__).parents[3] / "docs" / "configuration.md"
    assert ORDER in configuration.read_text(encoding="utf-8")
    values = {"acc": [1.0, 2.0], "evaluate: f1": [1.0, 3.0], "loss": [1.0, 2.0], "evaluate: loss": [1.0, 2.0]}
    (variant,) = cases.document({"algo+impl": values}).variants
    assert names(variant.metrics)[:4] == ["acc", "evaluate: f1", "loss", "evaluate: loss"]


def render_paper(document):
    return render_latex(experiment_page(document.facts, "paper"))


@pytest.mark.parametrize("render", [cases.render_markdown, render_paper, cases.render_terminal])
def test_every_format_for_readers_has_this_order(render):
    found = places(render(cases.document({"algo+impl": VALUES})), FIRST)
    assert found == sorted(found)


def test_all_variants_have_the_same_order_whatever_their_cvs_are():
    # In the second variant the CVs of two measures of quality are the other way round, and those of the third are zero.
    other = {**VALUES, "train acc": [85.0, 85.1, 85.2], "val acc": [60.0, 70.0, 90.0]}
    held = {name: [1.0, 1.0, 1.0] for name in reversed(VALUES)}
    document = cases.document({"algo+impl": VALUES, "init": other, "control": held})
    (order,) = {tuple(names(variant.metrics)) for variant in document.variants}
    # The largest CV that a metric has in any variant counts.
    assert order == ("test acc", "val acc", "train acc", "val loss", "time per run")
    assert [table.metric for table in document.across] == list(order[:-1])


def test_of_equal_metrics_the_first_of_the_experiment_is_the_main_one_as_in_comparisons():
    values = {"test acc": [90.0, 91.0], "final test accuracy": [80.0, 99.0]}
    (variant,) = cases.document({"algo+impl": values}).variants
    assert names(variant.metrics)[0] == "test acc"
    assert main_metric(variant.metrics).name == "test acc"


def test_without_a_measured_metric_nothing_fails():
    assert ordered({"algo+impl": [], "init": []}) == {"algo+impl": [], "init": []}


def test_other_programs_still_get_metrics_by_cv():
    (variant,) = cases.contract(cases.document({"algo+impl": VALUES}))["variants"]
    cvs = [metric["cv"] for metric in variant["metrics"]]
    assert cvs == sorted(cvs, reverse=True)


def test_what_is_seen_of_a_run_begins_with_the_main_metric():
    experiment = cases.experiment([cases.metric(name) for name in VALUES], ["algo+impl"], 1)
    latest = {"reading": 1.0, "val loss": 0.5, "train acc": 70.0, "test acc": 90.0}
    assert list(values_ordered(latest, experiment).items()) == [
        ("test acc", 90.0), ("val loss", 0.5), ("train acc", 70.0), ("reading", 1.0)
    ]  # fmt: skip


def test_events_carry_their_values_in_this_order():
    experiment = cases.experiment([cases.metric(name) for name in VALUES], ["algo+impl"], 1)
    run = Run(variant="algo+impl", index=0)
    event = RunProgress(run=run, seconds=1.0, iteration=2, values={"val loss": 0.5, "test acc": 90.0})
    assert list(with_ordered_values(event, experiment).values) == ["test acc", "val loss"]
    started = RunStarted(run=run, slot=0, number=1, total=1)
    assert with_ordered_values(started, experiment) is started


def test_learning_curves_are_those_of_validation_where_the_main_metric_has_no_curve():
    document = cases.document({"algo+impl": VALUES})
    points = [
        ("algo+impl", run, name, step, float(run + step))
        for run in range(2) for name in VALUES if name != "test acc" for step in range(3)
    ]  # fmt: skip
    records = pd.DataFrame(points, columns=["variant", "run", "metric", "iteration", "value"])
    section = full(document.facts, Charts(document.facts, curves_of(document.facts, cases.by_run(records))))
    (block,) = [block for block in section.blocks if isinstance(block, ByMetric)]
    curves = {
        panel.metric: [drawn.figure.metric for drawn in panel.blocks if isinstance(drawn, Drawing)]
        for panel in block.panels
    }
    assert curves == {
        "test acc": ["val acc"],
        "train acc": ["train acc"],
        "val acc": ["val acc"],
        "val loss": ["val loss"],
    }


@pytest.mark.parametrize(
    "names",
    [
        ["eval/mean_reward", "rollout/ep_rew_mean", "train/loss", "train/explained_variance", "train/value_loss"],
        ["train/episode_reward", "explained_variance"],
        ["test loss", "val acc", "val loss", "train acc"],
        ["val_dice", "train_loss", "train_loss_dice"],
        ["loss", "value_loss"],
        ["loss", "errors [items]", "memory", "time per run"],
        ["reward", "reward_std"],
        ["perplexity", "temperature", "acc ±"],
    ],
)
def test_what_authors_watch_comes_first(names):
    metrics = [cases.metric(name) for name in names]
    meant = [msgspec.structs.replace(each, **by_name(each.name)) for each in reversed(metrics)]
    assert [each.name for each in main_first(meant)] == names


def by_name(name):
    meaning = meaning_of(name) or UNNAMED
    return {"kind": meaning.kind, "direction": meaning.direction}
