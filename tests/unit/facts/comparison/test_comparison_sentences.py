"""What a comparison says, and under which condition."""

import re
from pathlib import Path

import numpy as np
import pytest
from compared_sides import prints, side, side_metric, sides
from msgspec import structs

from deviate.facts.comparable import EnvironmentDiffers
from deviate.facts.compared_metric import TRUE_SHARE
from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.report.topics.comparison_answer import comparison_headline, next_hints
from deviate.report.topics.comparison_caveats import comparison_caveats, pairing_text
from deviate.report.topics.reasons import comparison_methods, omnibus_text, reasons, spread_reasons
from deviate.stats.power import shown_errors

pytestmark = pytest.mark.long

RNG = np.random.default_rng(3)
NOISE = RNG.standard_normal(40)


def compared(a, b, *, metric=None, **options):
    """Compare two lists of accuracies; `metric` changes what is known of the metric."""
    made = [side(label, [side_metric("test acc", values, **(metric or {}))]) for label, values in (("A", a), ("B", b))]
    return compare_sides(made, ComparisonOptions(**options), "deviate compare A B")


def why(comparison):
    (pair,) = comparison.pairs
    return " ".join(reasons(pair.metrics[0], pair, comparison))


def spread_why(comparison):
    (pair,) = comparison.pairs
    return " ".join(spread_reasons(pair.metrics[0], pair, comparison))


def standard(n, start=0):
    """Return `n` values of mean 0 and SD 1."""
    values = NOISE[start : start + n]
    return (values - values.mean()) / values.std(ddof=1)


NEAR = "The difference is smaller than those that so many runs show reliably: if the true one is half as large"


def test_a_difference_near_the_limit_of_detection_says_how_wrong_it_may_be():
    near = compared(standard(5), standard(5, 8) + 1.6)
    (metric,) = near.pairs[0].metrics
    assert metric.verdict == "b better"
    expected = shown_errors(TRUE_SHARE * 1.6, 5, 5)
    assert metric.near_limit.exaggeration == pytest.approx(expected.exaggeration)
    assert (
        f"{NEAR}, what they show is {expected.exaggeration:.1f} times too large on average, and of the wrong sign in"
        in why(near)
    )
    assert f"{100 * expected.wrong_sign:.2g}% of cases (type M and type S errors, normal values)" in why(near)
    # So many runs show such a difference reliably; and of one that is not shown nothing is said of its sign.
    far = compared(standard(16), standard(16, 20) + 1.6)
    assert far.pairs[0].metrics[0].near_limit is None
    assert NEAR not in why(far) + why(compared(standard(5), standard(5, 8) + 0.5))
    equivalent = compared(standard(5), standard(5, 8) + 1.6, margins={"test acc": 9.0})
    assert equivalent.pairs[0].metrics[0].verdict == "equivalent"
    assert NEAR not in why(equivalent)


def test_unequal_sds_are_doubted_by_the_figures_of_the_table():
    tables = Path(__file__).parents[4] / "benchmarks" / "statistics" / "tables"
    document = (tables / "comparisons.md").read_text()
    table = document.partition("### False alarms, first SD 3 times as large (%)")[2].partition("###")[0]
    rows = [line.split("|") for line in table.splitlines() if "skewed" in line and "**Welch t**" in line]
    figures = [float(cell) for row in rows for cell in row[3:-1]]
    assert len(figures) == 8
    text = why(compared(standard(8), 2.1 * standard(8, 8)))
    assert f"false alarms at a level of 5% were {min(figures):.0f} to {max(figures):.0f}%, and more where" in text
    assert "one SD 3 times the other" not in why(compared(standard(8), 1.1 * standard(8, 8)))


@pytest.mark.parametrize(("n", "alpha", "said"), [(14, 0.05, True), (15, 0.05, False), (14, 0.1, False)])
def test_twice_the_sd_is_said_to_be_missed_only_where_it_is(n, alpha, said):
    text = spread_why(compared(standard(n), 1.1 * standard(n, 20), alpha=alpha))
    assert ("With fewer than 15 runs of each, even a doubled SD is missed more often than not." in text) is said


def test_a_side_fewer_runs_than_a_verdict_needs():
    assert why(compared(standard(3), standard(3, 5))).startswith("3 against 3 runs: a verdict needs 5 of each.")
    assert "3 against 3 runs: a verdict needs 5 of each." in spread_why(compared(standard(3), standard(3, 5)))


def test_values_that_do_not_vary_are_named_as_such():
    assert why(compared([90.0] * 6, [90.0] * 6)) == "All runs compared gave exactly the same value."
    apart = why(compared([90.0] * 6, [91.0] * 6))
    assert apart == (
        "Nothing could be tested: the runs of each gave exactly the same value, so nothing shows how much runs "
        "vary. Such runs show no random variation; compare variants in which seeds vary."
    )
    said = comparison_headline(compared([90.0] * 6, [91.0] * 6))[0]
    assert said == "All runs of A gave one value and all runs of B another: that is no noise, and nothing to test."
    assert "too few" not in said
    acc, losses = side_metric("test acc", [90.0] * 6), (1 + NOISE[:6], 1 + NOISE[6:12])
    made = [
        side(label, [acc, side_metric("test loss", loss, kind="loss")])
        for label, loss in zip("AB", losses, strict=True)
    ]
    alike = compare_sides(made, ComparisonOptions(), "deviate compare A B")
    assert comparison_headline(alike)[0] == "test acc is the same in all runs of A and of B."
    assert next_hints(alike.pairs[0], alike)[0].command == "deviate compare A B --metric 'test loss'"
    for variant, few in (("control", False), ("algo+impl", True)):  # equal runs of which nothing varies stay equal
        held = [side(label, [side_metric(values=[at] * 2)], variant=variant) for label, at in (("A", 90), ("B", 91))]
        pairs = compare_sides(held, ComparisonOptions(), "deviate compare A B")
        assert (comparison_headline(pairs)[0] == said) is not few
        assert (pairs.pairs[0].metrics[0].verdict == "too few runs") is few
    digests = [str(index) for index in range(6)]
    made = [side(label, [side_metric("test acc", standard(6))], prints=prints(*digests)) for label in ("A", "B")]
    pairs = compare_sides(made, ComparisonOptions(pairing="on"), "deviate compare A B")
    assert why(pairs) == "The two runs of each pair gave exactly the same value."


def test_equal_means_and_ties():
    mirrored = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert "The means are equal." in why(compared(mirrored, [2.0, 1.0, 4.0, 3.0, 6.0, 5.0]))
    tied = why(compared([1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 6.0, 7.0, 8.0, 9.0]))
    assert ", ties counted half." in tied
    assert "ties" not in why(compared(standard(6), standard(6, 8) + 9))


def test_runs_far_from_the_others_are_said_before_the_means():
    headline = comparison_headline(compared([*(90 + standard(7)), 10.0], 90 + standard(8, 8)))[0]
    far = "1 run of A (10.0) lies far from the others: mean and SD describe no typical run; the median is 90"
    assert far in headline
    assert "far from" not in headline.replace(far, "")
    both = comparison_headline(compared([*(90 + standard(9)), 10.0, 11.0], [*(90 + standard(9, 9)), 9.0]))[0]
    assert "2 runs of A (10 and 11) lie far" in both
    assert "1 run of B (9) lies far" in both


def test_a_shown_difference_that_is_short_of_what_matters_is_said_to_be():
    many = np.random.default_rng(1).standard_normal((2, 400))
    small = why(compared(many[0], many[1] + 0.3))
    assert ", short of the 75% that is taken to matter" in small
    assert "short of" not in why(compared(standard(8), standard(8, 8) + 3))


def test_a_margin_within_which_nothing_can_be_tested():
    text = why(compared([90.0, 90.5] * 3, [90.0, 90.5] * 3, margins={"test acc": 0.5}))
    assert "Two one-sided tests: the means differ by less than 0.5" in text


def test_an_unknown_direction_is_asked_for():
    text = why(compared(standard(8), standard(8, 8) + 3, metric={"direction": None}))
    assert (
        "A difference is shown, but the direction of test acc is unknown, so neither is called better: add "
        "--set 'direction=test acc=higher' (or lower)." in text
    )


def test_a_run_of_the_better_side_beats_one_of_the_other_whichever_values_are_better():
    said = "A run of B beats a run of A in 100% of cases ["
    assert said in why(compared(standard(8), standard(8, 8) + 9))
    assert said in why(compared(standard(8), standard(8, 8) - 9, metric={"direction": "lower"}))
    mirrored = why(compared(standard(8) + 9, standard(8, 8)))
    assert "A run of A beats a run of B in 100% of cases [" in mirrored
    assert "beats" not in why(compared(standard(8), standard(8, 8) + 9, metric={"direction": None}))
    assert "beats" not in why(compared(standard(8), standard(8, 8)))


def test_environments_that_differ_are_named():
    comparison = compare_sides(sides(), ComparisonOptions(), "deviate compare")
    part = EnvironmentDiffers(name="gpu.names", values={"baseline": "A100", "proposed": "H100"})
    facts = structs.replace(comparison.comparability, environments=[part])
    assert (
        "Made in different environments: GPU A100 in baseline and H100 in proposed. This may explain a difference."
        in [caveat.message for caveat in comparison_caveats(facts)]
    )


def test_best_values_look_better_whichever_direction_is():
    comparison = compared(standard(6), standard(6, 8), metric={"aggregate": "best", "direction": "lower"})
    messages = " ".join(caveat.message for caveat in comparison_caveats(comparison.comparability))
    assert "it is optimistic, and more so for the noisier experiment" in messages


def test_why_runs_are_not_paired():
    digests = [str(index) for index in range(8)]
    a = side("A", [side_metric("test acc", standard(8))], prints=prints(*digests))
    later = {index + 5: made for index, made in prints(*map(str, range(5, 13))).items()}
    partly = side("B", [side_metric("test acc", standard(8, 8), runs=list(later))], prints=later)
    comparison = compare_sides([a, partly], ComparisonOptions(), "deviate compare A B")
    text = pairing_text(comparison.comparability.pairings[0])
    assert text == "Runs are not paired: 3 of 8 runs have a partner, which is too few."
    shared = side("B", [side_metric("test acc", standard(8, 8))], prints=prints(*digests))
    comparison = compare_sides([a, shared], ComparisonOptions(pairing="on"), "deviate compare A B")
    text = pairing_text(comparison.comparability.pairings[0])
    drew = "checksums show that both drew the same random numbers for data order"
    assert text == f"Runs with the same index are paired, as asked; {drew}."


def test_uncorrected_tests_and_places_are_said_to_be():
    three = [*sides(), side("third", sides(seed=5)[1].samples)]
    none = compare_sides(three, ComparisonOptions(correction="none"), "deviate compare")
    assert "of means are not corrected for their number." in " ".join(comparison_methods(none))
    assert "With no correction the places do not hold all together" in omnibus_text(none.omnibus[0], none)
    holm = compare_sides(three, ComparisonOptions(), "deviate compare")
    assert "hold together at 95% confidence" in omnibus_text(holm.omnibus[0], holm)
    assert all("p = " in text or "p < " in text for text in comparison_headline(none) if " by " in text)


@pytest.mark.parametrize("paired", [False, True])
def test_what_so_many_runs_show_has_the_unit_of_the_metric(paired):
    drawn = prints(*map(str, range(8))) if paired else {}
    values = standard(8), standard(8, 8) + 0.1
    made = (side_metric("acc", each, unit="%") for each in values)
    a, b = (side(label, [each], prints=drawn) for label, each in zip("AB", made, strict=True))
    comparison = compare_sides([a, b], ComparisonOptions(), "deviate compare A B")
    (pair,) = comparison.pairs
    (metric,) = pair.metrics
    (text,) = [each for each in reasons(metric, pair, comparison) if "would have been seen" in each]
    detected = re.search(r"difference of (\S+) points would have been seen with probability 80% \(", text)[1]
    assert metric.contrast.paired == paired
    one_sd = abs(metric.contrast.difference.value / metric.sensitivity.seen)
    assert float(detected) == pytest.approx(metric.sensitivity.detectable * one_sd, rel=0.05)


def test_values_that_are_all_alike_are_said_to_be_so_and_no_sd_is_named():
    text = why(compared([1.5] * 2, [1.5] * 2))
    assert text.startswith("All compared values of ")
    assert " are bit-identical. 2 against 2 runs: a verdict needs 5 of each." in text
    assert "SDs" not in text
    assert "bit-identical" not in why(compared([1.5] * 2, [1.5, 1.5 + 2**-52]))
