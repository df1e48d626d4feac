"""Files of trackio 0.43 and of versions before runs had an id, offline sessions of ClearML 2."""

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner

from deviate import api
from deviate.cli.main import group
from deviate.core.errors import NotImportable
from deviate.imports.formats import sources_of
from deviate.imports.objects import json_rows
from deviate.imports.request import ImportRequest
from deviate.imports.trackers import is_trackio, read_trackio


def made(path, *, with_ids=True):
    run = "run_id TEXT, " if with_ids else ""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE metrics (id INTEGER PRIMARY KEY, {run}timestamp, run_name, step, metrics)")
        if with_ids:
            database.execute("CREATE TABLE configs (id INTEGER PRIMARY KEY, run_id, run_name, config, created_at)")
        for seed, (first, last) in enumerate([(0.9, 0.5), (0.8, 0.25)]):
            named = [f"id-{seed}"] * with_ids
            for step, loss in enumerate((first, last)):
                # As orjson writes it: bytes, and words for what is not finite.
                row = json.dumps({"loss": loss, "eval": {"acc": 1 - loss}, "lr": "Infinity", "note": "x"}).encode()
                values = [*named, "2026-11-30T04:56:04+00:00", "same name", step, row]
                columns = ", ".join([*["run_id"] * with_ids, "timestamp", "run_name", "step", "metrics"])
                database.execute(f"INSERT INTO metrics ({columns}) VALUES ({', '.join('?' * len(values))})", values)
            if with_ids:
                config = json.dumps({"seed": seed, "_Username": None}).encode()
                database.execute("INSERT INTO configs VALUES (?, ?, ?, ?, ?)", (seed, *named, "same name", config, ""))
    return path


def test_runs_of_one_name_stay_apart_and_have_their_settings(tmp_path):
    file = made(tmp_path / "digits.db")
    assert [sources_of(ImportRequest(paths=[path], project=tmp_path)).kind for path in (file, tmp_path)] == [
        "trackio"
    ] * 2
    runs = read_trackio([tmp_path]).runs
    assert [(run.identity, run.group, run.settings) for run in runs] == [
        ("id-0", "digits", {"seed": "0"}),
        ("id-1", "digits", {"seed": "1"}),
    ]
    last = {each.metric: each.value for each in runs[1].readings if each.iteration == 1}
    assert last == {"loss": 0.25, "eval/acc": 0.75, "lr": float("inf")}


def test_early_files_have_runs_by_name(tmp_path):
    (run,) = read_trackio([made(tmp_path / "old.db", with_ids=False)]).runs
    assert (run.label, run.settings, len(run.readings)) == ("same name", {}, 12)


@pytest.mark.parametrize("row", ["[", "[" * 100_000, '{"loss": 1' + "0" * 400 + "}"])
def test_what_is_no_file_of_trackio_is_refused(tmp_path, row):
    file = tmp_path / "broken.db"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE metrics (id, run_name, step, timestamp, metrics)")
        database.execute("INSERT INTO metrics VALUES (1, 'a', 0, '', ?)", [row])
    with pytest.raises(NotImportable, match="no file of trackio"):
        read_trackio([file])
    (tmp_path / "text.db").write_text("no database")
    assert not is_trackio(tmp_path / "text.db")


def test_lines_of_lists_are_rows(tmp_path):
    """ClearML writes what it reports in parts, a list a line."""
    event = {"type": "training_stats_scalar", "task": "offline-1", "metric": "loss", "variant": "train"}
    lines = [[{**event, "iter": step, "value": 1 / step} for step in steps] for steps in ((1, 2), (4,))]
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    rows = json_rows(tmp_path / "metrics.jsonl")
    assert [(row["iter"], row["metric"], row["value"]) for row in rows] == [
        ("1", "loss", "1.0"), ("2", "loss", "0.5"), ("4", "loss", "0.25"),
    ]  # fmt: skip


def test_more_rows_of_trackio_than_are_read_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("deviate.imports.trackers.MOST_VALUES", 3)
    with pytest.raises(NotImportable, match="more than 3 rows"):
        read_trackio([made(tmp_path / "digits.db")])
    monkeypatch.setattr("deviate.imports.trackers.MOST_VALUES", 4)
    assert len(read_trackio([tmp_path]).runs) == 2


def test_a_table_of_aim_has_a_run_for_each_hash(tmp_path, monkeypatch):
    """Columns as Aim 3 makes them: ``Repo.query_metrics("").dataframe(...)``, the context joined to the name."""
    monkeypatch.chdir(tmp_path)
    lines = ["idx,step,value,epoch,time,run.hash,run.hparams.lr,run.hparams.seed,metric.name"]
    for minute, run in enumerate(("3f2a9c0d4b5e6f7a8b9c0d1e", "c3d45e6f7a8b9c0d1e2f3a4b")):
        for name in ("train loss", "val loss"):
            for step in range(3):
                value = minute + step / 10 + (name == "val loss") / 100
                lines.append(f"{step},{step},{value},,2026-01-01 00:0{minute}:0{step},{run},0.1,1,{name}")
    (tmp_path / "aim.csv").write_text("\n".join(lines) + "\n")
    CliRunner().invoke(group, ["import", "aim.csv", "--run-column", "run.hash"], catch_exceptions=False)
    values = api.load("aim").samples().pivot_table(index="run", columns="metric", values="value")
    assert values.round(9).to_dict("list") == {"train loss": [0.2, 1.2], "val loss": [0.21, 1.21]}
