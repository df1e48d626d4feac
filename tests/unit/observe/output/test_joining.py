"""Slots are joined to the metrics whose values they show, rounded as printed, and not by chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.observe.output.joining import MOST_CHANCE, chance, join, shows_several
from deviate.observe.output.slots import SlotSeries, mine_log


def printed(values, form="{:.4f}", name="loss"):
    (series,) = mine_log("\n".join(f"{name}: {form.format(value)}" for value in values).encode(), "stdout").series
    return series


def explains(series, recorded):
    return chance(series, recorded) <= MOST_CHANCE


def curve(seed=0, count=20):
    rng = np.random.default_rng(seed)
    return np.exp(-np.arange(count) / 10) + 0.1 * rng.random(count)


@pytest.mark.parametrize("form", ["{:.4f}", "{:.3e}", "{:g}", "{!r}", "{:.6}"])
def test_a_printed_curve_is_explained_by_what_was_recorded(form):
    values = curve().tolist()
    assert explains(printed(values, form), np.array(values))
    assert not explains(printed(values, form), curve(seed=1))


def test_percentages_are_explained_by_fractions():
    assert explains(printed(curve() * 100, "{:.2f}%"), curve())


def test_fractions_in_a_file_are_explained_by_percentages():
    assert explains(printed(curve(), "{!r}"), curve() * 100)
    assert not explains(printed(curve(), "{!r}"), curve() * 10)


def test_what_is_printed_more_rarely_is_explained():
    assert explains(printed(curve(count=200)[::10]), curve(count=200))


def test_what_is_printed_in_uneven_steps_is_explained():
    recorded = curve(count=200)
    chosen = np.sort(np.random.default_rng(0).choice(200, 20, replace=False))
    assert explains(printed(recorded[chosen]), recorded)
    # Before the first of every tenth comes a value that is printed alike.
    early = np.concatenate([recorded[10:11], recorded])
    assert explains(printed(early[11::10]), early)
    assert not explains(printed(curve(seed=1, count=200)[::10]), recorded)


def test_what_two_places_record_one_after_the_other_is_explained_by_one_print():
    values = curve()
    assert explains(printed(values), values.repeat(2))
    assert explains(printed(values[::2]), values.repeat(3))
    assert not explains(printed(curve(seed=1)), values.repeat(2))


def test_values_in_32_bits_are_explained_by_those_in_64():
    values = curve()
    assert explains(printed(values.astype(np.float32).astype(np.float64), "{!r}"), values)
    assert explains(printed(values, "{:.7f}"), values.astype(np.float32).astype(np.float64))
    assert not explains(printed(values * (1 + 1e-6), "{!r}"), values)


def test_the_order_must_be_the_same():
    assert not explains(printed(curve()[::-1]), curve())
    assert not explains(printed([*curve(), 0.5]), curve())


def test_rounding_of_halves_does_not_matter():
    values = np.array([0.125, 0.375, 0.625, 0.875, 0.25])
    for texts in (["0.12", "0.38", "0.62", "0.88", "0.25"], ["0.13", "0.38", "0.63", "0.88", "0.25"]):
        (series,) = mine_log("\n".join(f"acc {text}" for text in texts).encode(), "stdout").series
        assert chance(series, values) < 1


def test_values_that_agree_with_anything_explain_nothing():
    assert not explains(printed([1.0] * 50, "{:.1f}"), np.ones(50))
    assert not explains(printed([0.0, 1.0, 1.0], "{:.0f}"), np.array([0.1, 0.9, 1.2]))
    assert chance(printed([0.51, 0.49], "{:.0f}"), np.array([0.8, 0.1])) == 1


def test_nothing_finite_explains_nothing():
    assert not explains(printed([np.nan, np.inf]), np.array([np.nan, np.inf]))
    assert explains(printed([*curve(), np.nan]), np.array([*curve(), np.nan]))


def test_metrics_of_one_trend_are_rarely_taken_for_another():
    hits = sum(explains(printed(curve(seed=2 * k), "{:.2f}"), curve(seed=2 * k + 1)) for k in range(300))
    assert hits == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 6))
def test_a_slot_agrees_with_its_own_values(values, decimals):
    series = printed(values, f"{{:.{decimals}f}}")
    assert 0 <= chance(series, np.array(values)) <= 1
    assert chance(series, np.array(values) + 10.0**-decimals * 3) == 1


def test_join_takes_the_metric_of_the_same_name_first():
    text = "".join(f"epoch {k} train_loss {value:.4f} val_loss {value:.4f}\n" for k, value in enumerate(curve()))
    series = mine_log(text.encode(), "stdout").series
    joined = join(series, {"val loss": curve(), "train loss": curve(), "acc": curve(seed=5)})
    assert {slot.name: metric for slot, metric in joined.items()} == {
        "train_loss": "train loss",
        "val_loss": "val loss",
    }


def test_one_final_value_needs_digits_or_the_name():
    assert explains(printed([0.9512]), np.array([0.95123]))
    assert not explains(printed([0.95], "{:.2f}"), np.array([0.95123]))
    series = printed([0.95], "{:.2f}", name="test accuracy")
    assert join([series], {"test_accuracy": np.array([0.95123])}) == {series.slot: "test_accuracy"}


def test_a_flat_curve_of_the_very_same_name_is_the_metric():
    recorded = np.array([0.9001, 0.9002, 0.9003])
    flat = printed(recorded, "{:.2f}", name="val_acc")
    assert join([flat], {"val acc": recorded}) == {flat.slot: "val acc"}
    assert join([flat], {"acc": recorded}) == {}
    assert join([flat], {"val acc": recorded[:2]}) == {}
    assert join([flat], {"val acc": recorded + 0.1}) == {}


def test_a_metric_that_is_nan_all_through_is_shown_by_the_slot_of_its_name_alone():
    shown = {"loss": np.full(6, np.nan), "acc": np.full(6, np.nan)}
    assert list(join([printed(shown["loss"])], shown).values()) == ["loss"]
    assert join([printed(shown["loss"])], {"acc": shown["acc"]}) == {}
    assert join([printed(shown["loss"])], {"loss": np.arange(6.0)}) == {}


def test_a_slot_with_the_name_of_a_metric_needs_no_digits_where_it_shows_every_value():
    values = np.array([0.3, 0.4, np.nan, 0.9])
    series = printed(values, "{:.0f}")
    assert not explains(series, values)
    assert join([series], {"Loss": values}) == {series.slot: "Loss"}
    assert join([series], {"mean loss": values + 0.4, "score": values, "loss": values[:3]}) == {}


@pytest.mark.parametrize(("metric", "joined"), [("elapsed", True), ("val time", True), ("train loss", False)])
def test_a_time_that_only_its_unit_names_shows_a_time_of_the_source(metric, joined):
    seconds = np.array([0.03, 0.12, 0.04, 0.06, 0.02])
    text = "\n".join(f"acc {90 + index}.5%  ({value:.1f}s)" for index, value in enumerate(seconds))
    acc, time = mine_log(text.encode(), "stdout").series
    assert time.slot.name == "time"
    assert join([acc, time], {metric: seconds}) == ({time.slot: metric} if joined else {})
    # One value that is not printed like this, and it is another time.
    assert join([acc, time], {metric: seconds + np.array([0, 0, 0.2, 0, 0])}) == {}


ANY = st.lists(st.floats(width=64) | st.sampled_from([5e-324, 1.7e308, -1.7e308, 0.0, 1e-310]), min_size=1, max_size=6)


@given(ANY, ANY, st.sampled_from(["{!r}", "{:.3e}", "{:.300f}", "{:.0f}"]))
def test_numbers_of_any_size_are_joined_without_a_warning(shown, recorded, form):
    """Warnings are errors here: subnormal numbers and those near the largest take every step out of range."""
    values = np.array(recorded)
    for series in mine_log("\n".join(f"loss: {form.format(value)}" for value in shown).encode(), "stdout").series:
        assert 0 <= chance(series, values) <= 1
        assert join([series], {"loss": values, "other": values}).keys() <= {series.slot}
        assert shows_several(series, np.ones(len(series.values), bool), {"loss": values}) in ("", "loss")


def test_a_bar_that_shows_the_last_loss_of_each_epoch_shows_the_loss():
    random = np.random.default_rng(3)
    losses = random.normal(1, 0.2, size=90)
    shown = "".join(f"Epoch {epoch}: loss={losses[30 * epoch + 29]:.3g}\n" for epoch in range(3))
    (loss,) = [each for each in mine_log(shown.encode(), "stderr").series if each.slot.name == "loss"]
    assert join([loss], {"loss": losses, "other": random.normal(1, 0.2, size=90)}) == {loss.slot: "loss"}
    others = SlotSeries(loss.slot, random.normal(1, 0.2, size=3).round(3), loss.offsets, loss.precision)
    assert join([others], {"loss": losses}) == {}


def test_numbers_that_are_drawn_again_are_those_that_were_recorded_once():
    losses = np.random.default_rng(4).normal(1, 0.2, size=6)
    shown = "".join(f"loss={value:.4f}\n" * (1 + k % 3) for k, value in enumerate(losses))
    (loss,) = mine_log(shown.encode(), "stderr").series
    assert explains(loss, losses)
    assert not explains(loss, losses[::-1])


@pytest.mark.parametrize(("foreign", "shown"), [(1, "loss"), (20, "")])
def test_a_form_of_line_may_hold_a_value_of_something_else_but_not_many(foreign, shown):
    losses = curve(count=40)
    series = printed(np.r_[losses, 3 + curve(seed=1, count=foreign)])
    assert shows_several(series, np.ones(len(series.values), bool), {"loss": losses}) == shown
