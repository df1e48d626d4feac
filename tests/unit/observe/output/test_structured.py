"""Tables and JSON files are read by column and key; what is in a file never raises."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from deviate.observe.output import files as structured
from deviate.observe.output.files import read_data, read_file


def values(data: str | bytes, suffix: str) -> dict[str, list[float]]:
    mined = read_data(data.encode() if isinstance(data, str) else data, suffix, "log")
    return {one.slot.name: one.values.tolist() for one in mined.series}


#: Lines of one cell may come in several outputs, each a text or a list of lines; images are outputs too.
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": ["loss 7"]},
            {
                "cell_type": "code",
                "source": ["loss = 3"],
                "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": ["epoch 1 loss 0.5\n"]},
                    {"output_type": "display_data", "data": {"image/png": "iVBO9", "text/plain": ["<Figure 640x480>"]}},
                    {"output_type": "stream", "name": "stdout", "text": "epoch 2 loss 0.25\n"},
                ],
            },
        ]
    }
)


@pytest.mark.parametrize(
    ("text", "suffix", "expected"),
    [
        ("epoch,loss\n0,0.5\n1,\n2,nan%\n3,25%\n", ".csv", {"epoch": [0, 1, 2, 3], "loss": [0.5, 25]}),
        ("epoch\tloss\n0\t0.5\n", ".tsv", {"epoch": [0], "loss": [0.5]}),
        ("epoch;loss\n0;0.5\n", ".csv", {"epoch": [0], "loss": [0.5]}),
        ('#{"t_start": 5}\nr,l,t\n1.5,10,0.25\n', ".csv", {"r": [1.5], "l": [10], "t": [0.25]}),
        ("split,loss\ntrain,0.5\nval,0.75\ntrain,0.25\n", ".csv", {"train/loss": [0.5, 0.25], "val/loss": [0.75]}),
        ('{"loss": 5, "eval": {"acc": 1}}\n{"loss": 2, "ok": true}\n{"lo', ".jsonl", {"loss": [5, 2], "eval/acc": [1]}),
        ('{"loss": [0.5, 0.25], "name": "x"}', ".json", {"loss": [0.5, 0.25]}),
        ('{"log_history": [{"loss": 0.5}, {"loss": 0.25}]}', ".json", {"log_history/loss": [0.5, 0.25]}),
        ("0.5,0.25\n", ".csv", {"column 1 of log line 'N,N'": [0.5], "column 2 of log line 'N,N'": [0.25]}),
        ("0,0.5,,\n1,0.25,,\n", ".csv",
         {"column 1 of log line 'N,N,,'": [0, 1], "column 2 of log line 'N,N,,'": [0.5, 0.25]}),
        ("epoch 1 loss 0.5\n", ".log", {"epoch": [1], "loss": [0.5]}),
        ("no json 5", ".json", {"no json": [5]}),
        (b"\x00\x01\x02 5", ".txt", {}),
        (NOTEBOOK, ".ipynb", {"epoch": [1, 2], "loss": [0.5, 0.25]}),
        ('{"cells": [{"source": ["loss 7"]}', ".ipynb", {}),
        ('{"cells": ' + "[" * 100_000, ".ipynb", {}),
    ],
)  # fmt: skip
def test_values_of_a_file(text, suffix, expected):
    found = values(text, suffix)
    assert {name: [value for value in series if value == value] for name, series in found.items()} == expected


def test_offsets_are_those_of_rows():
    mined = read_data(b'name,loss\n"a\nb",0.5\nc,0.25\n', ".csv", "log")
    assert [one.offsets.tolist() for one in mined.series] in ([[10, 20]], [[10], [20]])


def test_digits_are_those_of_the_file():
    (series,) = read_data(b'{"loss": 1.50}\n{"loss": 2e-5}\n', ".jsonl", "log").series
    assert series.precision.tolist() == [2, 5]


def test_a_file_is_read_by_its_suffix_and_one_that_is_not_there_is_empty(tmp_path, monkeypatch):
    (tmp_path / "a.CSV").write_text("loss\n0.5\n")
    assert [one.slot.source for one in read_file(tmp_path / "a.CSV", "out/a.CSV").series] == ["out/a.CSV"]
    assert read_file(tmp_path / "none.csv", "none.csv").series == []
    assert read_file(tmp_path, "folder").series == []
    monkeypatch.setattr(structured, "MOST_BYTES", 3)
    assert read_file(tmp_path / "a.CSV", "a.CSV").series == []


def test_depth_and_number_of_keys_are_bounded(monkeypatch):
    assert values("[" * 100_000, ".json") == {}
    assert values('{"a":' * 30 + "5" + "}" * 30, ".json") == {}
    monkeypatch.setattr(structured, "MOST_SERIES", 3)
    assert len(values(json.dumps({f"k{k}": k for k in range(9)}), ".json")) == 3


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.integers(-(10**30), 10**30)), min_size=1, max_size=10))
def test_tables_are_given_back(rows):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([("loss", "count"), *rows])
    assert values(text.getvalue(), ".csv") == {"loss": [a for a, _ in rows], "count": [float(b) for _, b in rows]}


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=5), inside, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_every_number_of_a_json_text_is_given_back(value):
    def count(value):
        if isinstance(value, (dict, list)):
            return sum(map(count, value.values() if isinstance(value, dict) else value))
        return isinstance(value, (int, float)) and not isinstance(value, bool)

    mined = read_data(json.dumps(value).encode(), ".json", "log").series
    assert sum(len(one.values) for one in mined) == count(value)


@given(st.binary(max_size=300), st.sampled_from([".csv", ".tsv", ".json", ".jsonl", ".txt", ""]))
@examples(100)
def test_no_bytes_raise(data, suffix):
    read_data(data, suffix, "log")


PIECES = st.sampled_from(
    [*'a1,;{}[]:"\\- \t\n\r\ufeff', "0.5", "1e999", "NaN", "#{", "null", "9" * 5000],
)


@given(st.lists(PIECES, max_size=40), st.sampled_from([".csv", ".tsv", ".json", ".jsonl", ".txt"]))
@examples(200)
def test_no_arrangement_of_what_files_have_raises(pieces, suffix):
    read_data("".join(pieces).encode(), suffix, "log")
