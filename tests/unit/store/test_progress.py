"""How far a run is, read while it goes on."""

import json
import struct

import pytest

from deviate.core.experiment import Run
from deviate.store.folders import RunFolder
from deviate.store.records import FARTHER, TAIL, read_progress


@pytest.fixture
def run(tmp_path):
    return RunFolder(tmp_path, Run(variant="control", index=0))


def write(run, rows, stem="1-1", events=(), torn=b""):
    data = b"".join(struct.pack("<iidd", *row) for row in rows)
    (run.path / f"records-{stem}.bin").write_bytes(data + torn)
    (run.path / f"events-{stem}.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def test_a_run_that_wrote_nothing_yet_is_nowhere(run):
    assert read_progress(run, ["acc"])[:2] == (None, {})
    write(run, [])
    assert read_progress(run, ["acc"])[:2] == (None, {})


def test_the_latest_value_of_each_metric_is_told(run):
    write(run, [(-1, 0, 0.0, 0.0), (0, 0, 0.0, 1.0), (1, 0, 0.0, 5.0), (-1, 1, 1.0, 1.0), (0, 1, 1.0, 2.0)], torn=b"x")
    assert read_progress(run, ["acc", "loss"])[:2] == (1, {"acc": 2.0, "loss": 5.0})


def test_before_the_main_loop_there_is_no_iteration(run):
    write(run, [(0, -1, 0.0, 1.0)])
    assert read_progress(run, ["acc"])[:2] == (None, {"acc": 1.0})


def test_names_learnt_at_run_time_are_used(run):
    write(run, [(1000000, 3, 0.0, 1.0)], events=[{"event": "name", "id": 1000000, "metric": None, "name": "fit:loss"}])
    assert read_progress(run, [])[:2] == (3, {"fit:loss": 1.0})


def test_other_ranks_are_not_the_run(run):
    write(run, [(0, 3, 0.0, 1.0)], events=[{"event": "start", "rank": 0}])
    write(run, [(0, 9, 0.0, 7.0)], stem="2-1", events=[{"event": "start", "rank": 1}])
    assert read_progress(run, ["acc"])[:2] == (3, {"acc": 1.0})


@pytest.mark.parametrize(("since", "early"), [(TAIL, {"early": 1.0}), (FARTHER, {})])
def test_only_the_end_of_a_long_file_is_read_farther_back_for_a_metric_that_is_not_in_it(run, since, early):
    write(run, [(1, 0, 0.0, 1.0), *((0, step, 0.0, float(step)) for step in range(since))])
    assert read_progress(run, ["acc", "early"])[:2] == (since - 1, {"acc": since - 1.0, **early})


def test_a_value_is_found_behind_many_iterations_without_any(run):
    write(run, [(0, 0, 0.0, 1.0), *((-1, step, 0.0, 0.0) for step in range(1, TAIL + 5))])
    assert read_progress(run, ["acc"]) == (TAIL + 4, {"acc": 1.0}, 0)


def test_the_iteration_that_was_reported_last_is_not_the_one_under_way(run):
    write(run, [(-1, 0, 0.0, 0.0), (0, 0, 0.0, 1.0), (-1, 1, 0.0, 0.0)])
    assert read_progress(run, ["acc"]) == (1, {"acc": 1.0}, 0)
