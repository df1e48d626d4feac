"""Values counted while a run goes on."""

import struct
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from made import make_experiment, make_run, metric, series, write_process

from deviate.observe.records import GrowingRecords, RunTallies, Tally
from deviate.store.records import TICK
from deviate.store.run_files import RECORD

rows = st.lists(st.tuples(st.integers(-1, 3), st.just(0), st.just(0.0), st.floats(allow_nan=False)), max_size=12)


@given(rows, st.lists(st.integers(0, 12 * RECORD.itemsize), max_size=4))
def test_looks_at_a_growing_file_count_what_one_look_at_the_whole_counts(listed, ends):
    data = b"".join(struct.pack("<iidd", *row) for row in listed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "records-1-1.bin")
        growing = GrowingRecords(path)
        for end in (*sorted(ends), len(data)):
            path.write_bytes(data[:end])
            found = growing.look()
    values = {key: [row[3] for row in listed if row[0] == key] for key in {row[0] for row in listed}}
    assert found == {key: Tally(count=len(all_), first=all_[0], last=all_[-1]) for key, all_ in values.items()}


def test_other_ranks_do_not_count_and_the_main_loop_is_no_metric(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss")])
    run = make_run(folder, 0, [*series(TICK, [0, 1, 2]), *series(0, [3.0, 2.0])], rank=0)
    write_process(run, series(0, [9.0] * 5), stem="2-1", rank=1)
    tallies = RunTallies(run, ["loss"])
    assert tallies.look() == {("loss", 0): Tally(count=2, first=3.0, last=2.0)}
    assert tallies.iterations == 3


def test_names_learnt_at_run_time_keep_the_metric_they_belong_to(tmp_path):
    folder = make_experiment(tmp_path, [metric("{split} loss")])
    names = [
        {"event": "name", "id": 1_000_000, "metric": 0, "name": "test loss"},
        {"event": "name", "id": 1_000_001, "metric": None, "name": "fit:loss"},
    ]
    values = [*series(1_000_000, [1.0]), *series(1_000_001, [2.0, 4.0])]
    found = RunTallies(make_run(folder, 0, values, events=names), ["{split} loss"]).look()
    assert found == {
        ("test loss", 0): Tally(count=1, first=1.0, last=1.0),
        ("fit:loss", -1): Tally(count=2, first=2.0, last=4.0),
    }


def test_processes_are_joined_in_the_order_they_started(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss")])
    run = make_run(folder, 0, series(0, [5.0, 6.0]), stem="9-1", time=20.0)
    write_process(run, series(0, [1.0]), stem="4-1", time=10.0)
    assert RunTallies(run, ["loss"]).look() == {("loss", 0): Tally(count=3, first=1.0, last=6.0)}
