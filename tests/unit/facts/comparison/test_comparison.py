"""A comparison as data: what is matched, corrected, said and refused."""

import msgspec
import numpy as np
import pytest
from compared_sides import prints, side, side_metric, sides
from scipy import stats
from statsmodels.stats.multitest import multipletests

from deviate.core.errors import BadOption
from deviate.facts.comparable import pair_runs
from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.samples import SampleOptions
from deviate.observe.fingerprints import Fingerprint
from deviate.report.topics.comparison import comparison_page
from deviate.report.topics.comparison_answer import comparison_headline as headline
from deviate.report.topics.comparison_answer import several_headline
from deviate.report.topics.comparison_caveats import comparison_caveats, pairing_text
from deviate.report.topics.reasons import comparison_methods, reasons
from deviate.report.writers.terminal import render_terminal
from deviate.stats.power import planned_difference, planned_runs

pytestmark = pytest.mark.long


def compare(compared, **options):
    return compare_sides(compared, ComparisonOptions(**options), "deviate compare baseline proposed")


def warnings(comparison):
    return comparison_caveats(comparison.comparability)


def why(comparison, name="test acc", pair=0):
    return " ".join(reasons(metric(comparison, name, pair), comparison.pairs[pair], comparison))


def metric(comparison, name="test acc", pair=0):
    return next(found for found in comparison.pairs[pair].metrics if found.a.name == name)


def test_numbers_are_those_of_scipy():
    compared = sides()
    a, b = compared[0].samples[1].values, compared[1].samples[1].values
    found = metric(compare(compared))
    welch = stats.ttest_ind(a, b, equal_var=False)
    assert found.contrast.p == pytest.approx(welch.pvalue)
    assert found.contrast.tests["mann_whitney_u"].p == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue)
    assert found.contrast.difference.value == pytest.approx(np.mean(a) - np.mean(b))
    assert found.contrast.difference.interval.low == pytest.approx(welch.confidence_interval().low)
    assert (found.a.spread.mean, found.b.spread.sd) == (pytest.approx(np.mean(a)), pytest.approx(np.std(b, ddof=1)))


TIME = "time per run"


def with_f1(compared):
    """The same sides with one more metric."""
    f1 = [side_metric("f1", [value / 100 for value in each.samples[1].values[::-1]]) for each in compared]
    return [side(each.label, [*each.samples, more]) for each, more in zip(compared, f1, strict=True)]


@pytest.mark.parametrize(("correction", "method"), [("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")])
def test_what_is_claimed_what_is_explored_and_measured_times_are_corrected_apart(correction, method):
    compared = with_f1([*sides(shift=0.7), side("third", sides(seed=5)[1].samples)])
    found = compare(compared, correction=correction)
    metrics = [one for pair in found.pairs for one in pair.metrics]
    assert (found.family, found.explored_family, found.times_family) == (3, 6, 3)
    assert found.claimed == ["test acc"]
    for names in (["test acc"], ["train loss", "f1"], [TIME]):
        family = [one for one in metrics if one.name in names]
        assert {one.family for one in family} == {len(family)}
        expected = multipletests([one.contrast.p for one in family], method=method)[1]
        assert [one.p_adjusted for one in family] == pytest.approx(expected)
        spreads = multipletests([one.contrast.tests["brown_forsythe"].p for one in family], method=method)[1]
        assert [one.spread_p_adjusted for one in family] == pytest.approx(spreads)
        over_all = [one for one in found.omnibus if one.name in names]
        expected = multipletests([one.welch_anova.p for one in over_all], method=method)[1]
        assert [one.p_adjusted for one in over_all] == pytest.approx(expected)


def test_a_verdict_on_the_main_metric_does_not_depend_on_which_others_there_are():
    few, many = compare(sides(shift=1.0, seed=3)), compare(with_f1(sides(shift=1.0, seed=3)))
    assert metric(few).p_adjusted == metric(many).p_adjusted == metric(few).contrast.p
    assert metric(few).verdict == metric(many).verdict == "b better"
    assert (metric(few, "train loss").family, metric(many, "train loss").family) == (1, 2)


def test_metrics_that_are_named_are_claimed_together():
    found = compare(with_f1(sides(shift=3.0)), metrics=["test acc", "train loss"])
    assert (found.claimed, found.family, found.explored_family) == (["test acc", "train loss"], 2, 0)
    first, second = headline(found)[:2]
    assert first.startswith("proposed is better than baseline by ")
    assert "of test acc" in first or "in test acc" in first
    assert second.startswith("proposed is better than baseline by ")
    assert "in train loss" in second


def test_what_was_not_named_is_explored_and_not_claimed():
    first, second = headline(compare(sides(shift=3.0)))
    assert "proposed is better than baseline" in first
    assert second.startswith("Not claimed beforehand, also better: train loss")


@pytest.mark.parametrize(("direction", "sign"), [("higher", 1), ("lower", -1)])
def test_the_worst_run_of_the_better_side_stands_beside_the_best_of_the_other(direction, sign):
    values = [1.0, 2.0, 3.0, 4.0, 5.0], [4.0, 5.5, 6.0, 7.0, 8.0]
    compared = [
        side(label, [side_metric("x", [sign * value for value in each], direction=direction)])
        for label, each in zip("ab", values, strict=True)
    ]
    found = " ".join(reasons(metric(compare(compared), "x"), compare(compared).pairs[0], compare(compared)))
    ends = ("4.0", "5.0") if sign > 0 else ("−4.0", "−5.0")
    assert f"The worst run of b gave {ends[0]} and the best of a {ends[1]}: single runs rank the two wrongly" in found
    assert "wrongly in 1 of 25 pairs, and are equal in 1." in found
    unknown = [
        msgspec.structs.replace(each, samples=[side_metric("x", each.samples[0].values, direction=None)])
        for each in compared
    ]
    assert "The worst run" not in why(compare(unknown), "x")


def alike(variant="imported", direction="higher", names=("north", "south")):
    """Two sides with the same two metrics; the second is higher in both."""
    rng = np.random.default_rng(3)
    values = {name: rng.standard_normal(8) for name in names}
    return [
        side(
            label,
            [side_metric(name, each + 5 * place, direction=direction) for name, each in values.items()],
            variant=variant,
        )
        for place, label in enumerate(("old", "new"))
    ]


def test_of_metrics_that_stand_alike_none_is_claimed():
    for compared in (alike(), alike("algo+impl", direction=None), alike(names=("val acc", "val f1"))):
        found = compare(compared)
        assert (found.claimed, found.family, found.explored_family) == ([], 0, 2)
        first, *others = headline(found)
        assert first.startswith("Nothing is claimed: no metric stands before the others")
        assert "better" not in first
        assert f"--metric {compared[0].samples[0].name.split()[0]}" in first.replace("'", "")
        assert all(said.startswith("Not claimed beforehand, ") for said in others)
        page = " ".join(render_terminal(comparison_page(found, "screen"), 80).split())
        assert page.index("Nothing is claimed") < page.index("old")
        assert compare(compared, metrics=[compared[0].samples[0].name]).claimed
        with pytest.raises(BadOption, match="2 stand alike") as refused:
            compare(compared, until="decided")
        assert refused.value.hint.startswith("type --metric ")
    # Where one side knows which values are better, that is what tells them apart.
    first, second = alike("algo+impl", direction=None)
    known = msgspec.structs.replace(second.samples[1], direction="higher")
    half = compare([first, msgspec.structs.replace(second, samples=[second.samples[0], known])])
    assert half.claimed == ["south"]
    assert headline(half)[0].startswith("new is better than old by ")
    assert " in south" in headline(half)[0]
    # What a program reports first is what its author watches; a split or a kind tells columns apart.
    assert compare(alike("algo+impl")).claimed == ["north"]
    assert compare(alike(names=("train acc", "val acc"))).claimed == ["val acc"]
    several = [*alike(), msgspec.structs.replace(alike()[1], label="third", experiment="third")]
    assert several_headline(compare(several)).startswith("Nothing is claimed")


def test_no_side_wins_by_the_times_of_runs_that_were_not_made_in_turn():
    quick = side_metric(TIME, np.arange(8) / 100, kind="speed", unit="s", direction="lower")
    slow = side_metric(TIME, 9 + np.arange(8) / 100, kind="speed", unit="s", direction="lower")
    apart = [side("a", [quick]), side("b", [slow])]
    in_turn = [side("e:algo", [quick]), side("e:init", [slow])]
    assert (metric(compare(apart), TIME).verdict, metric(compare(apart), TIME).differs) == ("differs", True)
    (said,) = [each.message for each in comparison_caveats(compare(apart).comparability) if "alternate" in each.message]
    assert said.startswith(f"{TIME}: neither experiment is called better, since their runs did not alternate")
    assert metric(compare(in_turn), TIME).verdict == "a better"
    assert metric(compare(apart, samples=SampleOptions(directions={TIME: "lower"})), TIME).verdict == "a better"


def test_where_only_times_are_compared_theirs_is_the_family():
    found = compare(sides(), metrics=[TIME])
    assert (found.family, found.times_family) == (1, 0)


def test_the_first_sentence_says_that_p_was_adjusted_and_only_then():
    named = {"metrics": ["test acc", "train loss"]}
    assert "after Holm, 8 runs of each" in headline(compare(sides(), **named))[0]
    assert "after" not in headline(compare(sides(), correction="none", **named))[0]
    assert "after" not in headline(compare(sides()))[0]


def test_of_three_sides_each_sentence_names_its_pair():
    drawn = prints(*(f"{index}" for index in range(8)))
    a, b = sides(shift=6.0)
    a, b = side("a", a.samples, prints=drawn), side("b", b.samples, prints=drawn)
    third = side("third", [side_metric(each.name, [-9 * x for x in each.values]) for each in sides()[0].samples])
    found = compare([a, b, third])
    assert [sentence.partition(" by ")[0] for sentence in headline(found) if " by " in sentence] == [
        "b is better than a", "third is worse than a", "third is worse than b",
    ]  # fmt: skip
    assert sum(sentence.startswith("Not claimed beforehand (third against a), ") for sentence in headline(found)) == 1
    notes = [warned.message for warned in warnings(found) if warned.slug == "pairing"]
    assert notes[0].startswith("Between a and b, runs with the same index are paired: ")
    assert notes[1].startswith("Between a and third and between b and third, runs are not paired: ")
    assert set(notes) <= set(comparison_methods(found))
    unpaired = warnings(compare([*sides(), third]))
    assert next(one.message for one in unpaired if one.slug == "pairing").startswith("Between any two, runs are not")
    assert not any("Between" in warned.message for warned in warnings(compare([a, b])))
    assert headline(compare([a, b]))[1].startswith("Not claimed beforehand, also better: ")


def test_better_follows_the_direction():
    found = compare(sides(shift=3.0))
    assert {name: metric(found, name).verdict for name in ("train loss", "test acc")} == {
        "train loss": "b better",
        "test acc": "b better",
    }
    assert "proposed is better than baseline" in headline(found)[0]
    mirrored = compare(sides(shift=-3.0))
    assert metric(mirrored, "train loss").verdict == metric(mirrored, "test acc").verdict == "a better"
    assert headline(mirrored)[0].startswith("proposed is worse than baseline by ")


def test_the_runs_for_a_smaller_difference_are_those_of_a_plan():
    found = metric(compare(sides(shift=0.0)))
    known = found.sensitivity
    assert known.smaller <= known.detectable_in_unit / 2 < 2.5 * known.smaller
    assert known.runs_for_smaller == planned_runs(known.smaller / known.pooled_sd, freedom=14)


def test_the_same_trainings_under_two_names_are_an_answer_and_no_test():
    drawn = prints(*"abcdefgh")
    a, b = (side(label, sides()[0].samples, prints=drawn) for label in ("whole", "again"))
    found = compare([a, b])
    assert found.pairs[0].same_trainings == 8
    assert headline(found) == ["whole and again are the same 8 trainings: same seeds, same results."]
    screen = render_terminal(comparison_page(found, "screen"), 80)
    assert screen == "whole and again are the same 8 trainings: same seeds, same results.\n"
    # Another value, other draws, or a run that only one side has: two recipes.
    values = a.samples[1].values
    other = side("other", [a.samples[0], side_metric("test acc", [values[0] + 1e-9, *values[1:]])], prints=drawn)
    assert compare([a, other]).pairs[0].same_trainings == 0
    assert compare([a, side("c", a.samples, prints=prints(*"abcdefgx"))]).pairs[0].same_trainings == 0
    assert compare(sides()).pairs[0].same_trainings == 0


def test_several_levels_have_an_interval_each_and_one_decides():
    found = metric(compare(sides(), levels=(0.9, 0.99)))
    assert [each.level for each in found.ci_levels] == [0.9, 0.99]
    a, b = (each.samples[1].values for each in sides())
    expected = [stats.ttest_ind(a, b, equal_var=False).confidence_interval(level) for level in (0.9, 0.99)]
    assert [each.low for each in found.ci_levels] == pytest.approx([each.low for each in expected])
    paired = [side(label, each.samples, prints=prints(*"abcdefgh")) for label, each in zip("ab", sides(), strict=True)]
    within = metric(compare(paired, levels=(0.95,)))
    assert within.ci_levels == [within.contrast.difference.interval]
    screen = render_terminal(comparison_page(compare(sides(), levels=(0.9, 0.99)), "screen"), 120)
    assert all(head in screen for head in ("B − A", "90% CI", "99% CI"))


def test_exchanging_the_sides_exchanges_the_verdicts():
    compared = sides(shift=3.0)
    assert [one.verdict for one in compare(compared[::-1]).pairs[0].metrics] == [
        one.verdict.replace("b better", "a better") for one in compare(compared).pairs[0].metrics
    ]


def test_equal_recipes_show_no_difference_and_the_limit_is_told():
    compared = compare(sides(shift=0.0))
    assert metric(compared).verdict == "no difference shown"
    assert headline(compared)[0].startswith("Not shown: proposed against baseline, test acc ")
    known = metric(compared).sensitivity
    shown = planned_difference(8, freedom=14)
    assert (known.detectable, known.detectable_in_unit) == (shown, pytest.approx(shown * known.pooled_sd))
    assert "would have been seen with probability 80% (normal values, equal SDs)." in why(compared)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_few_runs_get_no_verdict_however_far_apart_and_the_number_that_would_do(n):
    found = compare(sides(n=n, shift=50.0))
    for one in found.pairs[0].metrics:
        assert one.verdict == "too few runs"
        assert one.noisier == "too few runs"
    assert "a verdict needs 5 of each" in why(found)
    if n == 3:
        assert "0.10, so it cannot reach 0.05" in why(found)


def test_a_stricter_alpha_needs_more_runs():
    assert metric(compare(sides(n=6, shift=50.0), alpha=0.001)).verdict == "too few runs"
    assert metric(compare(sides(n=7, shift=50.0), alpha=0.001)).verdict == "b better"


def test_runs_of_one_value_each_are_one_training_repeated():
    compared = [side("a", [side_metric(values=[1.0] * 8)]), side("b", [side_metric(values=[2.0] * 8)])]
    found = compare(compared)
    assert metric(found).verdict == "not compared"
    assert "nothing shows how much runs vary" in why(found)
    same = [side("a", [side_metric(values=[1.0] * 8)]), side("b", [side_metric(values=[1.0] * 8)])]
    assert metric(compare(same)).verdict == "no difference shown"


def test_margin_shows_equivalence():
    compared = sides(n=16, shift=0.0)
    found = metric(compare(compared, margins={"test acc": 1.0}))
    assert found.verdict == "equivalent"
    assert metric(compare(compared, margins={"test acc": 0.01})).verdict == "no difference shown"
    assert "not shown to differ by less than" in why(compare(compared, margins={"test acc": 0.01}))
    assert metric(compare(sides(n=3, shift=0.0), margins={"test acc": 100.0})).verdict == "too few runs"


def test_a_difference_that_does_not_matter_is_equivalent_and_told():
    found = compare(sides(n=30, shift=3.0), margins={"test acc": 5.0})
    assert (metric(found).verdict, metric(found).differs) == ("equivalent", True)
    assert "they differ, but by less than what matters" in why(found)


def test_unknown_direction_calls_nobody_better():
    values = [metric.values for metric in (sides(shift=4.0)[0].samples[1], sides(shift=4.0)[1].samples[1])]
    compared = [
        side(label, [side_metric("x", sample, direction=None)]) for label, sample in zip("ab", values, strict=True)
    ]
    found = metric(compare(compared), "x")
    assert (found.verdict, found.differs, found.higher) == ("differs", True, "b")
    assert "--set direction" in why(compare(compared), "x")
    assert "differ" in headline(compare(compared))[0]
    assert metric(compare(compared, samples=SampleOptions(directions={"x": "lower"})), "x").verdict == "a better"


def test_names_are_joined_by_match():
    a, b = sides(shift=3.0)
    renamed = side("proposed", [side_metric("accuracy", b.samples[1].values)])
    found = compare([a, renamed], matches={"test acc": "accuracy"})
    assert [(one.a.name, one.b.name) for one in found.pairs[0].metrics] == [("test acc", "accuracy")]
    with pytest.raises(BadOption, match="no metric in common"):
        compare([a, renamed])
    with pytest.raises(BadOption, match="no metric 'accurcy' in proposed"):
        compare([a, renamed], matches={"test acc": "accurcy"})
    assert any("Not compared" in warned.message for warned in warnings(found))


@pytest.mark.parametrize("asked", [{"margins": {"x": 1.0}}, {"metrics": ["x"]}])
def test_names_that_are_not_there_are_refused_with_those_that_are(asked):
    with pytest.raises(BadOption, match="no metric 'x' in baseline") as raised:
        compare(sides(), **asked)
    assert "test acc" in raised.value.hint


def test_different_aggregates_are_refused():
    compared = [side("a", [side_metric(aggregate="last")]), side("b", [side_metric(aggregate="best")])]
    with pytest.raises(BadOption, match="aggregated differently: 'last' in a, 'best' in b") as raised:
        compare(compared)
    assert "--set 'aggregate=test acc=last'" in raised.value.hint


def test_only_the_metrics_asked_for_are_corrected_for():
    found = compare(sides(), metrics=["test acc"])
    assert found.family == 1
    assert metric(found).p_adjusted == metric(found).contrast.p
    assert not any("Not compared" in warned.message for warned in warnings(found))


def test_leaving_a_metric_out_changes_no_draw_of_the_others():
    compared = sides(n=12)
    everything, alone = compare(compared), compare(compared, metrics=["test acc"])
    assert metric(everything).contrast == metric(alone).contrast


@pytest.mark.parametrize(("n", "m", "permuted"), [(5, 16, True), (8, 10, False)])
def test_unequal_numbers_of_runs_are_permuted_too(n, m, permuted):
    assert ("a permutation of the runs" in why(compare(sides(n=n, m=m)))) == permuted


def test_three_sides_are_ranked():
    a, b = sides(n=12, shift=4.0)
    third = side("third", sides(n=12, shift=8.0, seed=3)[1].samples)
    found = compare([a, b, third])
    ranked = next(one for one in found.omnibus if one.name == "test acc")
    assert [(place.name, place.rank, place.lowest, place.highest) for place in ranked.places] == [
        ("third", 1, 1, 1),
        ("proposed", 2, 2, 2),
        ("baseline", 3, 3, 3),
    ]
    values = [one.samples[1].values for one in (a, b, third)]
    assert ranked.kruskal_wallis.p == pytest.approx(stats.kruskal(*values).pvalue)
    assert ranked.p_adjusted < 0.001
    assert compare(sides()).omnibus == []


def test_pairs_are_made_only_where_fingerprints_prove_shared_draws():
    a, b = sides(n=3)
    shared = [side("a", a.samples, prints=prints("x", "y", "z")), side("b", b.samples, prints=prints("x", "y", "z"))]
    found = pair_runs(*shared, "auto")
    assert (found.indices, found.shared) == ([0, 1, 2], ["shuffle"])
    other = side("b", b.samples, prints=prints("x", "y", "w"))
    assert pair_runs(shared[0], other, "auto").indices == []
    assert pair_runs(shared[0], other, "on").indices == [0, 1, 2]
    assert "the pairing rests on your word" in pairing_text(pair_runs(shared[0], other, "on"))
    assert pair_runs(*shared, "off").indices == []
    held = [side(label, a.samples, prints=prints("x", "x", "x")) for label in "ab"]
    assert pair_runs(*held, "auto").indices == []
    assert pair_runs(a, b, "auto").indices == []


def test_runs_are_not_said_to_be_paired_where_too_few_have_a_partner():
    compared = [
        side(label, [side_metric(values=range(n))], prints=prints(*range(n))) for label, n in (("a", 8), ("b", 6))
    ]
    found = pair_runs(*compared, "auto")
    assert found.indices == []
    assert pairing_text(found).startswith("Runs are not paired: 6 of 8 runs have a partner")
    made = compare(compared).pairs[0]
    assert made.metrics[0].contrast.paired is False
    assert made.pairing == found


def imported(label, names, values):
    """An imported side: run names of the source, in its order."""
    drawn = prints(*"abcdefghijkl"[: len(names)])
    return side(label, [side_metric(values=values)], prints=drawn, labels=dict(enumerate(names)))


def test_pairs_that_were_asked_for_and_are_none_are_warned_of():
    a = imported("a", [f"seed {seed}" for seed in range(6)], [5.0, 5.4, 4.9, 5.2, 5.1, 5.3])
    b = imported("b", [f"seed {seed}" for seed in range(10, 16)], [6.0, 6.4, 5.9, 6.2, 6.1, 6.3])
    said = {
        mode: next(each for each in warnings(compare([a, b], pairing=mode)) if each.slug == "pairing")
        for mode in ("on", "auto")
    }
    assert said["on"].message == "Runs are not paired: 0 of 6 runs have a partner, which is too few."
    assert [said[mode].severity for mode in ("on", "auto")] == ["warning", "note"]


def test_imported_runs_of_one_name_are_partners_in_any_order_and_the_others_are_named_and_in_no_number():
    rng = np.random.default_rng(3)
    seeds = [3, 10, 0, 7, 5, 1, 8, 2]
    true = {seed: 90 + value for seed, value in zip(seeds, rng.standard_normal(8), strict=True)}
    a = imported("a", [f"base_s{seed}.log" for seed in seeds], [true[seed] for seed in seeds])
    kept = [seed for seed in sorted(seeds) if seed != 7]
    b = imported("b", [f"new_s{seed}.log" for seed in kept], [true[seed] + 0.1 + 0.01 * seed for seed in kept])
    made = compare([a, b], pairing="on")
    found = metric(made)
    first, second = [true[seed] for seed in kept], [true[seed] + 0.1 + 0.01 * seed for seed in kept]
    assert found.contrast.p == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert (found.a.n, found.b.n, found.contrast.n_a) == (7, 7, 7)
    assert found.a.spread.mean == pytest.approx(np.mean(first))
    assert found.contrast.difference.value == pytest.approx(found.a.spread.mean - found.b.spread.mean)
    assert found.failures.runs_a == 8
    (warning,) = (caveat for caveat in warnings(made) if caveat.slug == "no-partner")
    assert warning.message.startswith("Pairs are compared: base_s7.log of a has no partner and is in no number")
    assert "the same name in their sources" in pairing_text(made.pairs[0].pairing)


def test_a_name_that_comes_twice_is_nobodys_partner_and_names_without_a_match_leave_the_index():
    a = imported("a", ["seed 1", "seed 1", "seed 2", "seed 3"], [1.0, 2.0, 3.0, 4.0])
    b = imported("b", ["seed 3", "seed 2", "seed 1"], [4.1, 3.2, 1.5])
    assert pair_runs(a, b, "on").pairs == [(2, 1), (3, 0)]
    other = imported("c", ["red", "green", "blue"], [4.1, 3.2, 1.5])
    assert pair_runs(a, other, "on").pairs == [(0, 0), (1, 1), (2, 2)]


def test_paired_runs_are_compared_within_pairs():
    rng = np.random.default_rng(0)
    common = rng.standard_normal(8)
    values = [90 + common + 0.1 * rng.standard_normal(8) + shift for shift in (0.0, 0.3)]
    drawn = prints(*"abcdefgh")
    compared = [side(label, [side_metric(values=v)], prints=drawn) for label, v in zip("ab", values, strict=True)]
    found = metric(compare(compared))
    assert found.contrast.location.test == "paired_t"
    assert found.verdict == "b better"
    assert metric(compare(compared, pairing="off")).verdict == "no difference shown"
    assert "correlation within pairs" in why(compare(compared))
    # The paired interval: narrower than that of independent runs.
    assert found.contrast.difference.interval.high < 0


def test_remarks_tell_what_may_mislead():
    a, b = sides()
    a = side("a", [side_metric(aggregate="best", values=range(8), excluded=2)], ended=10, completed=9, assumed=True)
    b = side("b", [side_metric(aggregate="best", values=range(8))], variant="control")
    a = type(a)(**{**{f: getattr(a, f) for f in a.__struct_fields__}, "environment": {"libraries.torch": "2.13"}})
    b = type(b)(**{**{f: getattr(b, f) for f in b.__struct_fields__}, "environment": {"libraries.torch": "2.12"}})
    slugs = [warned.slug for warned in warnings(compare([a, b]))]
    assert {"variant-assumed", "variants-differ", "runs-lost", "value-excluded", "environment-differs"} <= set(slugs)
    assert {"best-biased", "pairing"} <= set(slugs)


def test_fractions_against_percent_are_not_compared():
    percent, fraction = (
        side(label, [side_metric(values=[factor * value for value in (94.1, 94.4, 93.9, 94.6, 94.0)])])
        for label, factor in (("new", 1), ("old", 0.01))
    )
    found = compare([percent, fraction])
    assert (metric(found).verdict, metric(found).differs, metric(found).higher) == ("not compared", None, None)
    assert why(found) == "One of the two looks like a fraction and the other like percent."
    (warned,) = [warned for warned in warnings(found) if warned.slug == "units-differ"]
    assert "test acc looks like a fraction in old and like percent in new: it is not compared" in warned.message
    assert "better" not in headline(found)[0]
    assert metric(compare([percent, percent])).verdict == "no difference shown"


def test_a_side_that_lost_its_worst_runs_is_not_called_better():
    values = np.random.default_rng(5).normal(90, 1, 20)
    kept = side("kept", [side_metric("test acc", sorted(values)[10:], excluded=10)])
    whole = side("whole", [side_metric("test acc", values.tolist())])
    found = compare([kept, whole])
    assert (metric(found).verdict, metric(found).higher, metric(found).survivors) == ("differs", "a", True)
    assert "kept lost more of its runs: if those are the worst of all, it is not shown to be better" in why(found)
    assert headline(found)[0].startswith("whole and kept differ by ")
    assert headline(found)[0].endswith(" runs that gave a value; neither is called better.")
    far = side("kept", [side_metric("test acc", [95.0 + k / 9 for k in range(18)], excluded=1)])
    assert headline(compare([far, whole]))[0].startswith("whole is worse than kept by ")
    assert headline(compare([far, whole]))[0].endswith(" runs that gave a value.")


def test_what_varied_on_an_imported_side_is_not_known():
    a, b = side("a", [side_metric(values=range(8))]), side("b", [side_metric(values=range(8))], variant="imported")
    said = [warned.message for warned in warnings(compare([a, b])) if warned.slug == "variants-differ"]
    assert said == ["b was imported: what varied there is not known."]


def test_a_side_whose_runs_had_other_examples_is_warned_of():
    a, b = sides(n=3)
    sets = {index: {"examples": sketched(word)} for index, word in enumerate(("abc", "abc", "xyz"))}
    facts = compare([side("a", a.samples, prints=sets), b]).comparability
    assert [each.example_sets for each in facts.sides] == [2, 1]
    assert "had 2 different sets of examples" in next(
        each.message for each in comparison_caveats(facts) if each.slug == "data-differ"
    )


def sketched(word):
    parts = {"training": list(word)}
    return Fingerprint(name="examples", digest=word, first=word, count=1, processes=1, ended=1, parts=parts)


def test_what_was_not_compared_says_why():
    values = [80.0, 81.0, 82.0, 83.0, 84.0, 85.0]
    compared = [
        side(label, [side_metric("x", [value + more for value in values])], prints=prints(*"abcdef"))
        for label, more in (("a", 0.0), ("b", 0.5))
    ]
    (sentence,) = headline(compare(compared, pairing="on"))
    assert sentence.startswith("a and b: not compared in x, as all pairs differ by exactly the same amount")
