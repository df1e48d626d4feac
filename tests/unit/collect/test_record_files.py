"""Record and event files that may end anywhere."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.replicate.workspace.records import RECORD, parse_events, parse_records, rank_of, read_tail

ints = st.integers(-(2**31), 2**31 - 1)
rows = st.lists(st.tuples(ints, ints, st.floats(), st.floats()), max_size=8)


def written(listed):
    return b"".join(struct.pack("<iidd", *row) for row in listed)


@given(rows)
def test_records_are_read_as_they_were_written_to_the_last_bit(listed):
    assert parse_records(written(listed)).tobytes() == written(listed)


@given(rows, st.data())
def test_any_prefix_of_the_bytes_gives_a_prefix_of_the_records(listed, data):
    whole = written(listed)
    cut = data.draw(st.integers(0, len(whole)))
    read = parse_records(whole[:cut])
    assert len(read) == cut // RECORD.itemsize
    assert read.tobytes() == whole[: len(read) * RECORD.itemsize]


@given(rows, st.integers(0, 10), st.binary(max_size=23))
def test_the_tail_of_a_growing_file_is_its_last_whole_records(tmp_path_factory, listed, count, torn):
    path = tmp_path_factory.mktemp("r") / "records-1-1.bin"
    path.write_bytes(written(listed) + torn)
    expected = parse_records(written(listed))[max(0, len(listed) - count) :]
    assert read_tail(path, count).tobytes() == expected.tobytes()


events = st.lists(
    st.fixed_dictionaries({"event": st.text(min_size=1), "value": st.integers() | st.text() | st.none()}), max_size=6
)


@given(events, st.data())
def test_any_prefix_of_the_lines_gives_a_prefix_of_the_events(listed, data):
    whole = "".join(json.dumps(event) + "\n" for event in listed).encode()
    cut = data.draw(st.integers(0, len(whole)))
    read = parse_events(whole[:cut])
    assert read == listed[: len(read)]
    assert len(read) >= whole[:cut].count(b"\n")


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail(data):
    parse_events(data)
    parse_records(data)


def test_lines_that_are_no_events_are_dropped():
    assert parse_events(b'[1]\n{"a": 1}\n{"event": 3}\n\n{"event": "x"}') == [{"event": "x"}]


@pytest.mark.parametrize(
    ("listed", "rank"),
    [
        ([], None),
        ([{"event": "start", "rank": None}], None),
        ([{"event": "start", "rank": 0}], 0),
        ([{"event": "start", "rank": None}, {"event": "rank", "rank": 3}], 3),
        ([{"event": "start"}], None),
    ],
)
def test_the_rank_learnt_last_counts(listed, rank):
    assert rank_of(listed) == rank


def test_a_record_is_24_bytes():
    assert RECORD.itemsize == struct.calcsize("<iidd") == 24
    assert np.dtype(RECORD).isbuiltin == 0
