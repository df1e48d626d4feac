"""Numbers are written to the digits they deserve, and never wrongly."""

import pytest
from compared_sides import side, side_metric
from hypothesis import given
from hypothesis import strategies as st
from report_cases import clock, results

from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.experiment import experiment_facts
from deviate.report.numbers import UNKNOWN, last_place, show, show_interval, show_level, show_percent, show_seconds
from deviate.report.topics.caveats import experiment_caveats
from deviate.report.topics.comparison_caveats import comparison_caveats
from deviate.report.topics.metrics import rounded_footnotes
from deviate.stats.intervals import Interval

MAGNITUDES = st.floats(min_value=1e-290, max_value=1e290)


def value_of(text):
    """Read a number as it is shown, with its minus sign."""
    return float(text.replace("−", "-"))


SIGNED = st.builds(lambda magnitude, sign: magnitude * sign, MAGNITUDES, st.sampled_from([-1, 1]))


@given(SIGNED, st.floats(min_value=1e-12, max_value=1e12))
def test_a_number_is_shown_to_within_half_its_last_place(value, sd):
    """Or to as many digits as a float64 has, or as a fixed-point integer."""
    place = last_place(sd)
    assert abs(value_of(show(value, place)) - value) <= 0.500001 * max(10.0**place, 1e-14 * abs(value), 1e-300)


@given(MAGNITUDES)
def test_an_sd_shows_two_significant_digits_or_an_integer(sd):
    text = show(sd, last_place(sd))
    digits = text.partition("e")[0].replace(".", "").lstrip("0")
    assert len(digits) == 2 or (text.isdigit() and sd >= 10)


@given(SIGNED)
def test_without_an_sd_six_digits_are_shown(value):
    assert value_of(show(value)) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(
    ("value", "place", "text"),
    [
        (96.94, -2, "96.94"),
        (0.1, None, "0.1"),
        (0.0, -3, "0"),
        (-0.001, -2, "0.00"),
        (-1.5, -1, "−1.5"),
        (1.86e11, 9, "1.86e11"),
        (12345.6, 2, "12346"),
        (4.2e-5, -6, "0.000042"),
        (4.2e-6, -7, "4.2e-6"),
        (float("nan"), 0, UNKNOWN),
        (None, None, UNKNOWN),
    ],
)
def test_examples(value, place, text):
    assert show(value, place) == text


@given(st.floats(min_value=1e-9, max_value=1))
def test_a_percentage_agrees_with_its_share(share):
    assert float(show_percent(share).removesuffix("%")) == pytest.approx(100 * share, rel=0.051)


def test_intervals():
    known = Interval(low=-1.25, high=2.5, level=0.95, method="t")
    assert show_interval(known, -1) == "[−1.2, 2.5]"
    assert show_interval(Interval(low=1.25, high=2.5, level=0.95, method="t"), -2) == "[1.25, 2.50]"
    assert show_interval(Interval(level=0.95, method="t", reason="one run"), -1) == UNKNOWN


def test_levels_and_durations():
    assert (show_level(0.9), show_level(0.999)) == ("90%", "99.9%")
    assert [show_seconds(x) for x in (None, 99.96, 3599.7)] == [UNKNOWN, "1 min 40 s", "1 h 0 min"]
    assert [show_seconds(x) for x in (0.0, 0.000673, 0.04, 0.096)] == ["0.0 s", "0.00067 s", "0.04 s", "0.1 s"]


@pytest.mark.parametrize(
    ("values", "is_said"),
    [([2.0**53, 2.0**53], True), ([2.0**53 - 1, 3.0], False), ([-(2.0**60), 1.0], True), ([1e200, 1e300], False)],
)
def test_whole_numbers_that_a_float_does_not_hold_are_said(values, is_said):
    found = experiment_facts(results({"algo+impl": {"parameters": values}}), clock())
    said = [caveat for caveat in experiment_caveats(found) if caveat.slug == "whole-numbers-rounded"]
    assert bool(said) == is_said
    compared = compare_sides([side(label, [side_metric("x", values)]) for label in "ab"], ComparisonOptions())
    assert bool(rounded_footnotes([compared.pairs[0].metrics[0].a])) == is_said
    slugs = [caveat.slug for caveat in comparison_caveats(compared.comparability)]
    assert ("whole-numbers-rounded" in slugs) == is_said
