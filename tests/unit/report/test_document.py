"""What a document says about an experiment."""

import math

import page_cases as pages
import pytest
import report_cases as cases
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from deviate.facts.samples import SampleOptions
from deviate.observe.events import EnvironmentDifference
from deviate.report.topics.comparison import comparison_page
from deviate.report.topics.experiment import experiment_page
from deviate.report.words import reproduce_text
from deviate.stats.spread import spread

ALGO = "algo+impl"


def only(document):
    (variant,) = document.variants
    return variant


def named(variant, name):
    return next(metric for metric in variant.metrics if metric.name == name)


def slugs(document):
    return [warned.slug for warned in document.warnings]


def said(document, slug):
    return " ".join(warned.message for warned in document.warnings if warned.slug == slug)


def test_the_first_sentence_tells_the_spread_of_the_test_metric():
    assert only(cases.usual()).headline == [
        "test acc 96.94 ± 0.52 (mean ± SD of 8 runs, best; 95% CI of the SD [0.29, 1.21], heavy tails allowed for). "
        "The best and the worst run differ by 1.70.",
        "Seeds varied; the files it reads and the draws that count as data were held "
        "fixed. Kernels can have no effect: pinned threads, no GPU.",
        "Of the losses and resources, train loss varies most relative to its mean (CV 8.3%) and test loss least (CV "
        "5.9%).",
        "A run took 3.25 ± 0.17 s.",
    ]


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (["train acc", "test loss", "val acc", "test acc"], "test acc"),
        (["loss", "latest acc", "valid acc"], "valid acc"),
        (["train loss", "val loss"], "val loss"),
        (["train acc", "acc"], "acc"),
    ],
)
def test_the_first_sentence_is_about_quality_on_unseen_data(names, first):
    values = {name: [0.5, 0.6, 0.7 + 0.01 * k] for k, name in enumerate(names)}
    assert only(cases.document({ALGO: values})).headline[0].startswith(f"{first} 0.6")


def test_short_times_have_the_unit_of_all_others():
    runs = [*cases.completed(ALGO, 3, [0.0009, 0.00091, 0.00093]), *cases.completed("control", 3, [3.0, 3.1, 3.2])]
    values = [96.9, 97.2, 96.1]
    document = cases.document({ALGO: {"test acc": values}, "control": {"test acc": values}}, runs=runs)
    text = cases.render_markdown(document)
    assert "| time per run (s) | | 3 | 0.000913 | 0.000015 | 1.7% | 0.000900 | 0.000930 | 0.000030 |" in " ".join(
        text.split()
    )
    assert " ms" not in text


def test_metrics_of_a_group_come_by_cv_and_those_without_come_last():
    values = {"high": [1.0, 2.0], "level": [-1.0, 1.0], "low": [1.0, 1.001], "zero": [0.0, 0.0]}
    metrics = only(cases.document({ALGO: values})).metrics
    assert [metric.name for metric in metrics] == ["high", "low", "level", "zero", "time per run"]
    assert [metric.spread.cv is None for metric in metrics] == [False, False, True, True, False]


@given(st.lists(st.floats(min_value=-1e9, max_value=1e9), min_size=1, max_size=12))
def test_the_numbers_are_those_of_the_measures(values):
    found = named(only(cases.document({ALGO: {"test acc": values}})), "test acc")
    assert found.spread == spread(values)
    assert found.values == values
    assert found.runs == list(range(len(values)))


def test_failed_runs_never_enter_a_statistic():
    runs = [*cases.completed(ALGO, 2), cases.failed(ALGO, 2)]
    document = cases.document({ALGO: {"test acc": [0.5, 0.75, 99.0]}}, runs=runs)
    found = named(only(document), "test acc")
    assert (found.n, found.spread.max) == (2, 0.75)
    (left_out,) = found.excluded
    assert (left_out.run, left_out.status, left_out.value, left_out.reason) == (2, "failed", 99.0, "the run failed")
    assert (
        said(document, "run-failed")
        == "1 of 3 runs failed (run 2); it enters no mean: the numbers are of runs that ended well."
    )
    failed = only(document).runs[2]
    assert (failed.reason, failed.stderr_tail[-1]) == ("exit status 1", "RuntimeError: the loader lost its worker")


def test_values_that_are_not_finite_are_excluded_and_counted():
    document = cases.document({ALGO: {"train loss": [0.5, math.nan, 0.25, -math.inf, None], "f1": [1.0] * 5}})
    found = named(only(document), "train loss")
    assert found.values == [0.5, 0.25]
    assert found.runs == [0, 2]
    assert [(left.run, left.value, left.reported, left.reason) for left in found.excluded] == [
        (1, None, "nan", "the value is NaN"),
        (3, None, "-inf", "the value is infinite"),
        (4, None, "", "no record of this metric"),
    ]
    assert slugs(document).count("value-excluded") == 3
    assert "NaN in run 1; excluded, so n is 2 there" in said(document, "value-excluded")


def test_best_without_a_direction_is_excluded_with_that_reason():
    metric = cases.metric("score", direction=None, aggregate="best")
    document = cases.document({ALGO: {"score": [math.nan, math.nan]}}, metrics=[metric])
    reasons = {left.reason for left in named(only(document), "score").excluded}
    assert reasons == {"no direction is known, so no value is the best"}


def test_a_metric_without_any_record_is_named_with_its_line():
    document = cases.troubled()
    assert [variant.silent for variant in document.variants] == [["test f1"], ["test f1"]]
    assert "test f1 (engine.py:88)" in said(document, "metric-silent")
    assert slugs(document).count("metric-silent") == 1


def test_a_metric_that_only_failed_runs_recorded_is_silent():
    runs = [*cases.completed(ALGO, 2), cases.failed(ALGO, 2)]
    values = {"test acc": [0.5, 0.6, None], "test f1": [None, None, 0.5]}
    assert only(cases.document({ALGO: values}, runs=runs)).silent == ["test f1"]


def test_series_with_names_made_at_run_time_belong_to_their_metric():
    metric = cases.metric("{split} acc", file="engine.py", line=7)
    values = {"test acc": [0.5, 0.6], "val acc": [0.7, 0.8]}
    document = cases.document({ALGO: values}, metrics=[metric], names=[("test acc", 0), ("val acc", 0)])
    assert only(document).silent == []
    assert [named(only(document), name).site for name in values] == ["engine.py:7"] * 2


def test_one_metric_may_be_given_under_two_aggregates():
    values = {ALGO: {"test acc": [0.5, 0.6]}}
    rows = cases.sample_rows(values, cases.completed(ALGO, 2), {"test acc": "best"})
    rows += [row._replace(aggregate="last") for row in rows if row.metric == "test acc"]
    found = [metric.aggregate for metric in only(cases.document(values, rows=rows)).metrics]
    assert sorted(found) == ["best", "last", "last"]


def test_times_have_a_cv_however_large():
    times = [
        cases.RunResult(variant=ALGO, index=k, status="completed", seconds=s) for k, s in enumerate([1.0, 1.0, 9.0])
    ]
    document = cases.document({ALGO: {"test loss": [1.0, 1.0, 9.0]}}, runs=times)
    assert named(only(document), "time per run").spread.cv > 1
    assert named(only(document), "test loss").spread.cv is None


def test_times_are_metrics_too():
    found = named(only(cases.usual()), "time per run")
    assert (found.unit, found.kind, found.direction, found.n) == ("s", "speed", "lower", 8)


def test_one_run_knows_no_spread():
    document = cases.single()
    assert only(document).headline == ["test acc 97.2 (one run, best). How much runs differ shows from two runs on."]
    assert named(only(document), "test acc").ci_sd.reason == "an interval needs two runs or more"


def answered(document):
    """Return the blocks of the answer of a page."""
    sections = experiment_page(document.facts, "full").sections
    return next(section for section in sections if section.slug == "answer").blocks


def first_answer(document):
    """Return what the page says of the main metric."""
    return answered(document)[0].leading.blocks[0]


def test_the_key_figure_has_the_main_metric_and_every_run():
    figure = first_answer(cases.usual()).figure
    assert (figure.label, figure.text) == ("test acc", "96.94 ± 0.52")
    assert figure.basis == "mean ± SD of 8 runs, best; 95% CI in brackets"
    assert figure.beside == ["mean [96.50, 97.37]", "SD [0.29, 1.21]", "range 1.70"]
    assert (figure.low, figure.high) == ("96.10", "97.80")
    places = {name: place for name, place, _ in figure.runs}
    assert places["run 2"] == 0
    assert places["run 3"] == 1
    assert places["run 1"] == pytest.approx((97.2 - 96.1) / (97.8 - 96.1))
    alone = first_answer(cases.single()).figure
    assert (alone.label, alone.text, alone.basis, alone.runs) == ("test acc", "97.2", "one run, best", [])
    same = first_answer(cases.identical()).figure
    assert "exactly equal in" in same.basis
    assert "±" not in same.text


def test_a_page_without_a_number_begins_with_a_badge_and_what_the_runs_printed():
    answer, *why = answered(cases.none_completed())
    assert (answer.badge.text, answer.badge.emphasis) == ("no run completed", "bad")
    assert why
    assert answered(cases.all_nan())[0].badge.text == "no finite value"


def test_what_a_machine_does_not_have_is_not_listed():
    facts = cases.usual().facts
    reproduce = structs.replace(facts.reproduce, environment={"python": "3.11", "gpu": "None"})
    page = experiment_page(structs.replace(facts, reproduce=reproduce), "full")
    (fold,) = [block for block in page.sections[-1].blocks if getattr(block, "title", "") == "How to reproduce"]
    pairs = dict(fold.blocks[1].pairs)
    assert pairs["python"] == "3.11"
    assert "gpu" not in pairs


def test_a_page_of_three_experiments_begins_with_one_sentence():
    compared = comparison_page(pages.ranked(), "full")
    answer, *_ = next(section for section in compared.sections if section.slug == "answer").blocks
    assert len(answer.sentences) == 1
    assert compared.title == "baseline, proposed and third"


def test_best_of_the_epochs_is_said_to_look_too_good():
    assert "taken for test acc:" in said(cases.usual(), "best-biased")
    last = cases.document({ALGO: {"test loss": [0.5, 0.6]}})
    assert "best-biased" not in slugs(last)


def test_identical_control_runs_are_a_finding():
    document = cases.identical("control", 3)
    assert "runs-identical" not in slugs(document)
    assert only(document).headline[:2] == [
        "test acc was exactly 97.2222 in all 3 runs (best).",
        "Everything was held fixed.",
    ]


def test_identical_runs_that_were_to_vary_are_a_warning():
    document = cases.identical(ALGO, 3)
    (warned,) = [warned for warned in document.warnings if warned.slug == "runs-identical"]
    assert warned.severity == "warning"
    assert "No draw was seen that varies between them." in warned.message


def test_control_runs_that_differ_are_told_with_the_metrics():
    document = cases.document({"control": {"test acc": [0.5, 0.5], "test loss": [0.1, 0.2]}})
    assert "1 of 2 metrics differs between runs: test loss" in said(document, "control-differs")


def test_a_coarse_metric_under_varying_seeds_is_noted():
    document = cases.document({ALGO: {"test acc": [0.5, 0.5], "test loss": [0.1, 0.2]}})
    assert "The same value in all runs although seeds vary: test acc (best)." in said(document, "metric-identical")


def test_of_runs_with_the_programs_own_seeds_it_is_not_said_that_seeds_vary():
    document = cases.document({"as-is": {"test acc": [0.5, 0.5], "test loss": [0.1, 0.2]}})
    assert "seeds vary" not in said(document, "metric-identical")
    assert "The same value in all runs: test acc (best); not so the other metrics." in said(
        document, "metric-identical"
    )


def test_what_varied_and_what_was_held_is_said_for_each_variant():
    variants = {name: {"test acc": [0.5, 0.6]} for name in (ALGO, "control", "as-is")}
    runs = [*cases.proven(ALGO, 2), *cases.proven("control", 2), *cases.completed("as-is", 2)]
    varied, fixed, untouched = (variant.factors for variant in cases.document(variants, runs=runs).variants)
    assert any("data order" in item for item in varied.varied)
    assert any("count as data" in item for item in varied.held)
    assert fixed.varied == []
    assert any("data order" in item for item in fixed.held)
    assert "own seeds were left alone" in " ".join(untouched.caveats)
    assert untouched.gloss == "the program as it is"
    # Weights that a checkpoint gives are the same in all runs, whatever was drawn before.
    resumed = [structs.replace(run, prints=cases.prints(ALGO, run.index, init="loaded")) for run in runs[:2]]
    loaded = only(cases.document({ALGO: {"test acc": [0.5, 0.6]}}, runs=resumed)).factors
    assert ("initialisation" in loaded.varied, "initialisation" in loaded.held) == (False, True)
    # Without a fingerprint nothing shows that anything was drawn.
    assert only(cases.document({ALGO: {"test acc": [0.5, 0.6]}})).factors.varied == ["not known"]


def test_a_caveat_of_one_variant_among_several_names_it():
    variants = {name: {"test acc": [0.5, 0.6]} for name in (ALGO, "control", "init", "as-is")}
    page = cases.render_terminal(cases.document(variants), width=400)
    assert "the program as it is: The program's own seeds were left alone" in page
    alone = cases.render_terminal(cases.document({"as-is": {"test acc": [0.5, 0.6]}}), width=400)
    assert "as it is: The" not in alone
    assert "The program's own seeds were left alone" in alone


def test_thread_counts_are_called_held_only_where_they_were_pinned_alike():
    assert "threads (1)" in only(cases.usual()).factors.held
    runs = [cases.RunResult(variant=ALGO, index=k, status="completed", threads=k + 1) for k in range(2)]
    held = only(cases.document({ALGO: {"test acc": [0.5, 0.6]}}, runs=runs)).factors.held
    assert not any("threads" in item for item in held)


def test_no_completed_run_leaves_nothing_to_measure():
    assert only(cases.none_completed()).headline == [
        "No run of algo+impl completed (2 failed): there is nothing to measure."
    ]
    assert only(cases.not_started()).planned == 4
    assert "0 of 4 planned runs have ended" in said(cases.not_started(), "runs-missing")


def test_no_finite_value_leaves_nothing_to_say_but_the_time():
    first, *rest = only(cases.all_nan()).headline
    assert first == "3 runs of algo+impl completed, but no metric has a finite value in any of them."
    assert rest == ["A run took 3.070 ± 0.070 s."]


def test_runs_that_reported_nothing_are_said_to_have_reported_no_metric():
    document = cases.document({ALGO: {}}, runs=cases.completed(ALGO, 3))
    assert only(document).headline[0] == "3 runs of algo+impl completed and reported no metric."


def test_the_one_metric_that_was_chosen_leads_also_where_the_clock_measures_it():
    values = {"test acc": [0.5, 0.6, 0.7], "time per run": [3.0, 3.5, 4.0]}
    document = cases.document({ALGO: values}, chosen=["time per run"])
    assert only(document).headline[0].startswith("time per run 3.50 ± 0.50 s (mean ± SD of 3 runs")
    both = cases.document({ALGO: values}, chosen=["time per run", "test acc"])
    assert only(both).headline[0].startswith("test acc ")


def test_runs_on_different_machines_are_flagged():
    assert "Runs differ in torch: 2.13 (algo+impl-0) and 2.12 (control-0)" in said(
        cases.troubled(), "environment-differs"
    )


def test_differences_between_the_same_runs_are_said_together():
    parts = {"1": ["algo+impl-0", "algo+impl-1"], "2": ["algo+impl-2"]}
    differences = [
        EnvironmentDifference(variant=ALGO, name=name, values=parts) for name in ("cores", "threads", "OMP_NUM_THREADS")
    ]
    document = cases.document({ALGO: {"test acc": [0.5, 0.6, 0.7]}}, differences=differences)
    assert [each.message for each in document.warnings if each.slug == "environment-differs"] == [
        "Runs differ in cores: 1 (algo+impl-0 and algo+impl-1) and 2 (algo+impl-2). They are not identical runs in "
        "that respect. The same runs differ in threads and OMP_NUM_THREADS."
    ]


def test_warnings_come_before_notes():
    severities = [warned.severity for warned in cases.troubled().warnings]
    assert severities == sorted(severities, reverse=True)
    assert set(severities) == {"warning", "note"}


def test_a_remark_on_every_variant_is_made_once():
    best = [warned for warned in cases.troubled().warnings if warned.slug == "best-biased"]
    assert [warned.variant for warned in best] == [None]


def test_the_resolution_of_a_known_test_set_is_given():
    document = cases.document(
        {ALGO: {"test acc": [90.0, 90.5, 89.5]}}, options=SampleOptions(test_sizes={"test acc": 400})
    )
    assert named(only(document), "test acc").resolution.standard_error == pytest.approx(1.5)
    assert "one of 400 test examples is worth 0.25" in " ".join(only(document).footnotes)


def test_the_level_reaches_intervals_and_sentences():
    document = cases.document({ALGO: {"test acc": [0.5, 0.6, 0.9]}}, level=0.8)
    assert named(only(document), "test acc").ci_sd.level == 0.8
    assert "80% CI of the SD" in only(document).headline[0]


def test_the_clock_is_given():
    assert cases.usual().generated == "2026-03-01T12:30:00+00:00"


def test_how_to_reproduce_is_a_line_for_the_shell():
    reproduce = cases.usual().reproduce
    assert (
        reproduce.command
        == "deviate run -n 8 --vary algo+impl --name digits_mlp --seed 0 -- python train.py --epochs 10"
    )
    assert reproduce.environment == {"deviate": "0.1.0", "python": "3.11.7", "torch": "2.13.0+cpu"}


def test_the_line_for_the_shell_keeps_breaks_and_blanks_of_an_argument():
    facts = cases.usual().facts
    definition = structs.replace(facts.definition, command=["python", "train.py", "two\nlines", "two  blanks"])
    line = reproduce_text(structs.replace(facts, definition=definition))
    assert line.endswith(r" -- python train.py $'two\nlines' $'two \x20blanks'")


def test_runs_that_diverged_are_named_in_the_first_sentences_with_what_leaves_them_out():
    values = {"train loss": [0.5, math.nan, 0.25, math.inf], "test acc": [91.0, 10.0, 92.0, 10.0]}
    said = cases.document({ALGO: values}).variants[0].headline
    assert said[2] == (
        "2 of 4 completed runs ended with a train loss that is not finite (run 1 and run 3); "
        "their test acc still counts, which --set 'weak=train loss' changes."
    )
    alone = cases.document({ALGO: {"train loss": values["train loss"]}}).variants[0].headline
    assert alone[2].endswith("(run 1 and run 3).")
    assert not any(
        "no number" in line for line in cases.document({ALGO: {"train loss": [0.5, 0.4]}}).variants[0].headline
    )


def test_exclusions_that_are_alike_are_said_once():
    values = {"train loss": [0.5, math.nan, 0.25], "val loss": [0.6, math.nan, 0.3], "f1": [0.8, 0.9, 0.7]}
    said = [each.message for each in cases.document({ALGO: values}).warnings if each.slug == "value-excluded"]
    assert said == ["val loss and train loss: the value is NaN in run 1; excluded, so n is 2 there."]


def test_a_run_that_is_chosen_shows_its_outcome_values_command_and_log():
    page = experiment_page(cases.troubled().facts, "full")
    cards = {card.name: dict(card.facts) for card in page.runs}
    assert {facts["Outcome"].split()[0] for facts in cards.values()} >= {"completed", "failed"}
    assert all(facts["Command"] and facts["Whole log"].endswith(name) for name, facts in cards.items())
    assert any(" (" in text for facts in cards.values() for name, text in facts.items() if name == "train loss")
    assert experiment_page(cases.troubled().facts, "screen").runs == []
