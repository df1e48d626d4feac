"""TensorBoard, MLflow and wandb: what these write is what is read, against their own packages where they are there."""

import contextlib
import json
import math
import random
import re
import shutil
import sqlite3
import struct
import zlib
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.core.errors import BadOption, NotImportable, NotRuns
from deviate.imports.build import propose
from deviate.imports.foreign import ForeignRun, Reading
from deviate.imports.formats import read_results, recurring, sources_of
from deviate.imports.request import ImportRequest, TableOptions
from deviate.imports.trackers import read_mlflow, read_tensorboard, read_wandb
from deviate.imports.trainings import split_stored
from deviate.observe.trackers.tensorboard import MOST_CHECKED, TornMessageError, fields, read_events, signed, varint
from deviate.observe.trackers.wandb import BLOCK, read_logged


def stored(path, kind, **options):
    request = ImportRequest(paths=[path], project=path, format=kind, table=TableOptions(**options))
    return read_results(request, sources_of(request))


def curves(results):
    return {
        run.label: {
            name: [(reading.iteration, reading.value) for reading in run.readings if reading.metric == name]
            for name in {reading.metric for reading in run.readings}
        }
        for run in results.runs
    }


# TensorBoard


@pytest.fixture
def torch_writer():
    return pytest.importorskip("torch.utils.tensorboard").SummaryWriter


def test_scalars_are_those_the_tensorboard_package_reads(torch_writer, tmp_path):
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    for seed in range(3):
        rng = np.random.default_rng(seed)
        with torch_writer(tmp_path / f"seed{seed}") as writer:
            for step in range(5):
                writer.add_scalar("val/acc", rng.random(), step)
                writer.add_scalar("new style", rng.random(), step, new_style=True)
            writer.add_histogram("weights", rng.random(10), 0)
            writer.add_text("note", "no number", 0)
    for path in tmp_path.rglob("*tfevents*"):
        expected = [
            (value.tag, event.step, event.wall_time, float(value.tensor.float_val[0]))
            for event in loader.EventFileLoader(str(path)).Load()
            for value in event.summary.value
            if value.metadata.plugin_data.plugin_name == "scalars"
        ]
        assert [
            (reading.tag, reading.step, reading.wall_time, reading.value) for reading in read_events(path)
        ] == expected
    results = read_tensorboard([tmp_path])
    assert [run.label for run in results.runs] == ["seed0", "seed1", "seed2"]
    assert [reading.elapsed_s >= 0 for run in results.runs for reading in run.readings]


def test_tensorflow_2_writes_tensors(tmp_path):
    tensorflow = pytest.importorskip("tensorflow")
    for part in ("train", "validation"):
        with tensorflow.summary.create_file_writer(str(tmp_path / "run1" / part)).as_default():
            for step in range(3):
                tensorflow.summary.scalar("epoch_acc", np.float32(step / 4), step=step)
    expected = [(0, 0.0), (1, 0.25), (2, 0.5)]
    assert curves(read_tensorboard([tmp_path])) == {
        "run1": {"train/epoch_acc": expected, "validation/epoch_acc": expected}
    }


def test_the_hyperparameters_of_tensorboard_are_settings(torch_writer, tmp_path):
    for run, rate in enumerate([0.1, 0.01]):
        with torch_writer(str(tmp_path / f"r{run}")) as writer:
            writer.add_hparams({"lr": rate, "depth": 3, "norm": True, "act": "relu"}, {"acc": 0.5}, run_name=".")
    settings = [run.settings for run in read_tensorboard([tmp_path]).runs]
    assert settings[0] == {"lr": "0.1", "depth": "3", "norm": "1", "act": "relu"}
    assert settings[1]["lr"] == "0.01"


def test_folders_of_add_scalars_belong_to_their_run(torch_writer, tmp_path):
    with torch_writer(tmp_path / "seed1") as writer:
        writer.add_scalar("acc", 0.5, 0)
        writer.add_scalars("loss", {"train": 1.0, "val": 2.0}, 0)
    assert curves(read_tensorboard([tmp_path])) == {
        "seed1": {"acc": [(0, 0.5)], "loss_train": [(0, 1.0)], "loss_val": [(0, 2.0)]}
    }


def test_a_folder_called_as_a_split_is_a_run_beside_other_runs(torch_writer, tmp_path):
    for names in (("train", "train2"), ("validation", "second"), ("train", "val")):
        for value, name in enumerate(names):
            with torch_writer(tmp_path / names[1] / name) as writer:
                writer.add_scalar("loss", value, 0)
    read = {names: curves(read_tensorboard([tmp_path / names])) for names in ("train2", "second", "val")}
    assert read["train2"] == {"train": {"loss": [(0, 0)]}, "train2": {"loss": [(0, 1)]}}
    assert read["second"] == {"second": {"loss": [(0, 1)]}, "validation": {"loss": [(0, 0)]}}
    assert read["val"] == {"val": {"train/loss": [(0, 0)], "val/loss": [(0, 1)]}}


def test_a_copy_of_an_event_file_counts_once(torch_writer, tmp_path):
    with torch_writer(tmp_path / "a") as writer:
        writer.add_scalar("acc", 0.5, 0)
    shutil.copytree(tmp_path / "a", tmp_path / "latest")
    results = read_tensorboard([tmp_path])
    assert [run.label for run in results.runs] == ["a"]
    assert results.notes[1] == "latest is a copy of a, and is counted once."


#: Steps and values that programs wrote one after the other into one folder; how many trainings they are.
WRITTEN_IN_TURN = [
    ([range(6), range(6)], "down, then down", 2),
    ([range(6), range(4, 10)], "on", 1),
    ([range(6), range(6)], "on", 2),
    ([range(3), range(1, 6)], "on", 1),
    ([range(1), range(1)], "down, then down", 1),
]


@pytest.mark.parametrize(("steps", "values", "count"), WRITTEN_IN_TURN)
def test_trainings_one_after_the_other_in_a_folder_are_told_apart(torch_writer, tmp_path, steps, values, count):
    made = 0
    for number, each in enumerate(steps):
        with torch_writer(tmp_path / "a") as writer:
            for place, step in enumerate(each):
                value = 9 * 0.5 ** (made if values == "on" else place)
                writer.add_scalar("loss", value, step, walltime=1e9 + made)
                writer.add_scalar("acc", -value, step, walltime=1e9 + made)
                made += 1
        (path,) = (tmp_path / "a").glob("events*")
        path.rename(tmp_path / f"{number}.tfevents")
    (tmp_path / "a").rmdir()
    (run,) = read_tensorboard([tmp_path]).runs
    if count > 1:
        with pytest.raises(NotRuns, match=r"or parts of one|or the same one"):
            split_stored(run, "step", TableOptions())
        (one,) = split_stored(run, "step", TableOptions(rows="iterations"))
        assert sorted({reading.iteration for reading in one.readings}) == list(range(12))
    runs = split_stored(run, "step", TableOptions(iteration="step" if count > 1 else ""))
    assert len(runs) == count
    assert min(reading.elapsed_s for reading in runs[-1].readings) == 0
    said = [note for each in runs for note in each.notes]
    assert len(said) == (len(steps[0]) > 1)


def test_a_torn_event_file_gives_what_is_whole(torch_writer, tmp_path):
    with torch_writer(tmp_path) as writer:
        for step in range(4):
            writer.add_scalar("acc", step / 4, step)
    (path,) = tmp_path.glob("*tfevents*")
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    assert [reading.value for reading in read_events(path)] == [0.0, 0.25, 0.5]
    path.write_bytes(whole[:5])
    assert list(read_events(path)) == []


def test_a_flipped_bit_in_an_event_file_leaves_the_run_out_or_changes_nothing(torch_writer, tmp_path):
    for seed in range(2):
        with torch_writer(tmp_path / f"seed{seed}") as writer:
            for step in range(3):
                writer.add_scalar("acc", seed + step / 4, step)
    (path,) = (tmp_path / "seed1").glob("*tfevents*")
    whole, expected = path.read_bytes(), curves(read_tensorboard([tmp_path]))
    rng = random.Random(1)
    for _ in range(100):
        at = rng.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        results = read_tensorboard([tmp_path])
        assert curves(results)["seed0"] == expected["seed0"]
        assert [run.is_finished for run in results.runs] == [True, False]
        assert re.match("the event file is damaged: bytes .* are not those that were written", results.runs[1].broken)


def test_a_large_record_is_read_by_its_length_alone(torch_writer, tmp_path):
    with torch_writer(tmp_path) as writer:
        writer.add_text("note", "x" * (MOST_CHECKED + 1), 0)
        writer.add_scalar("acc", 0.5, 0)
    (path,) = tmp_path.glob("*tfevents*")
    path.write_bytes(path.read_bytes().replace(b"xxx", b"xyx", 1))
    assert [reading.value for reading in read_events(path)] == [0.5]


def test_an_event_file_without_values_is_a_run_that_failed(torch_writer, tmp_path):
    for seed in range(3):
        with torch_writer(tmp_path / f"seed{seed}") as writer:
            writer.add_scalar("acc", seed / 4, 0)
    for name, data in (("seed3", b""), ("seed4", b"no event file at all"), ("seed5/train", b"")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "events.out.tfevents.1.host").write_bytes(data)
    with torch_writer(tmp_path / "seed6") as writer:
        writer.add_text("note", "no number", 0)
    results = read_tensorboard([tmp_path])
    assert [(run.label, run.is_finished, run.broken) for run in results.runs] == [
        ("seed0", True, ""),
        ("seed1", True, ""),
        ("seed2", True, ""),
        ("seed3", False, "the event file is empty"),
        ("seed4", False, "the event file is damaged: bytes 0 to 8 are not those that were written"),
        ("seed5", False, "the event file is empty"),
        ("seed6", False, "no scalar in the event file"),
    ]
    assert len(results.notes) == 1


def test_a_folder_without_scalars_around_runs_is_no_run_and_is_named(torch_writer, tmp_path):
    root = tmp_path / "logs"
    with torch_writer(root) as writer:
        writer.add_text("note", "no number", 0)
    with torch_writer(root / "seed0") as writer:
        writer.add_scalar("acc", 0.5, 0)
    results = read_tensorboard([root])
    assert [run.label for run in results.runs] == ["seed0"]
    assert results.notes[1] == "logs is not a separate run, but belongs to seed0: no scalar in the event file."


# Protocol buffers


def encoded(number):
    number &= (1 << 64) - 1
    parts = []
    while True:
        parts.append((number & 0x7F) | (0x80 if number > 0x7F else 0))
        number >>= 7
        if not number:
            return bytes(parts)


def field(number, value):
    if isinstance(value, int):
        return encoded(number << 3) + encoded(value)
    if isinstance(value, float):
        return encoded(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return encoded(number << 3 | 2) + encoded(len(data)) + data


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_varints_come_back(number):
    data = encoded(number)
    assert signed(varint(data, 0)[0]) == number
    assert varint(data, 0)[1] == len(data)


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(data):
    with contextlib.suppress(TornMessageError):
        list(fields(data))


# wandb


def wandb_log(records):
    """Frame records as LevelDB does."""
    data = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        first = True
        while True:
            left = BLOCK - len(data) % BLOCK
            if left < 7:
                data += bytes(left)
                continue
            part, record = record[: left - 7], record[left - 7 :]
            kind = (1 if first else 4) if not record else (2 if first else 3)
            data += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            first = False
            if not record:
                break
    return bytes(data)


def history(step, **values):
    items = {**values, "_step": step, "_runtime": step + 0.5}
    parts = [field(1, field(2, name) + field(16, json.dumps(value))) for name, value in items.items()]
    return field(1, step) + field(2, b"".join(parts) + field(2, field(1, step)))


def wandb_run(seed, steps=3, exit_code=0, padding=0):
    config = field(1, field(1, "seed") + field(16, str(seed)))
    run = field(17, field(1, f"id{seed}") + field(4, config) + field(8, f"happy-{seed}"))
    rows = [history(step, acc=step / 4, note="x" * padding) for step in range(steps)]
    end = [] if exit_code is None else [field(18, (field(1, exit_code) if exit_code else b"") + field(2, 9))]
    return wandb_log([run, *rows, *end])


def write_wandb(root, seed, data):
    folder = root / "wandb" / f"offline-run-20260101_00000{seed}-id{seed}"
    folder.mkdir(parents=True)
    (folder / f"run-id{seed}.wandb").write_bytes(data)
    return folder / f"run-id{seed}.wandb"


def test_offline_runs_of_wandb(tmp_path):
    write_wandb(tmp_path, 1, wandb_run(1))
    write_wandb(tmp_path, 2, wandb_run(2, exit_code=1))
    write_wandb(tmp_path, 3, wandb_run(3, exit_code=None))
    results = read_wandb([tmp_path / "wandb"])
    assert curves(results)["happy-1"] == {"acc": [(0, 0.0), (1, 0.25), (2, 0.5)]}
    assert [(run.status, run.seconds) for run in results.runs] == [("finished", 9), ("crashed", 9), ("not ended", None)]


def test_what_a_run_of_wandb_wrote_when_it_was_resumed_is_of_one_run(tmp_path):
    write_wandb(tmp_path, 1, wandb_run(1)).parent.rename(tmp_path / "wandb" / "run-1-id1")
    more = field(17, field(1, "id1") + field(8, "happy-1"))
    write_wandb(tmp_path, 1, wandb_log([more, history(3, acc=0.5), field(18, field(2, 9))]))
    (run,) = read_wandb([tmp_path / "wandb"]).runs
    assert sorted(each.iteration for each in run.readings) == [0, 1, 2, 3]
    assert "the values of 2 folders are of one run" in run.notes[0]


def test_records_longer_than_a_block_and_a_torn_end(tmp_path):
    data = wandb_run(1, steps=6, padding=20_000)
    path = write_wandb(tmp_path, 1, data)
    assert len(read_wandb([path]).runs[0].readings) == 6
    path.write_bytes(data[:-30_000])
    assert [reading.iteration for reading in read_wandb([path]).runs[0].readings] == [0, 1, 2, 3]


def test_what_is_in_the_summary_alone_comes_last_and_has_no_time(tmp_path):
    summary = b"".join(field(1, field(1, name) + field(16, text)) for name, text in
                       (("best", "0.75"), ("acc", "0.25"), ("_runtime", "9"), ("note", '"x"')))  # fmt: skip
    path = write_wandb(tmp_path, 1, wandb_log([history(0, acc=0.25, _timestamp=1.7e9), field(3, summary)]))
    first, last = read_logged(path)
    assert (first.tag, first.step, first.value, first.wall_time) == ("acc", 0, 0.25, 1.7e9)
    assert (last.tag, last.step, last.value) == ("best", 0, 0.75)
    assert math.isnan(last.wall_time)


def test_a_flipped_bit_in_a_wandb_file_leaves_the_run_out(tmp_path):
    write_wandb(tmp_path, 1, wandb_run(1))
    path = write_wandb(tmp_path, 2, wandb_run(2, padding=20_000))
    whole, rng = path.read_bytes(), random.Random(1)
    for _ in range(200):
        at = rng.randrange(len(b":W&B\xe1\xbe\x00"), len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        first, second = read_wandb([tmp_path]).runs
        assert (first.is_finished, second.is_finished) == (True, False), at


def test_the_summary_of_a_file_of_wandb_that_was_cut_gives_its_last_values(tmp_path):
    path = write_wandb(tmp_path, 1, wandb_run(1, exit_code=None))
    (path.parent / "files").mkdir()
    summary = {"acc": 0.9, "_step": 7, "chart": {"_type": "image-file", "size": 12}, "_wandb": {"runtime": 60}}
    (path.parent / "files" / "wandb-summary.json").write_text(json.dumps(summary))
    results = read_wandb([tmp_path])
    assert curves(results) == {"happy-1": {"acc": [(0, 0.0), (1, 0.25), (2, 0.5), (7, 0.9)]}}
    # No record tells its end, and the time in the summary was written while it went on.
    assert [(run.seconds, run.status) for run in results.runs] == [(60, "not ended")]


def test_a_summary_without_a_value_is_no_run_of_one_value(tmp_path):
    write_wandb(tmp_path, 1, wandb_run(1))
    path = write_wandb(tmp_path, 2, wandb_log([]))
    (path.parent / "files").mkdir()
    (path.parent / "files" / "wandb-summary.json").write_text(json.dumps({"_wandb": {"runtime": 3}}))
    assert read_wandb([tmp_path]).notes == []


def test_event_files_beside_tables_in_other_folders_are_asked_about(tmp_path):
    for k in range(4):
        folder = tmp_path / "logs" / f"version_{k}"
        folder.mkdir(parents=True)
        if k < 2:
            (folder / "metrics.csv").write_text("epoch,loss\n0,0.5\n1,0.4\n")
        else:
            (folder / "events.out.tfevents.1").write_bytes(b"")
    request = ImportRequest(paths=[tmp_path / "logs"], project=tmp_path)
    with pytest.raises(NotRuns, match=r"some runs of .*logs have event files, and others metrics\.csv") as error:
        sources_of(request)
    assert error.value.hint.endswith("logs/*/metrics.csv")


def test_a_seed_that_several_runs_carry_is_said_once(tmp_path):
    for run, seed in enumerate([3, 3, 4, 4]):
        mlflow_run(tmp_path / "mlruns" / "0", f"r{run}", [0.5 + run / 10], seed=seed)
    request = ImportRequest(paths=[tmp_path / "mlruns"], project=tmp_path)
    (proposal,) = propose(read_results(request, sources_of(request)), request, "mlflow", datetime.now().astimezone())
    said = [note for note in proposal.experiment.imported.notes if "Seed" in note]
    assert said == [
        "Seed 3 is that of 2 runs (r0 (seed 3), r1 (seed 3)), and 1 more seeds are those of several: if nothing else "
        "was set otherwise in them, they are copies, or differ by the implementation alone."
    ]


def test_a_history_beside_the_summary_is_the_curve(tmp_path):
    (tmp_path / "wandb-summary.json").write_text(json.dumps({"loss": 0.5, "_step": 1}))
    lines = [{"loss": 0.7, "_step": 0, "_runtime": 2.0}, {"loss": 0.5, "_step": 1, "_runtime": 4.0}]
    (tmp_path / "wandb-history.jsonl").write_text("\n".join(map(json.dumps, lines)))
    results = read_wandb([tmp_path])
    assert [*curves(results).values()] == [{"loss": [(0, 0.7), (1, 0.5)]}]
    assert results.notes == []


def test_a_wandb_file_without_values_is_a_run_that_failed(tmp_path):
    write_wandb(tmp_path, 1, wandb_run(1))
    write_wandb(tmp_path, 2, b"")
    folder = write_wandb(tmp_path, 3, b"").parent / "files"
    folder.mkdir()
    (folder / "wandb-summary.json").write_text(json.dumps({"acc": 0.5}))
    # Files of a head alone are equal, and no copies.
    for seed in (4, 5):
        write_wandb(tmp_path, seed, wandb_log([]))
    results = read_wandb([tmp_path])
    assert [(run.label, len(run.readings), run.broken) for run in results.runs] == [
        ("happy-1", 3, ""),
        *((f"id{seed}", 0, f"no value in run-id{seed}.wandb") for seed in (2, 4, 5)),
        ("offline-run-20260101_000003-id3", 1, ""),
    ]


def test_a_summary_alone_gives_one_value_a_metric(tmp_path):
    for seed in (1, 2):
        folder = tmp_path / f"run-{seed}" / "files"
        folder.mkdir(parents=True)
        summary = {"acc": 0.5 + seed, "loss": "NaN", "_step": 9, "_wandb": {"runtime": 7}, "best": {"acc": 1.0}}
        (folder / "wandb-summary.json").write_text(json.dumps(summary))
    results = read_wandb([tmp_path])
    assert curves(results)["run-1"]["acc"] == [(9, 1.5)]
    assert math.isnan(curves(results)["run-1"]["loss"][0][1])
    assert curves(results)["run-2"]["best/acc"] == [(9, 1.0)]
    assert results.runs[0].seconds == 7
    assert "only the summary" in results.notes[0]


def test_a_copy_of_a_run_counts_once_and_its_configuration_is_read(tmp_path):
    for name, seed in (("run-a", 1), ("run-b", 2), ("latest-run", 2)):
        folder = tmp_path / name / "files"
        folder.mkdir(parents=True)
        (folder / "wandb-summary.json").write_text(json.dumps({"acc": 0.5, "_runtime": 9}))
        config = f"wandb_version: 1\nseed:\n  desc: null\n  value: {seed}\nlr:\n    value: 0.{seed}\n"
        (folder / "config.yaml").write_text(config)
    runs = read_wandb([tmp_path]).runs
    assert [(run.label, run.settings) for run in runs] == [
        ("run-a (seed 1)", {"seed": "1", "lr": "0.1"}),
        ("run-b (seed 2)", {"seed": "2", "lr": "0.2"}),
    ]


def test_what_a_program_sets_after_its_start_is_in_the_configuration_beside(tmp_path):
    path = write_wandb(tmp_path, 1, wandb_run(1))
    (path.parent / "files").mkdir()
    (path.parent / "files" / "config.yaml").write_text("seed:\n    value: 7\nwidth:\n    value: 64\n")
    (run,) = read_wandb([tmp_path]).runs
    assert run.settings == {"seed": "1", "width": "64"}


def test_what_the_wandb_package_writes(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(mode="offline", dir=str(tmp_path), name="one", config={"seed": 17})
    for step in range(3):
        run.log({"acc": step / 4, "nested": {"loss": float("nan")}})
    run.finish()
    # Its service writes the file in a process of its own.
    wandb.teardown()
    (run_read,) = read_wandb([tmp_path]).runs
    assert (run_read.label, run_read.status) == ("one (seed 17)", "finished")
    assert [reading.value for reading in run_read.readings if reading.metric == "acc"] == [0.0, 0.25, 0.5]
    assert all(math.isnan(reading.value) for reading in run_read.readings if reading.metric == "nested/loss")


# MLflow


def mlflow_run(folder, name, values, status=3, seed=None):
    run = folder / name
    (run / "metrics" / "val").mkdir(parents=True)
    (run / "params").mkdir()
    meta = {"run_name": name, "status": status, "start_time": 1000, "end_time": 5000, "lifecycle_stage": "active"}
    (run / "meta.yaml").write_text("".join(f"{key}: {value}\n" for key, value in meta.items()))
    lines = [f"{2000 + 1000 * step} {value} {step}\n" for step, value in enumerate(values)]
    (run / "metrics" / "val" / "acc").write_text("".join(lines))
    if seed is not None:
        (run / "params" / "seed").write_text(str(seed))


def test_what_lightning_writes_where_no_metric_is_given_is_none(torch_writer, tmp_path):
    for name, more in (("a", 1), ("b", 0)):
        with torch_writer(tmp_path / name) as writer:
            writer.add_scalar("hp_metric", -1, 0)
            for step in range(3 * more):
                writer.add_scalar("acc", step, step)
    results = stored(tmp_path, "tensorboard")
    assert [({reading.metric for reading in run.readings}, run.is_finished) for run in results.runs] == [
        ({"acc"}, True),
        (set(), False),
    ]


def test_a_model_that_mlflow_logged_is_no_run(tmp_path):
    mlflow_run(tmp_path / "0", "first", [0.5])
    model = tmp_path / "0" / "models" / "m-1"
    (model / "metrics").mkdir(parents=True)
    (model / "meta.yaml").write_text("model_id: m-1\nname: model\nstatus: 2\n")
    assert [run.label for run in read_mlflow([tmp_path]).runs] == ["first"]


def test_a_file_in_the_place_of_a_seed_or_setting_is_none(tmp_path):
    mlflow_run(tmp_path / "0", "first", [0.5], seed=3)
    for name in ("seed", "lr"):
        (tmp_path / "0" / "first" / "params" / name).write_text("7" * 20_000)
    results = stored(tmp_path, "mlflow")
    assert [(run.label, run.settings) for run in results.runs] == [("first", {})]


def test_the_folder_store_of_mlflow(tmp_path):
    folder = tmp_path / "mlruns" / "123"
    folder.mkdir(parents=True)
    (folder / "meta.yaml").write_text("name: digits\nexperiment_id: '123'\n")
    mlflow_run(folder, "fast-owl", [0.5, math.nan], seed=3)
    mlflow_run(folder, "slow-fox", [0.1], status=4)
    results = read_mlflow([tmp_path / "mlruns"])
    assert [(run.label, run.group, run.seconds, run.status) for run in results.runs] == [
        ("fast-owl (seed 3)", "digits", 4.0, "finished"),
        ("slow-fox", "digits", 4.0, "failed"),
    ]
    first, second = results.runs[0].readings
    assert (first.metric, first.iteration, first.value, first.elapsed_s) == ("val/acc", 0, 0.5, 1.0)
    assert math.isnan(second.value)


def test_a_run_of_mlflow_that_logged_nothing_counts_though_git_keeps_no_empty_folder(tmp_path):
    folder = tmp_path / "mlruns" / "0"
    mlflow_run(folder, "fast-owl", [0.5])
    silent = folder / "abc"
    silent.mkdir()
    (silent / "meta.yaml").write_text("run_id: abc\nrun_name: mute-cat\nstatus: 4\n")
    runs = read_mlflow([tmp_path / "mlruns"]).runs
    assert [(run.label, run.status, len(run.readings)) for run in runs] == [
        ("fast-owl", "finished", 1),
        ("mute-cat", "failed", 0),
    ]


def test_the_sqlite_store_of_mlflow(tmp_path):
    path = tmp_path / "mlflow.db"
    with sqlite3.connect(path) as database:
        database.executescript(
            """
            CREATE TABLE experiments (experiment_id INTEGER, name TEXT);
            CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time INTEGER, end_time INTEGER,
                               lifecycle_stage TEXT, experiment_id INTEGER);
            CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER, is_nan INTEGER);
            CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
            INSERT INTO experiments VALUES (1, 'digits');
            INSERT INTO runs VALUES ('u1', 'owl', 'FINISHED', 1000, 3000, 'active', 1),
                                    ('u2', 'fox', 'FINISHED', 1000, 3000, 'deleted', 1);
            INSERT INTO metrics VALUES ('acc', 0.5, 2000, 'u1', 0, 0), ('acc', 0, 3000, 'u1', 1, 1);
            INSERT INTO params VALUES ('seed', '7', 'u1');
            """
        )
    database.close()
    (run,) = read_mlflow([path]).runs
    assert (run.label, run.group, run.seconds, run.settings) == ("owl (seed 7)", "digits", 2.0, {"seed": "7"})
    assert run.readings[0].value == 0.5
    assert math.isnan(run.readings[1].value)


def test_a_database_that_is_not_mlflows_is_refused(tmp_path):
    (tmp_path / "other.db").write_text("no database")
    with pytest.raises(NotImportable, match="no SQLite store"):
        read_mlflow([tmp_path / "other.db"])


def test_runs_are_taken_and_grouped_by_what_was_set_in_them(tmp_path):
    folder = tmp_path / "mlruns" / "1"
    folder.mkdir(parents=True)
    (folder / "meta.yaml").write_text("name: digits\n")
    for run, rate in (("a", "0.1"), ("b", "0.1"), ("c", "0.2")):
        mlflow_run(folder, run, [0.5])
        (folder / run / "params" / "lr").write_text(rate)
    apart = stored(tmp_path / "mlruns", "mlflow", experiment="lr")
    assert [(run.label, run.group) for run in apart.runs] == [("a", "0.1"), ("b", "0.1"), ("c", "0.2")]
    one = stored(tmp_path / "mlruns", "mlflow", where=(("lr", "0.2"),))
    assert [run.label for run in one.runs] == ["c"]
    with pytest.raises(BadOption, match="no run tells a setting 'width'"):
        stored(tmp_path / "mlruns", "mlflow", experiment="width")


def test_media_of_wandb_written_leaf_by_leaf_are_no_metrics(tmp_path):
    rows = [
        history(step, acc=step / 4, **{"data/x/_type": "image-file", "data/x/width": 28, "data/xy": step})
        for step in range(3)
    ]
    write_wandb(tmp_path, 1, wandb_log([field(17, field(1, "a")), *rows, field(18, field(2, 9))]))
    assert set(curves(read_wandb([tmp_path]))["a"]) == {"acc", "data/xy"}


def test_a_version_in_the_registry_of_mlflow_is_no_run(tmp_path):
    mlflow_run(tmp_path / "0", "first", [0.5])
    version = tmp_path / "models" / "net" / "version-1"
    version.mkdir(parents=True)
    (version / "meta.yaml").write_text("name: net\nrun_id: abc\nversion: 1\ncurrent_stage: None\n")
    assert [run.label for run in read_mlflow([tmp_path]).runs] == ["first"]


def test_the_parent_of_runs_of_mlflow_is_no_training_and_a_line_twice_is_one_value(tmp_path):
    for name in ("parent", "first", "second"):
        mlflow_run(tmp_path / "0", name, [0.5])
    for name in ("first", "second"):
        (tmp_path / "0" / name / "tags").mkdir()
        (tmp_path / "0" / name / "tags" / "mlflow.parentRunId").write_text("parent")
        (tmp_path / "0" / name / "metrics" / "val" / "acc").write_text(f"2000 0.{len(name)} 0\n" * 2)
    results = read_mlflow([tmp_path])
    assert {run.label: len(run.readings) for run in results.runs} == {"first": 1, "second": 1}
    assert results.notes == ["parent is the parent of other runs, and counted as no training."]
    path = tmp_path / "mlflow.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE runs (run_uuid, name, status, start_time, end_time, experiment_id, lifecycle_stage);
            CREATE TABLE experiments (experiment_id, name);
            CREATE TABLE params (key, value, run_uuid);
            CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan);
            CREATE TABLE tags (key, value, run_uuid);
            INSERT INTO runs VALUES ('p', 'all', 'FINISHED', 1, 2, 0, 'active'), ('c', 'one', 'FINISHED', 1, 2, 0, '');
            INSERT INTO metrics VALUES ('acc', 0.5, 1000, 'p', 0, 0), ('acc', 0.5, 1000, 'c', 0, 0);
            INSERT INTO tags VALUES ('mlflow.parentRunId', 'p', 'c');
        """)
        database.commit()
    assert [run.label for run in read_mlflow([path]).runs] == ["one"]


def test_event_files_without_a_value_do_not_hide_what_sacred_wrote(tmp_path):
    for run in (1, 2):
        folder = tmp_path / "runs" / str(run)
        folder.mkdir(parents=True)
        (folder / "events.out.tfevents.1").write_bytes(b"")
        (folder / "metrics.json").write_text(json.dumps({"acc": {"steps": [0, 1], "values": [0.5, run / 4]}}))
    request = ImportRequest(paths=[tmp_path / "runs"], project=tmp_path)
    assert sources_of(request).kind == "json"
    assert len(read_results(request, sources_of(request)).runs) == 2


def test_a_value_that_training_and_validation_both_log_at_a_step_begins_no_training():
    readings = [
        Reading(name, step, 0.1 * step, step + later)
        for step in (3, 6, 9, 12)
        for name, later in (("loss", 0.0), ("data_time", 0.0), ("data_time", 0.5), ("acc", 0.5))
    ]
    (run,) = split_stored(ForeignRun(label="a", readings=readings), "step", TableOptions())
    assert {each.iteration for each in run.readings if each.metric == "loss"} == {3, 6, 9, 12}


def test_a_result_that_was_sent_twice_is_one_value():
    readings = [Reading("rmse", 0, 8.5, 1.0), Reading("mae", 0, 6.5, 1.0), Reading("rmse", 0, 8.5, 9.0)]
    (run,) = split_stored(ForeignRun(label="a", readings=readings), "step", TableOptions())
    assert {(each.metric, each.elapsed_s) for each in run.readings} == {("rmse", 1.0), ("mae", 1.0)}
    readings = [Reading("f1", step, math.nan, step + late) for step in (1, 2) for late in (0.0, 0.5)]
    (run,) = split_stored(ForeignRun(label="a", readings=readings), "step", TableOptions())
    assert ([each.iteration for each in run.readings], run.notes) == ([1, 2], [])
    readings = [Reading("f1", step, value, step) for step, value in ((1, 0.5), (2, 0.6), (2, 0.7))]
    (run,) = split_stored(ForeignRun(label="a", readings=readings), "step", TableOptions())
    assert run.notes == ["a: of several values at one 'step' the last counts; 1 are left out."]


def test_the_latest_run_without_values_is_no_second_run(tmp_path):
    for name, summary in (
        ("run-20240101_000000-abc", "{}"),
        ("latest-run", "{}"),
        ("run-20240102_000000-def", '{"acc": 1}'),
    ):
        (tmp_path / name / "files").mkdir(parents=True)
        (tmp_path / name / "files" / "wandb-summary.json").write_text(summary)
    (tmp_path / "latest-run" / "run-abc.wandb").write_bytes(b"")
    assert len(read_wandb([tmp_path]).runs) == 2


def test_the_one_table_beside_folders_of_events_is_not_left_out(tmp_path):
    for name, text in (
        ("0/metrics.csv", "step,loss\n1,2\n2,1\n"),
        ("1/events.out.tfevents.1", ""),
        ("2/a.tfevents.2", ""),
    ):
        (tmp_path / "runs" / name).parent.mkdir(parents=True)
        (tmp_path / "runs" / name).write_text(text)
    with pytest.raises(NotRuns, match="have event files, and others metrics"):
        sources_of(ImportRequest(paths=[tmp_path / "runs"], project=tmp_path))


def test_numbered_files_of_each_of_several_folders_are_all_runs(tmp_path):
    for name in ("a/result_1.csv", "a/result_2.csv", "b/result_1.csv", "b/result_2.csv", "a/end.csv", "b/end.csv"):
        (tmp_path / "runs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "runs" / name).write_text("epoch,loss\n1,2\n2,1\n" if "result" in name else "acc\n0.5\n")
    files, left_out = recurring(tmp_path / "runs")
    assert [file.name for file in files] == ["result_1.csv", "result_2.csv"] * 2
    assert left_out == ["end.csv"]


def test_what_a_finished_run_set_in_its_summary_alone_is_read(tmp_path):
    folder = write_wandb(tmp_path, 1, wandb_run(1)).parent / "files"
    folder.mkdir()
    (folder / "wandb-summary.json").write_text(json.dumps({"test_acc": 0.9, "_step": 2, "_wandb": {"runtime": 9}}))
    (run,) = read_wandb([tmp_path]).runs
    assert [(reading.iteration, reading.value) for reading in run.readings if reading.metric == "test_acc"] == [
        (2, 0.9)
    ]
