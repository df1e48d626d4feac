"""Looks at the runs of a variant: mean, share of a mean, SD."""

import numpy as np
import pytest
from msgspec import structs

from deviate.core.experiment import Until
from deviate.report.topics.runs import progress_line
from deviate.stats.intervals import cautious_sd_interval
from deviate.stats.multiplicity import least_runs, look
from deviate.stats.power import runs_for_precision

MEAN = Until(metric="acc", width=0.5, least=10, most=30)
SD = Until(metric="acc", of="sd", width=0.5, relative=True, least=10, most=30)
VALUES = np.random.default_rng(2).normal(90, 1, 80)


def test_the_expected_number_is_that_of_deviate_plan_and_the_extra_runs():
    state = look(VALUES[:10], MEAN)
    assert not state.met
    assert state.expected == runs_for_precision(0.5 / VALUES[:10].std(ddof=1)) + 2


def test_a_mean_is_met_and_its_interval_has_the_width_asked_for():
    state = look(VALUES, MEAN)
    assert state.met
    assert state.interval.high - state.interval.low == pytest.approx(1.0)
    assert state.expected == state.n == 80


def test_an_sd_needs_the_runs_that_normal_values_need():
    assert least_runs(SD) == 18
    assert not look(VALUES[:17], SD).met
    state = look(VALUES[:30], SD)
    assert state.met
    interval = cautious_sd_interval(VALUES[:30])
    assert state.interval == interval
    assert state.half_width == pytest.approx(interval.high / VALUES[:30].std(ddof=1) - 1)


def test_an_sd_of_values_with_tails_needs_more():
    heavy = np.random.default_rng(4).standard_t(2, 18)
    state = look(heavy, SD)
    assert not state.met
    assert state.expected > 18


def test_equal_values_meet_nothing():
    for until in (MEAN, SD):
        state = look([1.0] * 40, until)
        assert (state.met, state.half_width, state.identical) == (False, None, True)


def test_an_empty_sample_is_looked_at():
    for until in (MEAN, SD):
        state = look([], until)
        assert (state.n, state.met, state.half_width) == (0, False, None)


def test_an_impossible_width_has_no_least_number():
    assert least_runs(structs.replace(SD, width=1e-5)) is None


@pytest.mark.parametrize(
    ("values", "until", "text"),
    [
        (VALUES[:10], MEAN, "± 0.5 wanted; about"),
        (VALUES, MEAN, "after 80 runs: enough"),
        (VALUES[:12], structs.replace(MEAN, width=5.0, least=12), "narrow enough; 14 runs keep the level"),
        ([3.0] * 10, MEAN, "no interval after 10 runs (all 10 values are equal), ± 0.5 wanted"),
        (VALUES[:12], SD, "± 50% wanted; about"),
        (VALUES[:10], structs.replace(MEAN, width=0.1), "(30 allowed)"),
    ],
)
def test_a_line_says_how_far_it_is(values, until, text):
    assert text in progress_line("algo", look(values, until), until)
