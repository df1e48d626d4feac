"""What was printed is given back as series, to the digits that were printed."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from profiles import examples

from deviate.observe.output import slots
from deviate.observe.output.slots import SlotSeries, mine_log
from deviate.observe.output.templates import MOST_NUMBERS
from deviate.observe.reported import SLOTS, MinedRun, RunSeries, _as_table, _read

NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=64)
USUAL = st.floats(min_value=-1e6, max_value=1e6)


def by_name(series: list[SlotSeries]) -> dict[str, SlotSeries]:
    named = {one.slot.name: one for one in series}
    assert len(named) == len(series)
    return named


def values(text: str) -> dict[str, list[float]]:
    return {name: one.values.tolist() for name, one in by_name(mine_log(text.encode(), "stdout").series).items()}


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.sampled_from(["{!r}", "{:.4e}", "{:g}", "{:10.3g}"]))
def test_every_number_is_given_back(numbers, form):
    printed = [form.format(number) for number in numbers]
    (series,) = mine_log("\n".join(f"loss = {text}" for text in printed).encode(), "stdout").series
    assert np.array_equal(series.values, [float(text) for text in printed], equal_nan=True)


@given(st.lists(USUAL, min_size=1, max_size=40), st.integers(0, 9), st.sampled_from(["", "%", "s", " ms"]))
@examples(100)
def test_fixed_digits_are_given_back_with_their_number(numbers, decimals, unit):
    printed = [f"{number:.{decimals}f}" for number in numbers]
    (series,) = mine_log("\n".join(f"val acc: {text}{unit}" for text in printed).encode(), "stdout").series
    assert series.values.tolist() == [float(text) for text in printed]
    assert series.slot.decimals == decimals
    assert set(series.precision.tolist()) == {decimals}
    assert np.all(np.abs(series.values - numbers) <= 0.5 * 10.0**-decimals + 1e-9)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=20))
def test_thousands_are_given_back(numbers):
    (series,) = mine_log("\n".join(f"tokens {number:,} seen" for number in numbers).encode(), "stdout").series
    assert series.values.tolist() == numbers


@given(st.lists(st.tuples(USUAL, USUAL), min_size=1, max_size=20))
def test_a_dictionary_is_given_back_under_its_keys(pairs):
    lines = [json.dumps({"loss": loss, "eval/acc": accuracy}) for loss, accuracy in pairs]
    mined = values("\n".join(lines))
    assert mined == {"loss": [loss for loss, _ in pairs], "eval/acc": [accuracy for _, accuracy in pairs]}


@given(st.lists(st.tuples(USUAL, USUAL), min_size=2, max_size=8))
def test_a_frame_of_pandas_is_given_back_under_its_columns(rows):
    frame = pd.DataFrame(rows, columns=["loss", "val acc"])
    with pd.option_context("display.float_format", "{:.5f}".format):
        mined = values(f"{frame}\n")
    for column in frame:
        assert np.allclose(mined[str(column)], frame[column], atol=0.5e-5, rtol=1e-12)


@given(st.lists(USUAL, min_size=1, max_size=12))
def test_states_that_are_overwritten_are_not_counted(numbers):
    final = "".join(f"epoch {k} loss {number:.4f}\n" for k, number in enumerate(numbers))
    rewritten = "".join(
        f"epoch {k} loss 999999999.9999\repoch {k} loss {number:.4f}".ljust(60) + "\n"
        for k, number in enumerate(numbers)
    )
    assert values(final)["loss"] == [float(f"{number:.4f}") for number in numbers]
    cleared = rewritten.replace("\r", "\r\x1b[K")
    assert values(cleared) == values(final)


def test_offsets_are_where_lines_begin():
    text = "start\nloss 0.5\nother\nloss 0.25\n"
    (series,) = mine_log(text.encode(), "stderr").series
    assert series.offsets.tolist() == [6, 21]
    assert series.slot.source == "stderr"


def test_lists_of_one_length_have_a_slot_for_each_item_and_others_have_one():
    assert values("acc [0.5, 0.25]\nacc [0.75, 1.0]\n") == {"acc [0]": [0.5, 0.75], "acc [1]": [0.25, 1.0]}
    (series,) = mine_log(b"acc [0.5, 0.25]\nacc [0.75, 1.0, 2.0]\n", "stdout").series
    assert series.values.tolist() == [0.5, 0.25, 0.75, 1.0, 2.0]
    assert series.offsets.tolist() == [0, 0, 16, 16, 16]


def test_a_word_that_is_another_one_in_each_line_makes_no_template():
    words = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
    (series,) = mine_log(
        "".join(f"sample {word} got score 0.{k:02d}\n" for k, word in enumerate(words)).encode(), "log"
    ).series
    assert series.slot.template == "sample ⟨word⟩ got score ⟨n⟩"
    assert series.values.tolist() == [k / 100 for k in range(100)]


def test_words_that_name_a_few_things_stay():
    assert set(values("class cat: 0.5\nclass dog: 0.25\n")) == {"class cat", "class dog"}


def test_lines_beyond_the_limit_of_templates_are_counted(monkeypatch):
    monkeypatch.setattr(slots, "MOST_TEMPLATES", 3)
    mined = mine_log(b"a 1\nb 2\nc 3\nd 4\na 5\ne 6\ne 7\n", "stdout")
    assert mined.left_out == 3
    assert {one.slot.name: one.values.tolist() for one in mined.series} == {"a": [1, 5], "b": [2], "c": [3]}


@pytest.mark.parametrize(
    "line",
    [
        "weights " + "1 " * 20_000,
        "".join(f"step {step} lr 0.1; " for step in range(20_000)),
        "[" + ", ".join(["0.5"] * 20_000) + "]",
        ",".join(map(str, range(20_000))),
    ],
)
def test_of_a_line_some_hundred_numbers_are_read_and_what_is_kept_of_it_is_small(line):
    mined = mine_log(f"epoch 0 loss 0.5\n{line}\nepoch 1 loss 0.25\n".encode(), "stdout").series
    assert by_name(mined)["loss"].values.tolist() == [0.5, 0.25]
    assert sum(len(each.values) for each in mined) <= MOST_NUMBERS + 4
    run = MinedRun([RunSeries(each, each.offsets, each.values) for each in mined], 0, [])
    table = _as_table(run)
    assert len(table.notes[SLOTS]) < 200_000
    assert [each.series.slot for each in _read(table).series] == [each.slot for each in mined]


def test_templates_with_too_many_numbers_together_are_counted(monkeypatch):
    monkeypatch.setattr(slots, "MOST_PLACES", 4)
    mined = mine_log(b"a 1 2 3\nb 4 5\nc 6\nb 7 8\n", "stdout")
    assert (mined.left_out, len(mined.series)) == (2, 4)


@given(st.binary(max_size=400))
@examples(100)
def test_no_bytes_raise(data):
    mine_log(data, "stdout")


CHARACTERS = "0,| []()'{}\":=%/-+±█#@._\\\n\r\t"
WORDS = "12 1.5 e-5 nan 1,000 2026-01-05 12:30 loss val epoch it/s ms ⟨n⟩ ⟨list⟩"
PIECES = st.sampled_from([*CHARACTERS, *WORDS.split(), "precision recall support"])


@given(st.lists(PIECES, max_size=60))
@example(["it/s", "0", ",", "\r", "0", "12", ","])
@examples(300)
def test_no_arrangement_of_what_logs_have_raises(pieces):
    series = mine_log("".join(pieces).encode(), "stdout").series
    by_name(series)
    keys = [one.slot.key for one in series]
    assert len(set(keys)) == len(keys)
    for one in series:
        assert len(one.values) == len(one.offsets) == len(one.precision) > 0


@pytest.mark.parametrize("count", [1, 5, 40])
def test_negative_and_positive_values_are_one_slot(count):
    numbers = [math.sin(k) for k in range(count)]
    mined = values("\n".join(f"Q: {number:8.3f}, {k}" for k, number in enumerate(numbers)))
    assert mined["Q"] == [float(f"{number:.3f}") for number in numbers]


def test_units_that_go_with_the_size_of_a_number_are_one():
    lines = [
        "5/5 - 0s - 12ms/step - loss: 0.5",
        "5/5 - 0s - 569us/step - loss: 0.25",
        "5/5 - 1s - 2s/step - loss: 0.125",
    ]
    named = by_name(mine_log("\n".join(lines).encode(), "stdout").series)
    assert named["loss"].values.tolist() == [0.5, 0.25, 0.125]
    per_step = next(one for one in named.values() if one.slot.unit == "s/step")
    assert per_step.values.tolist() == [0.012, 0.000569, 2]
    assert per_step.precision.tolist() == [3, 6, 0]


def test_a_bar_that_is_slow_has_the_rate_of_one_that_is_fast():
    lines = ["100%|█| 4/4 [00:01<00:00,  4.00it/s]", "100%|█| 4/4 [00:08<00:00,  2.00s/it]"]
    (speed,) = [one for one in mine_log("\n".join(lines).encode(), "stderr").series if one.slot.unit == "it/s"]
    assert speed.values.tolist() == [4, 0.5]
    assert speed.precision.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("Time taken: 0:00:05.94\nTime taken: 1:02:05", {"Time taken": [5.94, 3725]}),
        ("acc 0.5 took 01:23", {"acc": [0.5], "time": [83]}),
        ("fit: 0 days 00:00:05.5\nfit: 12 days 01:00:00", {"fit time": [5.5, 1040400]}),
        ("Elapsed Time: 0:00:05|ETA: 0:00:09", {"Elapsed Time": [5]}),
        ("time 12:30:00 at 0:00:05 ETA: 0:01:10 started 9:30:12", {}),
        ("7/9 [0:00:05<0:00:03]", {"column 1 of s line 'N/N[⟨time⟩<⟨time⟩]'": [7], "total": [9]}),
    ],
)
def test_durations_that_clocks_show_are_seconds_and_times_of_day_are_none(lines, expected):
    series = mine_log(lines.encode(), "s").series
    assert {one.slot.name: one.values.tolist() for one in series} == expected
    assert {one.slot.unit for one in series if len(expected) == 1} <= {"s"}
    assert all(one.precision[0] == 2 for one in series if one.slot.name == "Time taken")


def test_a_long_log_of_durations_is_read_like_a_short_one():
    seconds = list(range(0, 3000, 7))
    text = "".join(f"elapsed {second // 60:02d}:{second % 60:02d}\n" for second in seconds)
    assert values(text) == {"elapsed": seconds}
