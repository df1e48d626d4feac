"""Files that are damaged, endless or made to mislead are refused with a reason, never read wrongly."""

import json
import os
import sqlite3
import threading

import pytest

from deviate.errors import NotImportable
from deviate.importing.logs import LinePattern, log_rows
from deviate.importing.mlflow import read_mlflow
from deviate.importing.rows import csv_rows, json_rows
from deviate.importing.wandb import read_wandb

DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000


@pytest.mark.parametrize("text", ['[{"acc": 0.9, "acc": 0.5}]', '{"acc": 0.9}\n{"acc": 1, "acc": 2}\n{"acc": 3}'])
def test_two_values_of_one_name_in_a_json_object_are_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(NotImportable, match="an object has two values of 'acc'"):
        json_rows(tmp_path / "a.json")


def test_a_pipe_into_which_nothing_is_written_is_refused_and_another_is_read(tmp_path):
    pipe = tmp_path / "a.log"
    os.mkfifo(pipe)
    with pytest.raises(NotImportable, match="is a pipe into which nothing is written"):
        log_rows(pipe, [LinePattern("acc {acc}")])
    writer = threading.Thread(target=pipe.write_text, args=("acc 0.5\n",))
    writer.start()
    assert log_rows(pipe, [LinePattern("acc {acc}")]) == [{"acc": "0.5"}]
    writer.join()


def test_an_endless_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("deviate.importing.rows.MOST_BYTES", 1 << 20)
    (tmp_path / "a.csv").symlink_to("/dev/zero")
    with pytest.raises(NotImportable, match="does not end; at most 1 MiB are read"):
        csv_rows(tmp_path / "a.csv")


@pytest.mark.parametrize("data", [b'{"acc": "\xff\xfe"}', DEEP.encode(), b'{"a":' * 900 + b"1" + b"}" * 900, b"["])
def test_a_wandb_summary_that_cannot_be_read_is_a_run_without_values(tmp_path, data):
    (tmp_path / "run-1").mkdir()
    (tmp_path / "run-1" / "wandb-summary.json").write_bytes(data)
    (run,) = read_wandb([tmp_path]).runs
    assert run.readings == []


@pytest.mark.parametrize("step", [1e400, float("nan"), "last"])
def test_a_wandb_step_that_is_no_number_is_none(tmp_path, step):
    (tmp_path / "run-1").mkdir()
    (tmp_path / "run-1" / "wandb-summary.json").write_text(json.dumps({"acc": 0.5, "_step": step}))
    (run,) = read_wandb([tmp_path]).runs
    assert [(reading.metric, reading.iteration, reading.value) for reading in run.readings] == [("acc", -1, 0.5)]


@pytest.mark.parametrize("values", ["('acc', 'high', 2000, 'u1', 0, 0)", "('acc', 0.5, 2000, 'u1', 'last', 0)",
                                    "('acc', 0.5, 'noon', 'u1', 0, 0)"])  # fmt: skip
def test_words_where_mlflow_has_numbers_are_refused(tmp_path, values):
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.executescript(
            f"""
            CREATE TABLE experiments (experiment_id INTEGER, name TEXT);
            CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time INTEGER, end_time INTEGER,
                               lifecycle_stage TEXT, experiment_id INTEGER);
            CREATE TABLE metrics (key TEXT, value, timestamp, run_uuid TEXT, step, is_nan INTEGER);
            CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
            INSERT INTO runs VALUES ('u1', 'owl', 'FINISHED', 1000, 3000, 'active', 1);
            INSERT INTO metrics VALUES {values};
            """
        )
    database.close()
    with pytest.raises(NotImportable, match="is no SQLite store of MLflow"):
        read_mlflow([tmp_path / "a.db"])


def test_a_seed_of_mlflow_in_bytes_of_no_encoding_is_a_label_all_the_same(tmp_path):
    run = tmp_path / "1" / "u1"
    (run / "metrics").mkdir(parents=True)
    (run / "params").mkdir()
    (run / "meta.yaml").write_text("run_name: owl\nstatus: 3\nstart_time: 1000\nend_time: 3000\n")
    (run / "metrics" / "acc").write_text("2000 0.5 0\n")
    (run / "params" / "seed").write_bytes(b"\xff")
    (read,) = read_mlflow([tmp_path]).runs
    assert (read.label, read.readings[0].value) == ("owl (seed \ufffd)", 0.5)
