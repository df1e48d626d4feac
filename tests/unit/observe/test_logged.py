"""Scalars that a run logged with trackers are series with the author's names and exact values."""

from __future__ import annotations

import sqlite3
import struct

import numpy as np
import pytest
from made import make_experiment, make_run, metric

from deviate.observe.iterations import Clock
from deviate.observe.reported import logged_series
from deviate.observe.tables import open_tables
from deviate.observe.trackers import tracker_of


@pytest.fixture
def writer_of():
    return pytest.importorskip("torch.utils.tensorboard").SummaryWriter


def logged(folder):
    """Return steps and values below a folder by source and name."""
    files = {path: tracker for path in folder.rglob("*") if path.is_file() and (tracker := tracker_of(path))}
    return {
        (each.series.slot.source, each.series.slot.name): list(
            zip(each.steps.tolist(), each.series.values.tolist(), strict=True)
        )
        for each in logged_series(files)
    }


def single(value: float) -> float:
    """Return what is left of a value that is stored in 32 bits."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def test_folders_of_tensorboard_are_named_as_far_as_they_differ(writer_of, tmp_path):
    for part, value in (("train", 0.1), ("validation", 0.2)):
        with writer_of(tmp_path / "logs" / "fit" / "20261122-181016" / part) as board:
            board.add_scalar("epoch_loss", value, 3)
    assert logged(tmp_path) == {
        ("TensorBoard", "train/epoch_loss"): [(3, single(0.1))],
        ("TensorBoard", "validation/epoch_loss"): [(3, single(0.2))],
    }


def test_series_of_add_scalars_are_called_by_their_tag_and_own_name(writer_of, tmp_path):
    with writer_of(tmp_path / "runs") as board:
        board.add_scalar("acc", 0.5, 0)
        board.add_scalars("my/loss", {"train": 1.0, "val": 2.0}, 0)
    assert sorted(name for _, name in logged(tmp_path)) == ["acc", "my_loss_train", "my_loss_val"]


def test_names_hold_no_time_and_a_second_log_is_numbered(writer_of, tmp_path):
    for moment, value in (("Nov22_18-10-16_host", 1.0), ("Nov22_18-12-16_host", 2.0)):
        with writer_of(tmp_path / "runs" / moment) as board:
            board.add_scalar("loss", value, 0)
    assert logged(tmp_path) == {
        ("TensorBoard", "⟨time⟩_host/loss"): [(0, 1.0)],
        ("TensorBoard", "⟨time⟩_host/loss #2"): [(0, 2.0)],
    }


def test_files_of_one_folder_go_on_after_one_another(writer_of, tmp_path):
    for index in range(2):
        with writer_of(tmp_path, filename_suffix=f".{index}") as board:
            board.add_scalar("loss", index, index)
    assert logged(tmp_path) == {("TensorBoard", "loss"): [(0, 0.0), (1, 1.0)]}


def test_images_histograms_and_texts_are_no_series(writer_of, tmp_path):
    with writer_of(tmp_path) as board:
        board.add_histogram("weights", np.arange(9.0), 0)
        board.add_text("note", "0.5", 0)
        board.add_image("input", np.zeros((1, 4, 4)), 0)
        board.add_scalar("loss", 0.5, 0)
    assert list(logged(tmp_path)) == [("TensorBoard", "loss")]


def test_a_damaged_file_has_no_series(writer_of, tmp_path):
    with writer_of(tmp_path) as board:
        board.add_scalar("loss", 0.5, 0)
    (path,) = tmp_path.glob("*tfevents*")
    data = path.read_bytes()
    path.write_bytes(data[:-6] + bytes([data[-6] ^ 1]) + data[-5:])
    assert logged(tmp_path) == {}


def test_both_stores_of_mlflow(tmp_path):
    run = tmp_path / "mlruns" / "0" / "de64c4e80e7942dfb4017c844db42d8e"
    (run / "metrics" / "val").mkdir(parents=True)
    (run / "meta.yaml").write_text("run_id: x\n")
    (run / "metrics" / "val" / "acc").write_text("1795371617045 0.1 0\n1795371617056 0.30000000000000004 1\n")
    assert logged(tmp_path / "mlruns") == {("MLflow", "val/acc"): [(0, 0.1), (1, 0.1 + 0.2)]}
    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        database.executescript(
            """
            CREATE TABLE experiments (experiment_id, name);
            CREATE TABLE params (run_uuid, key, value);
            CREATE TABLE runs (run_uuid, name, status, start_time, end_time, experiment_id, lifecycle_stage);
            CREATE TABLE metrics (run_uuid, key, value, step, timestamp, is_nan);
            INSERT INTO runs VALUES ('b', 'wise-owl', 'FINISHED', 2, 3, 0, 'active'),
                                    ('a', 'gray-fox', 'FINISHED', 1, 3, 0, 'active');
            INSERT INTO metrics VALUES ('a', 'f1', 0.1, 7, 1500, 0), ('b', 'f1', 0.2, 7, 2500, 0);
            """
        )
    database.close()
    (tmp_path / "db").mkdir()
    (tmp_path / "mlflow.db").rename(tmp_path / "db" / "mlflow.db")
    assert logged(tmp_path / "db") == {("MLflow", "f1"): [(7, 0.1)], ("MLflow", "f1 #2"): [(7, 0.2)]}


CLOCK = Clock(np.array([100.0, 110.0, 120.0]), np.array([-1, 0, 1, 2]), 90.0)


def test_the_time_tells_the_iteration():
    moments = np.array([95.0, 105.0, 109.0, 125.0])
    iterations, seconds = CLOCK.at(moments, np.array([0.0, 50.0, 99.0, 300.0]))
    assert iterations.tolist() == [-1, 0, 0, 2]
    assert seconds.tolist() == [5.0, 15.0, 19.0, 35.0]


def test_steps_that_go_with_the_iterations_count_them():
    # The second was stored as of the moment before: clocks of trackers are rounded.
    iterations, _ = CLOCK.at(np.array([105.0, 109.999, 125.0]), np.array([11.0, 12.0, 13.0]))
    assert iterations.tolist() == [0, 1, 2]


def test_what_is_logged_as_of_a_step_after_the_last_is_of_the_last_iteration():
    iterations, _ = CLOCK.at(np.array([105.0, 115.0, 125.0, 126.0]), np.array([0.0, 1.0, 2.0, 3.0]))
    assert iterations.tolist() == [0, 1, 2, 2]


def test_without_a_time_it_is_of_the_end_and_without_a_loop_of_no_iteration():
    iterations, seconds = CLOCK.at(np.array([105.0, np.nan]), np.array([3.0, 900.0]))
    assert (iterations.tolist(), seconds.tolist()) == ([0, 2], [15.0, 15.0])
    iterations, seconds = Clock(np.empty(0), np.array([-1]), None).at(np.array([7.0, 9.0]), np.array([0.0, 1.0]))
    assert (iterations.tolist(), seconds.tolist()) == ([-1, -1], [0.0, 2.0])


@pytest.fixture
def folder(writer_of, tmp_path):
    """Runs that log a loss and print it rounded, log an accuracy of the source's, a setting and a counter."""
    experiment = make_experiment(tmp_path, [metric("val acc")])
    for index in range(3):
        random = np.random.default_rng(index)
        losses, accuracies = random.random(6) * 1.23456789, random.random(6)
        rows = [row for k in range(6) for row in ((-1, k, float(k), float(k)), (0, k, k + 0.5, accuracies[k]))]
        run = make_run(experiment, index, rows, time=1000.0)
        run.stdout_file.write_text("".join(f"epoch {k} objective {loss:.6f}\n" for k, loss in enumerate(losses)))
        with writer_of(run.written / "runs" / f"Nov22_18-10-1{index}_host") as board:
            for k in range(6):
                for tag, value in (("Loss/val", losses[k]), ("accuracy", accuracies[k]), ("lr", 0.1 / (k + 1)),
                                   ("epoch", k)):  # fmt: skip
                    board.add_scalar(tag, value, k, walltime=1000.4 + k)
    return experiment


def test_a_logged_metric_keeps_the_authors_name_and_exact_values(folder):
    with open_tables(folder) as tables:
        numbers = {(each.source, each.name): each for each in tables.observation.numbers["control"]}
        records = tables.records()
    assert {key: (each.metric, each.observed) for key, each in numbers.items() if each.metric} == {
        ("stdout", "objective"): ("Loss/val", True),
        ("TensorBoard", "Loss/val"): ("Loss/val", True),
        ("TensorBoard", "accuracy"): ("val acc", False),
    }
    seen = records[(records["metric"] == "Loss/val") & (records["run"] == 1)]
    assert seen["value"].tolist() == [single(loss) for loss in np.random.default_rng(1).random(6) * 1.23456789]
    assert seen["iteration"].tolist() == [0, 1, 2, 3, 4, 5]
    assert seen["elapsed_s"].tolist() == pytest.approx([0.4, 1.4, 2.4, 3.4, 4.4, 5.4])


def test_settings_and_counters_that_are_logged_are_no_metrics(folder):
    with open_tables(folder) as tables:
        reasons = {each.name: each.reason for each in tables.observation.numbers["control"] if each.logged}
    assert reasons["lr"] == "the name is of a schedule or setting"
    assert reasons["epoch"] in ("rising numbers with the name of a counter", "whole numbers in even steps")


def test_a_name_that_a_metric_of_other_values_has_is_told_apart(writer_of, tmp_path):
    experiment = make_experiment(tmp_path, [metric("acc")])
    for index in range(2):
        run = make_run(experiment, index, [(0, -1, 1.0, 8.125 + index)])
        with writer_of(run.written) as board:
            board.add_scalar("acc", 0.5 + index / 10, 0)
    with open_tables(experiment) as tables:
        assert [name for name, _ in tables.names] == ["acc", "acc (logged)"]
