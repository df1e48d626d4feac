"""Files that are damaged, endless or made to mislead are refused with a reason, never read wrongly."""

import json
import os
import sqlite3
import threading

import pytest

from deviate.core.errors import BadOption, NotImportable, NotRuns
from deviate.imports.build import import_results
from deviate.imports.foreign import ForeignRun, in_order
from deviate.imports.objects import json_rows
from deviate.imports.patterns import LinePattern, log_rows
from deviate.imports.request import ImportRequest, TableOptions
from deviate.imports.rows import csv_rows
from deviate.imports.tables import MOST_RUNS
from deviate.imports.trackers import read_mlflow, read_wandb

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
    monkeypatch.setattr("deviate.imports.rows.MOST_BYTES", 1 << 20)
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


@pytest.mark.parametrize(
    "values",
    ["'high', 2000, 'u1', 0, 0", "0.5, 2000, 'u1', 'last', 0", "0.5, 'noon', 'u1', 0, 0", "0.5, 2000, 'u1', 9e999, 0"],
)
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
            INSERT INTO metrics VALUES ('acc', {values});
            """
        )
    database.close()
    with pytest.raises(NotImportable, match="is no SQLite store of MLflow"):
        read_mlflow([tmp_path / "a.db"])


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT hex(zeroblob(40000000)) AS key, 0.5 AS value, 1 AS step", "too big"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'acc' AS key, 0.5 AS value, i AS step "
         "FROM n WHERE i < 0", "interrupted"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30) SELECT 'acc' AS key, i AS step, "
         "0.5 AS value FROM n", "more than 20 values"),
    ],
)  # fmt: skip
def test_a_database_whose_tables_have_no_end_is_refused(tmp_path, monkeypatch, query, reason):
    for name, limit in {"MOST_VALUES": 20, "MOST_SECONDS": 0.1}.items():
        monkeypatch.setattr(f"deviate.observe.trackers.mlflow.{name}", limit)
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.executescript(
            f"""
            CREATE TABLE runs (run_uuid, name, status, start_time, end_time, lifecycle_stage, experiment_id);
            CREATE TABLE experiments (experiment_id, name);
            CREATE TABLE params (run_uuid, key, value);
            INSERT INTO runs VALUES ('u1', 'owl', 'FINISHED', 1000, 3000, 'active', 1);
            CREATE VIEW metrics AS SELECT *, 'u1' AS run_uuid, 0 AS is_nan, 0 AS timestamp FROM ({query});
            """
        )
    database.close()
    with pytest.raises(NotImportable, match=reason):
        read_mlflow([tmp_path / "a.db"])


def test_what_is_called_as_a_file_of_a_tracker_and_is_none_is_passed_over(tmp_path):
    for name in ("events.out.tfevents.1", "a.wandb", "wandb-summary.json", "meta.yaml"):
        (tmp_path / "folder" / name).mkdir(parents=True)
        os.mkfifo(tmp_path / name)
    for format_name in ("tensorboard", "wandb", "mlflow", None):
        with pytest.raises(NotImportable):
            import_results(ImportRequest(paths=[tmp_path], project=tmp_path, format=format_name))


def test_names_with_thousands_of_digits_are_in_order(tmp_path):
    long = "9" * 5000
    runs = [ForeignRun(label=f"run {digits}", readings=[]) for digits in (long, "10", "009", "0")]
    assert [run.label for run in in_order(runs)] == ["run 0", "run 009", "run 10", f"run {long}"]


def test_a_column_without_a_name_is_none(tmp_path):
    (tmp_path / "a.csv").write_text("seed,,acc\n0,1,0.5\n")
    request = ImportRequest(paths=[tmp_path / "a.csv"], project=tmp_path, table=TableOptions(run=("",)))
    with pytest.raises(BadOption, match="there is no column ''"):
        import_results(request)


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
    assert "--set mean_over" in no.value.hint
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
    monkeypatch.setattr("deviate.imports.rows.MOST_CELLS", 100)
    (tmp_path / "b.json").write_text(json.dumps([{"a": 1}] * 101))
    for name in ("a.csv", "b.json"):
        with pytest.raises(NotImportable, match="values; at most 100 are read"):
            imported(tmp_path, name)
    assert not (tmp_path / ".deviate").exists()


def imported(project, file, **settings):
    return import_results(ImportRequest(paths=[project / file], project=project, **settings))


def test_a_template_takes_no_longer_where_its_last_piece_is_missing():
    template = " ... ".join(f"x{place}: {{x{place}}}" for place in range(12))
    line = "x0: 1 x1: 2 x2: 3 x3: 4 x4: 5 x5: 6 x6: 7 x7: 8 x8: 9 x9: 10 x10: 11 " * 200
    pattern = LinePattern(template)
    assert pattern.match(line) == {}
    assert pattern.match(f"{line} x11: 12")["x11"] == "12"
    assert pattern.match("before x0: 0.5 x1: 1 " + line + "x11: 1e-3")["x0"] == "0.5"


def test_a_long_list_of_words_beside_curves_is_refused_at_once(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps({"history": {"run_id": ["a"] * 30_000, "loss": [0.5, 0.25] * 15_000}}))
    with pytest.raises(NotImportable, match="is a list of 30,000 items"):
        json_rows(path)
