"""What a reader asks for beyond the defaults: weak runs, time to get somewhere, the finite test set."""

import math

import numpy as np
import pytest
import report_cases as cases
from scipy import stats

from deviate.core.errors import BadOption
from deviate.core.experiment import Capture, Experiment, Metric
from deviate.facts.run import RunResult
from deviate.facts.samples import (
    Bar,
    SampleOptions,
    parse_bar,
    reach_samples,
    read_options,
    settle_options,
)
from deviate.facts.stored import Results, known_metrics, samples_by_variant
from deviate.lexicon.words import find_name
from deviate.observe.metrics import SampleRow
from deviate.observe.tables import RECORD_COLUMNS
from deviate.report.topics.headline import result_figure

ACCURACIES = [91.0, 90.0, 10.0, 92.0, 90.5, 91.5, math.nan, 91.2]
LOSSES = [0.3, 0.31, 2.3, 0.29, 0.32, 0.28, 0.3, 0.27]


def metric(name, direction):
    return Metric(
        name=name, variable=name, expression=name, file="t.py", line=1, end_line=1, function="<module>", sink="print",
        kind="quality", direction=direction, aggregate="last", confidence=1.0, why="", capture=Capture(how="value"),
    )  # fmt: skip


NAMES = [("test acc", 0), ("test loss", 1)]

ROWS = [
    SampleRow("algo", run, name, "last", value)
    for name, values in {"test acc": ACCURACIES, "test loss": LOSSES}.items()
    for run, value in enumerate(values)
]


def document(metrics=(), rows=ROWS, n=8, seconds=1.0, **options):
    experiment = Experiment(
        name="e", command=["python", "t.py"], entry="t.py", main_loop=None, source="", seed=3, created="",
        metrics=[metric("test acc", "higher"), metric("test loss", "lower")], planned={"algo": n},
    )  # fmt: skip
    runs = [RunResult(variant="algo", index=run, status="completed", seconds=seconds) for run in range(n)]
    chosen = SampleOptions(**options)
    known = known_metrics(experiment, NAMES, chosen)
    samples = samples_by_variant(rows, runs, known, experiment, chosen)
    return cases.said(
        Results(experiment=experiment, runs=runs, samples=samples, names=NAMES, options=chosen), chosen=metrics
    )


def test_only_the_metrics_that_are_asked_for_are_told_of_and_the_rest_is_counted():
    made = document(metrics=("test loss",))
    assert [metric.name for metric in made.variants[0].metrics] == ["test loss"]
    assert made.metrics_chosen == ["test loss"]
    assert "test loss" in made.variants[0].headline[0]
    (note,) = [warned.message for warned in made.warnings if warned.slug == "metrics-chosen"]
    assert note == "1 of 2 metrics shown, as requested; left out: test acc."
    assert not [warned for warned in document().warnings if warned.slug == "metrics-chosen"]


def test_what_was_recorded_but_not_asked_for_is_not_called_silent():
    assert document(metrics=("test loss",)).variants[0].silent == []


def test_weak_runs_are_found_by_a_metric_that_is_not_told_of():
    made = document(metrics=("test loss",), weak=(Bar("test acc", "<", 50.0),))
    assert reports(made)["test loss"]["n"] == document(weak=(Bar("test acc", "<", 50.0),)).variants[0].metrics[0].n


def test_a_metric_is_asked_for_by_its_name():
    names = ["Test acc", "loss"]
    assert [find_name(name, names) for name in ("test acc", "loss", "Test acc")] == ["Test acc", "loss", "Test acc"]
    assert document(metrics=("TEST ACC", "test loss", "test acc")).metrics_chosen == ["test acc", "test loss"]
    with pytest.raises(BadOption, match="no metric 'acc'") as caught:
        find_name("acc", names)
    assert "Test acc, loss" in caught.value.hint


def reports(made):
    return {one["name"]: one for one in cases.contract(made)["variants"][0]["metrics"]}


def test_weak_runs_leave_every_metric_and_every_number_is_given_with_them_too():
    found = reports(document(weak=(Bar("test acc", "<", 50.0),)))
    loss = found["test loss"]
    kept = [loss for place, loss in enumerate(LOSSES) if place not in (2, 6)]
    assert loss["runs"] == [0, 1, 3, 4, 5, 7]
    assert loss["sd"] == pytest.approx(np.std(kept, ddof=1), rel=1e-12)
    assert loss["including_weak"]["n"] == 8
    assert loss["including_weak"]["sd"] == pytest.approx(np.std(LOSSES, ddof=1), rel=1e-12)
    assert {left["run"]: left["weak"] for left in loss["excluded"]} == {2: True, 6: True}
    # A value that is NaN anyway is excluded as that.
    assert {left["run"]: left["weak"] for left in found["test acc"]["excluded"]} == {2: True, 6: False}


def test_weak_runs_are_said_once_and_their_statistics_below_the_table():
    made = document(weak=(Bar("test acc", "<", 50.0),))
    (said,) = [warned for warned in made.warnings if warned.slug == "weak-runs"]
    assert "run 2 and run 6" in said.message
    text = " ".join(cases.render_terminal(made).split())
    assert "with the weak runs: n 8" in text
    assert "without them: n 6" in text


def test_a_run_whose_value_is_no_number_is_not_said_to_lie_far_from_the_others():
    (far, none) = [
        warned.message for warned in document(weak=(Bar("test acc"),)).warnings if warned.slug == "weak-runs"
    ]
    assert "median" in far
    assert "its value is no number" in none
    assert "median" not in none


def test_nothing_is_weak_unasked_and_the_robust_rule_needs_no_bar():
    assert reports(document())["test loss"]["including_weak"] is None
    assert reports(document(weak=(Bar("test loss"),)))["test loss"]["runs"] == [0, 1, 3, 4, 5, 6, 7]


def test_bootstrap_intervals_are_scipys_and_the_same_each_time():
    alone = [row for row in ROWS if row.metric == "test loss"]
    first, second = (reports(document(rows=alone))["test loss"] for _ in range(2))
    assert first == second
    expected = stats.bootstrap((LOSSES,), np.mean, rng=np.random.default_rng(3), method="BCa").confidence_interval
    assert first["ci_mean_bootstrap"] == pytest.approx([expected.low, expected.high], rel=1e-9)


def test_the_finite_test_set_is_beside_the_sd():
    made = document(test_sizes={"test acc": 400}, weak=(Bar("test acc", "<", 50.0),))
    found = reports(made)["test acc"]
    share = np.mean([91.0, 90.0, 92.0, 90.5, 91.5, 91.2]) / 100
    error = 100 * math.sqrt(share * (1 - share) / 400)
    assert found["finite_test"]["standard_error"] == pytest.approx(error, rel=1e-12)
    assert found["finite_test"]["sd_in_errors"] == pytest.approx(found["sd"] / error, rel=1e-12)
    assert "only the finite test set" in " ".join(made.variants[0].footnotes)


def test_times_to_get_somewhere_are_samples():
    rows = [
        ("algo", run, "test acc", step, step * 2.0 + run, value)
        for run, values in enumerate([[0.1, 0.8, 0.9], [0.2, 0.85, 0.7], [0.1, 0.2, 0.3]])
        for step, value in enumerate(values)
    ]
    records = {name: np.array(column) for name, column in zip(RECORD_COLUMNS, zip(*rows, strict=True), strict=True)}
    bars = (Bar("test acc"), Bar("test acc", ">=", 0.8))
    reached = reach_samples(records, bars, {"test acc": "higher"})
    found = {(row.metric, row.run): row.value for row in reached}
    assert [found["iterations to best test acc", run] for run in range(3)] == [2, 1, 2]
    assert [found["seconds to test acc>=0.8", run] for run in range(2)] == [2.0, 3.0]
    assert math.isnan(found["iterations to test acc>=0.8", 2])
    made = document(rows=reached, n=3, seconds=None, reach=bars)
    listed = reports(made)
    assert listed["seconds to test acc>=0.8"]["unit"] == "s"
    assert (listed["iterations to test acc>=0.8"]["n"], listed["iterations to best test acc"]["kind"]) == (2, "speed")


def test_the_best_of_a_metric_without_a_direction_is_not_known():
    records = {name: np.array([]) for name in RECORD_COLUMNS}
    with pytest.raises(BadOption, match="no direction"):
        reach_samples(records, (Bar("kl"),), {"kl": None})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("test acc<50", Bar("test acc", "<", 50.0)),
        ("a<b >= 1e-3", Bar("a<b", ">=", 1e-3)),
        ("val loss", Bar("val loss")),
    ],
)
def test_bars_are_read(text, expected):
    assert parse_bar(text, "weak") == expected


def test_what_cannot_be_read_is_refused():
    with pytest.raises(BadOption, match="no number"):
        parse_bar("acc<", "weak")
    with pytest.raises(BadOption, match="no metric 'acc'"):
        settle_options(SampleOptions(weak=(Bar("acc"),)), ["test acc"])


def test_metrics_are_named_in_either_case():
    options = SampleOptions(weak=(Bar("test acc", "<", 50.0),), reach=(Bar("TEST ACC"),), test_sizes={"test acc": 100})
    assert settle_options(options, ["Test acc", "loss"]) == SampleOptions(
        weak=(Bar("Test acc", "<", 50.0),), reach=(Bar("Test acc"),), test_sizes={"Test acc": 100}
    )


def test_the_spread_is_set_beside_the_difference_that_is_named():
    made = document(differences={"test loss": 0.02}, weak=(Bar("test acc", "<", 50.0),))
    found = reports(made)
    beside, sd = found["test loss"]["misranking"], found["test loss"]["sd"]
    assert beside["sd_in_differences"] == pytest.approx(sd / 0.02)
    assert beside["wrong"] == pytest.approx(stats.norm.sf(0.02, scale=sd * math.sqrt(2)))
    assert beside["low"] < beside["wrong"] < beside["high"] < 0.5
    assert "misranking" not in found["test acc"]
    text = " ".join(cases.render_terminal(made).split())
    assert "If two recipes differ by 0.02 in test loss, one run of each ranks them wrongly in" in text
    weak = (Bar("test acc", "<", 50.0),)
    alone = document(metrics=("test loss",), differences={"test loss": 0.02}, weak=weak)
    figure = result_figure(alone.facts.variants[0], alone.facts)
    assert figure.scale.endswith(" of a difference of 0.02")


def test_how_often_single_runs_hide_a_difference_is_not_said_where_the_sd_describes_none():
    made = document(metrics=("test loss",), differences={"test loss": 0.02})
    (measured,) = made.variants[0].metrics
    assert (list(measured.far), measured.misranking) == ([2], None)
    text = " ".join(cases.render_terminal(made).split())
    assert "How often single runs would hide a difference of 0.02 in test loss is not said" in text


@pytest.mark.parametrize("difference", [0.0, -1.0, math.nan, math.inf])
def test_a_difference_that_is_none_is_refused(difference):
    with pytest.raises(BadOption, match="must be above 0"):
        read_options(differences={"test acc": difference})
