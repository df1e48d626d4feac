"""Record and event files that may end anywhere."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.store.records import parse_events, rank_of
from deviate.store.run_files import HEAD, RECORD, lost_count, parse_records, read_on, read_records, read_tail, used_size

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


EMPTY = (0, 0, 0.0, 0.0)
mapped = st.lists(st.sampled_from([EMPTY, (0, 1, 0.5, 0.0), (3, -1, float("nan"), 2.0), (1, 2, 0.0, 9.0)]), max_size=8)


@given(mapped, st.integers(0, 9000), st.integers(0, 10))
def test_of_a_mapped_file_used_slots_are_read_however_much_room_is_left(tmp_path_factory, slots, room, count):
    path = tmp_path_factory.mktemp("r") / "records-1-1.bin"
    path.write_bytes(written([(HEAD, -1, 1e-9, 2.0), *slots, *[EMPTY] * room]))
    used = [slot for slot in slots if slot[2]]
    assert read_records(path).tobytes() == written(used)
    end = max((index + 1 for index, slot in enumerate(slots) if slot[2]), default=0)
    assert used_size(path) == (1 + end) * RECORD.itemsize
    assert read_tail(path, 1).tobytes() == written(used[-1:])
    assert lost_count(path) == 2
    first, on = read_on(path, 0, count)
    second, on = read_on(path, on)
    assert first.tobytes() + second.tobytes() == written(used)
    assert len(read_on(path, on)[0]) == 0


def test_a_file_of_an_older_version_has_no_unused_slots(tmp_path):
    path = tmp_path / "records-1-1.bin"
    path.write_bytes(written([(0, 0, 0.0, 0.0), (0, 1, 0.0, 1.0)]))
    assert (read_records(path)["value"].tolist(), used_size(path), lost_count(path)) == ([0.0, 1.0], 48, 0)


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
