"""Stored files that were damaged: no number comes from them, and the damage has a name."""

import random
import struct

import pytest
from made import make_experiment, make_run, metric, series

from deviate.core.errors import WorkspaceUnusable
from deviate.facts.stored import read_results
from deviate.runs.snapshot.manifest import Snapshot
from deviate.store.files import write_json
from deviate.store.integrity import damage
from deviate.store.run_files import Cancelled

#: Places in each file at which it is damaged; ``benchmarks/faults`` tries more, on a real experiment.
TIMES = 12


def experiment(project):
    folder = make_experiment(project, [metric("acc")])
    write_json(folder.snapshot_file, Snapshot(project=str(project), source="", items=[], digests={}))
    runs = [make_run(folder, index, series(0, [0.5, 0.75 + index])) for index in range(3)]
    return folder, runs


def flipped(data, rng):
    """Return `data` with one bit changed."""
    position = rng.randrange(len(data))
    return data[:position] + bytes([data[position] ^ 1 << rng.randrange(8)]) + data[position + 1 :]


def cut(data, rng):
    """Return a part of `data`."""
    return data[: rng.randrange(len(data))]


def values(folder):
    """Return the values and times of each run that a report would show, and why runs have none."""
    results = read_results(folder)
    samples = {sample.name: dict(zip(sample.runs, sample.values, strict=True)) for sample in results.samples["control"]}
    return samples, {run.index: run.reason for run in results.runs if run.reason}


def test_files_as_they_were_are_whole(tmp_path):
    folder, runs = experiment(tmp_path)
    assert [damage(run, run.read_outcome()) for run in runs] == ["", "", ""]
    assert values(folder)[1] == {}


@pytest.mark.parametrize("harm", [flipped, cut])
@pytest.mark.parametrize("name", ["records-1-1.bin", "events-1-1.jsonl"])
def test_a_run_whose_files_were_damaged_gives_no_number(tmp_path, harm, name):
    folder, runs = experiment(tmp_path)
    whole, _ = values(folder)
    path, rng = runs[1].path / name, random.Random(0)
    data = path.read_bytes()
    expected = {metric: {run: value for run, value in each.items() if run != 1} for metric, each in whole.items()}
    for _ in range(TIMES):
        path.write_bytes(harm(data, rng))
        samples, reasons = values(folder)
        assert samples == expected
        assert list(reasons) == [1]
        assert name in reasons[1]
    path.write_bytes(data)
    assert values(folder) == (whole, {})


@pytest.mark.parametrize("harm", [flipped, cut])
@pytest.mark.parametrize("name", ["outcome.json", "../../experiment.json", "../../snapshot.json"])
def test_a_description_that_was_damaged_is_refused_or_says_the_same(tmp_path, harm, name):
    """What is changed behind the checksum's own text changes nothing."""
    folder, runs = experiment(tmp_path)
    whole = values(folder)
    path, rng = runs[1].path / name, random.Random(0)
    data, refused = path.read_bytes(), 0
    for _ in range(TIMES):
        path.write_bytes(harm(data, rng))
        try:
            assert values(folder) == whole
        except WorkspaceUnusable as error:
            refused += path.name in str(error)
    assert refused > 0.7 * TIMES


@pytest.mark.parametrize("harm", [flipped, cut])
@pytest.mark.parametrize(
    "name", [f"{table}{end}" for table in ("records.parquet", "reported.parquet") for end in ("", ".json")]
)
def test_a_derived_file_that_was_damaged_is_made_again(tmp_path, harm, name):
    folder, runs = reporting(tmp_path)
    whole = values(folder)
    path, rng = runs[1].path / name, random.Random(0)
    data = path.read_bytes()
    for _ in range(TIMES // 2):
        path.write_bytes(harm(data, rng))
        assert values(folder) == whole


def reporting(project):
    """Return an experiment with what three runs reported in text: one number is printed, one written to a file."""
    folder, runs = experiment(project)
    for run in runs:
        rng = random.Random(run.run.index)
        run.stdout_file.write_text("".join(f"epoch {epoch} val loss {rng.random():.4f}\n" for epoch in range(4)))
        run.written.mkdir()
        rows = [f"{epoch},{rng.random():.4f}\n" for epoch in range(4)]
        (run.written / "log.csv").write_text("epoch,f1\n" + "".join(rows))
        run.write_outcome(run.read_outcome())
    return folder, runs


@pytest.mark.parametrize("harm", [flipped, cut])
@pytest.mark.parametrize(("name", "metric"), [("stdout.log", "val loss"), ("written/log.csv", "f1")])
def test_text_that_was_damaged_gives_no_number_and_is_named(tmp_path, harm, name, metric):
    folder, runs = reporting(tmp_path)
    whole, _ = values(folder)
    assert {"val loss", "f1"} <= set(whole)
    path, rng = runs[1].path / name, random.Random(0)
    data = path.read_bytes()
    expected = {**whole, metric: {run: whole[metric][run] for run in (0, 2)}}
    for _ in range(TIMES // 3):
        path.write_bytes(harm(data, rng))
        assert values(folder) == (expected, {})
    (note,) = [each for each in read_results(folder).notes if each.slug == "text-damaged"]
    assert (name in note.message, note.runs) == (True, ["control-1"])
    path.unlink()
    assert values(folder) == (expected, {})
    path.write_bytes(data)
    assert values(folder) == (whole, {})


def twice(project, file, text):
    """Return an experiment whose three runs wrote two files of one series, and the files of the first run."""
    folder, runs = experiment(project)
    for run in runs:
        rng = random.Random(run.run.index)
        paths = [run.written / file.format(number) for number in (1, 2)]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(rng))
            if path.parent.name == "metrics":
                (path.parent.parent / "meta.yaml").write_text("name: a\n")
        run.write_outcome(run.read_outcome())
    return folder, [runs[0].written / file.format(number) for number in (1, 2)]


def table(rng):
    return "epoch,f1\n" + "".join(f"{epoch},{rng.random():.4f}\n" for epoch in range(4))


def logged(rng):
    return "".join(f"{1_700_000_000_000 + step} {rng.random()!r} {step}\n" for step in range(4))


def test_what_is_left_of_a_run_keeps_its_names_where_a_file_was_damaged(tmp_path):
    folder, (first, second) = twice(tmp_path, "2026112{}-181016.csv", table)
    whole, _ = values(folder)
    assert {"f1", "f1 (written)"} <= set(whole)
    for path in (first, second):
        data = path.read_bytes()
        path.write_bytes(data[:-1])
        samples, _ = values(folder)
        changed = [name for name in whole if samples[name] != whole[name]]
        assert len(changed) == 1
        assert samples[changed[0]] == {run: whole[changed[0]][run] for run in (1, 2)}
        path.write_bytes(data)


def test_no_tracker_is_read_where_one_of_its_files_was_damaged(tmp_path):
    folder, (first, _) = twice(tmp_path, "mlruns/1/u{}/metrics/score", logged)
    whole, _ = values(folder)
    assert {"score", "score #2"} <= set(whole)
    first.write_bytes(first.read_bytes()[:-1])
    samples, _ = values(folder)
    assert samples == {
        name: {run: value for run, value in each.items() if run or "score" not in name} for name, each in whole.items()
    }
    (note,) = [each.message for each in read_results(folder).notes if each.slug == "text-damaged"]
    assert note.endswith("bytes, so no file of a tracker is read.")


def test_a_description_that_is_gone_is_named(tmp_path):
    folder, _ = experiment(tmp_path)
    folder.snapshot_file.unlink()
    with pytest.raises(WorkspaceUnusable, match=r"snapshot\.json cannot be read: No such file"):
        values(folder)


def test_a_file_that_is_gone_is_named(tmp_path):
    folder, runs = experiment(tmp_path)
    (runs[2].path / "records-1-1.bin").unlink()
    assert values(folder)[1] == {2: "its files were damaged after it ended: records-1-1.bin is missing"}


def append(run):
    """Do what a process does that outlives its run: record, print, and start another one."""
    with (run.path / "records-1-1.bin").open("ab") as file:
        file.write(struct.pack("<iidd", 0, 2, 2.0, 9.0))
    with run.stdout_file.open("a") as file:
        file.write("epoch 2 val loss 9.0\n")
    (run.path / "events-2-2.jsonl").write_bytes((run.path / "events-1-1.jsonl").read_bytes())
    (run.path / "records-2-2.bin").write_bytes(struct.pack("<iidd", 0, 3, 3.0, 99.0))


def test_what_is_written_after_a_run_has_ended_is_left_out_and_said(tmp_path):
    folder, runs = experiment(tmp_path)
    for run in runs:
        run.stdout_file.write_text(f"epoch 0 val loss {run.run.index}.5\nepoch 1 val loss {run.run.index}.25\n")
        run.write_outcome(run.read_outcome())
    before = values(folder)
    assert "val loss" in before[0]
    append(runs[0])
    assert damage(runs[0], runs[0].read_outcome()) == ""
    assert values(folder) == before
    (note,) = [each for each in read_results(folder).notes if each.slug == "written-since"]
    assert note.runs == [runs[0].run.folder]
    assert note.message.endswith(": records-1-1.bin, records-2-2.bin, events-2-2.jsonl, stdout.log.")


def test_what_is_left_of_a_cancelled_run_is_not_looked_at(tmp_path):
    folder, _ = experiment(tmp_path)
    run = make_run(folder, 3, series(0, [1.0]), outcome=Cancelled(seconds=1.0, reason="you stopped it"))
    (run.path / "records-1-1.bin").unlink()
    assert values(folder)[1] == {3: "you stopped it"}


def test_a_run_lost_to_damage_counts_as_failed(tmp_path):
    folder, runs = experiment(tmp_path)
    (runs[1].path / "records-1-1.bin").write_bytes(b"")
    run = read_results(folder).runs_of("control")[1]
    reason = "its files were damaged after it ended: records-1-1.bin was cut from 48 to 0 bytes"
    assert (run.status, run.reason) == ("failed", reason)
