"""Which source is said to make runs differ most, and the table and the bars of what varied."""

import numpy as np
import pytest
import report_cases as cases
from msgspec import structs

from deviate.core.factors import SEEDED
from deviate.facts.proof import Evidence
from deviate.facts.sources import source_of
from deviate.report.page import Bars, Sentences, Table
from deviate.report.topics.sources import sources_blocks, sources_sentence, sources_table, why_blocks
from deviate.report.topics.sources_figure import rounded_ticks, source_rows, sources_figures
from deviate.stats.intervals import Interval
from deviate.stats.pairs import Estimate

N = 12


def values(sd, seed=0, n=N):
    """Values whose SD is exactly `sd`."""
    drawn = np.random.default_rng(seed).normal(size=n)
    return (90 + sd * (drawn - drawn.mean()) / drawn.std(ddof=1)).tolist() if sd else [90.0] * n


def varied(found=(), n=N, **sds):
    """The facts about variants with these SDs; of those in `found` fingerprints show what they drew."""
    names = {name.replace("_", "+"): sd for name, sd in sds.items()}
    metrics = {name: {"test acc": values(sd, seed, n)} for seed, (name, sd) in enumerate(names.items())}
    facts = cases.document(metrics).facts
    shown = dict(found)
    return structs.replace(
        facts,
        variants=[
            structs.replace(variant, without_noise=True, threads=[1], evidence=_evidence(variant.variant, shown))
            for variant in facts.variants
        ],
        across=[
            structs.replace(
                table, rows=[structs.replace(row, is_drawn=shown.get(row.variant) != "absent") for row in table.rows]
            )
            for table in facts.across
        ],
    )


def _evidence(name, found):
    meant = "varies" if name in SEEDED else "held"
    return [Evidence(name=name, meant=meant, found=found[name], groups=[])] if name in found else []


def said(facts):
    return " ".join(sources_sentence(facts.across[0], facts))


def test_a_source_that_can_be_told_from_the_next_explains_most():
    text = said(varied(algo_impl=6.0, init=5.0, shuffle=0.5, control=0.0))
    assert text.startswith("Initialisation explains most: alone 69% [")
    assert text.endswith("of the variance of everything.")


def test_sources_that_cannot_be_told_apart_do_not_stand_out():
    facts = varied(algo_impl=2.0, init=1.1, shuffle=1.0, control=0.0)
    assert said(facts) == "No single source stands out: alone, each of two gives 50 to 55% of the SD of everything."
    sentence, bars, _ = why_blocks(facts)
    assert sentence.sentences[0].endswith(
        "(30% of the variance), data order 50%; 12 runs do not show which matters most."
    )
    assert isinstance(bars, Bars)
    assert [bar.text for bar in bars.bars] == ["", "", "", "0"]


@pytest.mark.parametrize(("low", "more"), [(0.027, True), (0.024, False)])
def test_a_source_that_changes_more_answers_than_the_one_with_the_largest_sd_is_named(monkeypatch, low, more):
    known = {"init": (0.016, 0.023, 0.025), "shuffle": (low, 0.033, 0.045)}

    def churn_of(variant, facts):
        ends = known.get(variant.variant)
        if ends is None:
            return None
        return Estimate(value=ends[1], interval=Interval(low=ends[0], high=ends[2], level=0.95, method="jackknife"))

    monkeypatch.setattr("deviate.report.topics.sources.churn_of", churn_of)
    facts = varied(algo_impl=2.0, init=1.1, shuffle=1.0, control=0.0)
    sentence = "Data order changes more answers than initialisation: churn 3.3% [2.7, 4.5] and 2.3% [1.6, 2.5]."
    assert (sentence in said(facts)) == more
    assert (sentence in " ".join(why_blocks(facts)[0].sentences)) == more


def test_one_source_alone_explains_it():
    assert said(varied(algo_impl=1.0, init=1.0, shuffle=0.0)) == (
        "Initialisation explains it: the others have no effect in these runs."
    )


def test_runs_of_control_that_differ_come_before_all_else():
    facts = varied(algo_impl=1.0, init=1.0, control=0.5)
    assert facts.across[0].broken == "control"
    assert said(facts).startswith("Something Deviate does not control makes runs differ.")
    assert "stands out" not in said(facts)


def test_without_sources_alone_the_sds_are_said():
    assert said(varied(algo_impl=1.25, algo=0.5, control=0.0)) == "Of the SD of everything: training's draws alone 40%."
    assert (
        said(varied(init=0.5, shuffle=0.4))
        == "Initialisation alone: SD 0.50; these runs do not show which matters most."
    )
    assert said(varied(impl=0.0, control=0.0)) == "test acc: all runs of each kind are equal."


def test_everything_comes_first_and_control_last():
    facts = varied({"augment": "absent"}, control=0.0, shuffle=0.5, augment=0.0, init=1.0, impl=0.0, algo_impl=0.8)
    rows = source_rows(facts.across[0], facts)
    assert [(row.name, row.inner) for row in rows if not row.folded] == [
        ("everything", False),
        ("initialisation", True),
        ("data order", True),
        ("nothing (control)", False),
    ]
    assert {row.name: row.folded for row in rows if row.folded} == {
        "augmentation": "none seen in these runs",
        "kernels only": "no effect possible: 1 thread, no GPU",
    }
    assert sources_table(facts.across[0], facts).folded == [(row.name, row.folded) for row in rows if row.folded]


def test_the_same_runs_under_two_names_are_folded():
    facts = varied(algo_impl=1.0, algo=1.0, control=0.0)
    same = structs.replace(facts.variants[1], metrics=facts.variants[0].metrics)
    facts = structs.replace(facts, variants=[facts.variants[0], same, facts.variants[2]])
    (row,) = [row for row in source_rows(facts.across[0], facts) if row.folded]
    assert (row.name, row.folded) == ("training's draws", "same runs as everything, as kernels have no effect here")


def test_columns_without_a_value_are_left_out_with_what_to_type():
    facts = varied(algo_impl=1.0, init=1.0)
    table = sources_table(facts.across[0], facts)
    assert [column.head for column in table.columns] == ["what varied", "mean", "SD", "range"]
    assert table.notes == []
    weights = Evidence(name="weights", meant="varies", found="varied", groups=[["init-0"], ["init-1"]])
    seen = structs.replace(facts, variants=[structs.replace(each, evidence=[weights]) for each in facts.variants])
    assert sources_table(seen.across[0], seen).notes == ["L2, CKA: run with --weights final --predictions scores"]


def test_what_runs_leave_open_is_said():
    *_, notes = why_blocks(varied(algo_impl=1.0, init=0.9, shuffle=0.8))
    assert isinstance(notes, Sentences)
    assert notes.sentences == ["Alone they add to 145% of the variance. To tell 0.90 from 0.80: over 100 runs each."]


def test_the_figure_has_a_point_for_each_row_and_words_for_the_folded_ones():
    (figure,) = sources_figures(varied(algo_impl=1.0, init=0.9, impl=0.0, control=0.0))
    data = figure.spec["datasets"]
    assert [row["variant"] for row in data["points"]] == ["everything", "initialisation", "nothing (control)"]
    assert [row["whole"] for row in data["points"]] == [True, False, False]
    assert [row["text"] for row in data["folded"]] == ["no effect possible: 1 thread, no GPU"]
    assert "kernels only: no effect possible" in figure.description


@pytest.mark.parametrize(("most", "ticks"), [(1.82, [0, 0.5, 1, 1.5]), (6.8, [0, 2, 4, 6]), (0.0, [0])])
def test_ticks_are_round(most, ticks):
    assert rounded_ticks(most) == pytest.approx(ticks)


def test_only_one_factor_alone_is_a_source():
    assert [source_of(name) for name in ("init", "impl")] == ["init", "impl"]
    assert {source_of(name) for name in ("algo", "init,shuffle", "control", "as-is", "bit", "platform", "other?")} == {
        ""
    }


def test_runs_of_control_are_said_to_be_equal():
    document = cases.sources()
    (table,) = [block for block in sources_blocks(document.facts) if isinstance(block, Table)]
    assert "Control is bit-identical: 4 runs, 240 values and the final weights." in table.notes


def test_what_could_not_vary_is_said_below_the_bars():
    *_, notes = why_blocks(varied(algo_impl=1.0, init=0.9, impl=0.0))
    assert "Kernels only: no effect possible (1 thread, no GPU)." in notes.sentences


def test_few_runs_do_not_say_that_no_source_stands_out():
    assert said(varied(algo_impl=1.0, init=1.0, shuffle=0.01, n=3)) == (
        "Of the SD of everything: initialisation alone 100% and data order alone 1%; too few runs to say which matters "
        "most."
    )
