"""Files that are damaged, endless or made to mislead are refused with a reason, never read wrongly."""

import json
import os
import sqlite3
import threading

import pytest

from deviate.errors import NotImportable, NotRuns
from deviate.importing.import_results import import_results
from deviate.importing.logs import LinePattern, log_rows
from deviate.importing.mlflow import read_mlflow
from deviate.importing.request import ImportRequest
from deviate.importing.rows import csv_rows, json_rows
from deviate.importing.tables import MOST_RUNS
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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "run,epoch,loss\n0,0,1\n0,0,2\n1,0,3\n"),
        (
            "a.jsonl",
            '{"run": 0, "epoch": 0, "loss": 1}\n{"run": 0, "epoch": 0, "loss": 2}\n{"run": 1, "epoch": 0, "loss": 3}',
        ),
        ("a.tsv", "run\tepoch\tmetric\tvalue\n0\t0\tloss\t1\n0\t0\tloss\t2\n1\t0\tloss\t3\n"),
    ],
)
def test_two_values_of_one_run_and_iteration_are_refused_with_both_readings(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(
        NotRuns, match=r"run 0 has 2 values of 'loss' at epoch 0: .* several trainings, or of parts"
    ) as no:
        imported(tmp_path, name)
    assert "--run-column" in no.value.hint
    assert "--mean-over" in no.value.hint
    assert not (tmp_path / ".deviate").exists()


def test_the_hint_names_the_column_that_tells_the_rows_of_an_iteration_apart(tmp_path):
    (tmp_path / "a.csv").write_text("seed,epoch,worker,loss\n0,0,a,1\n0,0,b,2\n1,0,a,3\n1,0,b,4\n")
    (tmp_path / "b.csv").write_text("seed,epoch,step,loss\n0,0,1,1\n0,0,2,2\n1,0,1,3\n1,0,2,4\n")
    with pytest.raises(NotRuns) as no:
        imported(tmp_path, "a.csv")
    assert "worker" in no.value.hint
    # What counts within an epoch explains its rows.
    imported(tmp_path, "b.csv")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"run": 0, "epoch": 0, "lo\\ud800ss": 1}\n{"run": 1, "epoch": 0, "lo\\ud800ss": 2}'),
        ("b.json", '[{"run": "a\\udcff", "acc": 1}, {"run": "b", "acc": 2}, {"run": "c\\ud83d", "acc": 3}]'),
        ("c\udcff.csv", "epoch,acc\n0,1\n1,2\n"),
        ("d.json", '[{"run": 1, "method": "\\ud800", "acc": 1}, {"run": 2, "method": "\\ud801", "acc": 2}]'),
    ],
)
def test_half_a_pair_of_surrogates_is_stored_as_its_number(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (folder,) = imported(tmp_path, name, name="e")
    experiment = folder.read_experiment()
    said = str((experiment.metrics, experiment.imported))
    assert "\\ud" in said or name.startswith("d")
    said.encode()


def test_more_runs_or_cells_than_are_read_are_refused_before_anything_is_made(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("run,loss\n" + "".join(f"{run},0.5\n" for run in range(MOST_RUNS + 1)))
    with pytest.raises(NotImportable, match="2,001 runs were found; at most 2,000 are imported"):
        imported(tmp_path, "a.csv")
    monkeypatch.setattr("deviate.importing.rows.MOST_CELLS", 100)
    (tmp_path / "b.json").write_text(json.dumps([{"a": 1}] * 101))
    for name in ("a.csv", "b.json"):
        with pytest.raises(NotImportable, match="values; at most 100 are read"):
            imported(tmp_path, name)
    assert not (tmp_path / ".deviate").exists()


def imported(project, file, **settings):
    return import_results(ImportRequest(paths=[project / file], project=project, **settings))
