"""Numbers for people, and p-values that never look like alpha."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.report.numbers import MOST_P_DIGITS, Numbers, show, show_hours, show_level, show_percent

SHARES = st.floats(0.001, 1)


@given(SHARES, st.sampled_from([0.1, 0.05, 0.01, 0.005, 0.001, 0.0002]))
def test_a_p_value_never_reads_as_alpha_unless_it_is(p, alpha):
    text = Numbers(alpha).p(p)
    if abs(p - alpha) > alpha * 10.0 ** (1 - MOST_P_DIGITS):
        assert float(text) != alpha
        assert (float(text) < alpha) == (p < alpha)
    assert float(text) == pytest.approx(p, rel=0.06)


def test_a_small_p_is_below_what_it_is_said_to_be_below():
    assert [Numbers(alpha).p(0.0007) for alpha in (0.05, 0.0005)] == ["<0.001", "0.00070"]
    assert Numbers(0.0005).compared_p(0.0004) == "< 0.0005"


def test_every_way_to_write_a_p_value_heeds_alpha():
    numbers = Numbers(0.01)
    assert numbers.p(0.00999) == "0.00999"
    assert numbers.compared_p(0.00999) == "= 0.00999"
    assert numbers.equal_p(0.00999, "holm", 3) == "p = 0.00999 after Holm"
    assert Numbers(0.05).p(0.00999) == "0.010"


def test_a_p_value_cannot_be_written_without_alpha():
    with pytest.raises(TypeError):
        Numbers()


@given(st.floats(-1e300, 1e300), st.integers(-12, 6))
def test_a_number_is_within_half_its_last_digit(value, place):
    assert abs(float(show(value, place).replace("−", "-")) - value) <= max(0.5000001 * 10.0**place, 1e-14 * abs(value))


def test_what_is_unknown_is_a_dash():
    texts = [show(None), show(float("nan")), show_percent(None), show_hours(None)]
    assert {*texts, Numbers(0.1).p(None), Numbers(0.1).compared_p(None)} == {"–"}
    assert Numbers(0.05).equal_p(None, "none", 1) == "p = –"


def test_levels_are_exact():
    assert show_level(0.999) == "99.9%"
    assert [Numbers(alpha).level() for alpha in (0.05, 0.01, 0.001)] == ["95%", "99%", "99.9%"]
