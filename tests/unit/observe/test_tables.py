"""Records and samples of an experiment as tables."""

import json
import math
import resource
from contextlib import contextmanager

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import make_experiment, make_run, metric, recorded_names, records, samples, series, write_process
from profiles import examples
from scipy.integrate import trapezoid

from deviate.core.errors import BadOption
from deviate.core.experiment import Run
from deviate.observe.derived import Derived
from deviate.observe.metrics import TIMES, SampleRow, check_aggregate, missing_metrics
from deviate.observe.tables import RECORD_COLUMNS, open_tables, values_by_run
from deviate.store.files import file_sum
from deviate.store.run_files import Cancelled, Failed

NAN = math.nan


def values(folder, name, aggregates=None):
    table = samples(folder, aggregates)
    rows = table[table["metric"] == name]
    return dict(zip(rows["run"], rows["value"], strict=True))


def test_records_keep_the_order_they_were_written_in(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss"), metric("acc")])
    make_run(folder, 0, [(0, 0, 0.5, 2.0), (1, 0, 0.75, 0.25), (0, 1, 1.5, 1.0), (0, 1, 1.5, 0.5)])
    table = records(folder)
    assert list(table.columns) == list(RECORD_COLUMNS)
    assert table["metric"].tolist() == ["loss", "acc", "loss", "loss"]
    assert table["value"].tolist() == [2.0, 0.25, 1.0, 0.5]
    assert table["elapsed_s"].tolist() == [0.5, 0.75, 1.5, 1.5]


def test_the_last_reports_of_a_metric_are_the_last_written_of_each_run(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss"), metric("acc")])
    make_run(folder, 0, [(0, 0, 0.5, 2.0), (1, 0, 0.75, 0.25), (0, 1, 1.5, 1.0), (0, 1, 1.5, 0.5)])
    make_run(folder, 1, [(0, 0, 0.5, 3.0), (0, 1, 1.5, NAN)])
    with open_tables(folder) as tables:
        variant = tables.runs[0].variant
        assert tables.last_reports(variant, "loss", 2)[0] == [1.0, 0.5]
        assert tables.last_reports(variant, "loss", 9)[0] == [2.0, 1.0, 0.5]
        first, last = tables.last_reports(variant, "loss", 2)[1]
        assert first == 3.0
        assert math.isnan(last)
        assert tables.last_reports(variant, "acc", 2) == {0: [0.25]}


def test_a_value_that_is_kept_and_printed_in_one_iteration_is_one_report(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss"), metric("acc")])
    kept = [(0, 0, 0.5, 2.0), (1, 0, 0.5, 0.5), (0, 0, 0.5, 2.0), (0, 1, 1.5, 1.0), (1, 1, 1.5, 0.5), (0, 1, 1.5, 1.0)]
    make_run(folder, 0, kept)
    make_run(folder, 1, [(1, -1, 0.5, 0.75), (1, -1, 0.75, 0.75)])
    with open_tables(folder) as tables:
        variant = tables.runs[0].variant
        assert tables.last_reports(variant, "loss", 9) == {0: [2.0, 1.0]}
        assert tables.last_reports(variant, "acc", 9) == {0: [0.5, 0.5], 1: [0.75, 0.75]}


def joined(parts):
    frames = [pd.DataFrame({"variant": variant, "run": run, **columns}) for variant, run, columns in parts]
    return pd.concat(frames, ignore_index=True)


def test_records_are_the_same_run_by_run_by_metric_and_in_memory(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss"), metric("acc")])
    for index in (0, 1, 3):
        make_run(folder, index, [*series(0, [2.0, NAN, index]), *series(1, [0.5, 0.25]), (0, 2, 9.0, -1.0)])
    with open_tables(folder) as tables:
        whole = tables.records()
        parts = list(tables.parts())
        assert [run for _, run, _ in parts] == [0, 1, 3]
        pd.testing.assert_frame_equal(joined(parts), whole)
        acc = whole[whole["metric"] == "acc"].reset_index(drop=True)
        pd.testing.assert_frame_equal(pd.DataFrame(tables.records_of({"acc"})), acc)
        values = values_by_run(tables)
    for (variant, run, name), rows in whole.groupby(["variant", "run", "metric"]):
        kept = values[variant][run][name]
        assert kept.iterations.tolist() == rows["iteration"].tolist()
        np.testing.assert_array_equal(kept.values, rows["value"])
    assert {variant: list(runs) for variant, runs in values.items()} == {"control": [0, 1, 3]}


def test_ticks_are_no_metric(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss")])
    make_run(folder, 0, [*series(-1, [0, 1]), (0, 1, 1.0, 3.0)])
    assert records(folder)["metric"].tolist() == ["loss"]
    assert recorded_names(folder) == [("loss", 0)]


def test_runs_that_failed_enter_only_if_asked(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss")])
    make_run(folder, 0, series(0, [1.0]))
    make_run(folder, 1, series(0, [2.0]), outcome=Failed(seconds=1.0, reason="r"))
    make_run(folder, 2, series(0, [3.0]), outcome=Cancelled(seconds=1.0, reason="r"))
    run = make_run(folder, 3, series(0, [4.0]))
    run.outcome_file.unlink()
    assert records(folder)["run"].tolist() == [0]
    assert records(folder, include_failed=True)["run"].tolist() == [0, 1, 2]
    assert set(samples(folder)["run"]) == {0}


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [("last", 2.0), ("best", 5.0), ("mean", 3.0), ("max", 5.0), ("min", 1.0), ("at 1", 5.0)],
)
def test_a_runs_records_become_one_number(tmp_path, aggregate, expected):
    folder = make_experiment(tmp_path, [metric("acc", aggregate)])
    make_run(folder, 0, series(0, [1.0, 5.0, 4.0, 3.0, 2.0]))
    assert values(folder, "acc") == {0: expected}


def test_best_follows_the_direction_and_passes_over_nan_while_last_shows_it(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss", "best", "lower"), metric("odd", "best", None)])
    make_run(folder, 0, [*series(0, [3.0, 1.0, NAN]), *series(1, [1.0])])
    make_run(folder, 1, series(0, [NAN, NAN]))
    best = values(folder, "loss")
    assert best[0] == 1.0
    assert math.isnan(best[1])
    assert all(math.isnan(value) for value in values(folder, "loss", {"loss": "last"}).values())
    assert math.isnan(values(folder, "odd")[0])


def test_infinities_stay(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss", "max")])
    make_run(folder, 0, series(0, [1.0, math.inf, 2.0]))
    assert values(folder, "loss") == {0: math.inf}
    assert values(folder, "loss", {"loss": "mean"}) == {0: math.inf}
    assert values(folder, "loss", {"loss": "min"}) == {0: 1.0}


def test_of_several_values_in_one_iteration_the_last_counts(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc", "at 0")])
    make_run(folder, 0, [(0, 0, 0.0, 1.0), (0, 0, 0.5, 2.0), (0, 1, 1.0, 3.0)])
    assert values(folder, "acc") == {0: 2.0}


def test_a_run_without_a_record_has_no_row_and_the_metric_may_be_missing(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc"), metric("never"), metric("late", "at 5")])
    make_run(folder, 0, [*series(0, [1.0]), *series(2, [1.0])])
    make_run(folder, 1, series(2, [1.0] * 6))
    assert values(folder, "acc") == {0: 1.0}
    assert values(folder, "late") == {1: 1.0}
    missing = missing_metrics(folder.read_experiment(), recorded_names(folder))
    assert [each.name for each in missing] == ["never"]


def test_an_unknown_aggregate_is_refused():
    with pytest.raises(BadOption, match="no aggregate"):
        check_aggregate("median")
    assert check_aggregate("at 12") == "at 12"


def test_names_learnt_at_run_time_take_after_their_metric(tmp_path):
    folder = make_experiment(tmp_path, [metric("{split} acc", "best")])
    named = [
        {"event": "name", "id": 1000000, "metric": 0, "name": "test acc"},
        {"event": "name", "id": 1000001, "metric": None, "name": "fit:val_loss"},
    ]
    make_run(folder, 0, [*series(1000000, [1.0, 3.0, 2.0]), *series(1000001, [5.0, 4.0])], events=named)
    assert values(folder, "test acc") == {0: 3.0}
    assert values(folder, "fit:val_loss") == {0: 4.0}
    assert missing_metrics(folder.read_experiment(), recorded_names(folder)) == []


def test_a_key_that_several_metrics_have_is_told_apart_by_its_metric(tmp_path):
    folder = make_experiment(tmp_path, [metric("train_stats"), metric("val_stats"), metric("acc")])
    named = [
        {"event": "name", "id": 1000000, "metric": 0, "name": "loss"},
        {"event": "name", "id": 1000001, "metric": 1, "name": "loss"},
        {"event": "name", "id": 1000002, "metric": 1, "name": "acc"},
        {"event": "name", "id": 1000003, "metric": 1, "name": "f1"},
    ]
    rows = [*series(1000000, [1.0]), *series(1000001, [2.0]), *series(1000002, [3.0]), *series(2, [4.0])]
    make_run(folder, 0, [*rows, *series(1000003, [5.0])], events=named)
    names = ("train_stats/loss", "val_stats/loss", "val_stats/acc", "acc", "f1")
    assert [values(folder, name) for name in names] == [{0: value} for value in (1.0, 2.0, 3.0, 4.0, 5.0)]
    assert "loss" not in [name for name, _ in recorded_names(folder)]


def test_a_key_named_like_its_own_metric_and_a_filled_name_stay_as_they_are(tmp_path):
    folder = make_experiment(tmp_path, [metric("mae"), metric("{split} loss"), metric("{phase} loss")])
    named = [
        {"event": "name", "id": 1000000, "metric": 0, "name": "mae"},
        {"event": "name", "id": 1000001, "metric": 1, "name": "test loss"},
        {"event": "name", "id": 1000002, "metric": 2, "name": "test loss"},
    ]
    make_run(folder, 0, [*series(1000000, [1.0]), *series(1000001, [2.0]), *series(1000002, [3.0])], events=named)
    assert {name for name, _ in recorded_names(folder)} == {"mae", "test loss"}


def test_what_a_framework_reports_may_have_been_foreseen_by_name(tmp_path):
    folder = make_experiment(tmp_path, [metric("fit:val_loss", "best", "lower", "loss")])
    named = [{"event": "name", "id": 1000000, "metric": None, "name": "fit:val_loss"}]
    make_run(folder, 0, series(1000000, [5.0, 3.0, 4.0]), events=named)
    assert values(folder, "fit:val_loss") == {0: 3.0}
    assert missing_metrics(folder.read_experiment(), recorded_names(folder)) == []


def test_two_metrics_of_one_name_are_one(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc", "max"), metric("acc", "max")])
    make_run(folder, 0, [*series(0, [1.0, 3.0]), *series(1, [2.0])])
    assert values(folder, "acc") == {0: 3.0}


def test_only_rank_0_and_processes_without_rank_are_the_run(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    run = make_run(folder, 0)
    write_process(run, [], stem="1-1", time=10.0)
    write_process(run, series(0, [1.0]), stem="2-1", time=11.0, rank=0)
    write_process(run, series(0, [2.0]), stem="3-1", time=11.0, rank=1)
    late = [{"event": "rank", "rank": 2}]
    write_process(run, series(0, [3.0]), stem="4-1", time=11.0, events=late)
    assert records(folder)["value"].tolist() == [1.0]


def test_several_processes_of_one_run_are_put_in_order_of_time(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    run = make_run(folder, 0)
    write_process(run, [(0, 0, 0.5, 1.0), (0, 0, 3.0, 4.0)], stem="9-1", time=10.0)
    write_process(run, [(0, 0, 0.25, 2.0), (0, 0, 1.0, 3.0)], stem="1-1", time=11.0)
    table = records(folder)
    assert table["value"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert table["elapsed_s"].tolist() == [0.5, 1.25, 2.0, 3.0]
    assert values(folder, "acc") == {0: 4.0}


def test_times_are_metrics(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    ticks = [(-1, 0, 1.0, 0.0), (-1, 1, 5.0, 1.0), (-1, 2, 5.5, 2.0), (-1, 3, 6.0, 3.0)]
    make_run(folder, 0, [*ticks, *series(0, [1.0])], seconds=8.5)
    make_run(folder, 1, series(0, [1.0]), seconds=7.5)
    assert values(folder, "time per run") == {0: 8.5, 1: 7.5}
    assert values(folder, "time per iteration") == {0: 0.5}
    assert {(each.direction, each.kind, each.unit) for each in TIMES} == {("lower", "speed", "s")}


def test_the_process_with_most_iterations_tells_their_time(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    run = make_run(folder, 0)
    write_process(run, series(-1, [0, 1], step=9.0), stem="1-1")
    write_process(run, series(-1, [0, 1, 2, 3], step=2.0), stem="2-1")
    assert values(folder, "time per iteration") == {0: 2.0}


def test_metrics_come_in_the_order_of_the_experiment_and_variants_too(tmp_path):
    folder = make_experiment(tmp_path, [metric("z"), metric("a")], variants=("control", "as-is"))
    for variant in ("as-is", "control"):
        make_run(folder, 0, [*series(0, [1.0]), *series(1, [1.0])], variant=variant)
    table = samples(folder)
    assert list(dict.fromkeys(table["metric"])) == ["z", "a", "time per run"]
    assert list(dict.fromkeys(table["variant"])) == ["control", "as-is"]
    assert list(table.columns) == list(SampleRow._fields)


def test_an_experiment_without_runs_has_empty_tables(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    assert records(folder).empty
    assert samples(folder).empty
    assert list(samples(folder).columns) == list(SampleRow._fields)


def test_a_run_without_records_is_no_problem(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    make_run(folder, 0, [])
    assert records(folder).empty
    assert values(folder, "time per run") == {0: 1.0}


def test_the_table_is_remade_when_files_or_names_change(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    run = make_run(folder, 0, series(0, [1.0]))
    assert records(folder)["value"].tolist() == [1.0]
    stamp = run.parquet_file.stat().st_mtime_ns
    records(folder)
    assert run.parquet_file.stat().st_mtime_ns == stamp
    write_process(run, series(0, [1.0, 2.0]))
    assert records(folder)["value"].tolist() == [1.0, 2.0]
    renamed = make_experiment(tmp_path, [metric("accuracy")])
    assert set(records(renamed)["metric"]) == {"accuracy"}


def test_a_broken_table_is_remade(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    run = make_run(folder, 0, series(0, [1.0]))
    run.parquet_file.write_bytes(b"PAR1 not really")
    assert records(folder)["value"].tolist() == [1.0]


@contextmanager
def no_room():
    """Let no file grow beyond a few bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_tables_that_cannot_be_written_are_held_in_memory(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    for index in (0, 1):
        make_run(folder, index, series(0, [index, 1.5]))
    with open_tables(folder) as tables:
        expected = tables.records(), tables.samples(), list(tables.parts()), tables.names, tables.identities()
    kept = folder.run(Run(variant="control", index=0)).parquet_file
    for path in tmp_path.rglob("re*.parquet*"):
        if path.parent != kept.parent:
            path.unlink()
    # One of them has its file still.
    before = sorted(tmp_path.rglob("*"))
    with no_room(), open_tables(folder) as tables:
        found = tables.records(), tables.samples(), list(tables.parts()), tables.names, tables.identities()
    assert sorted(tmp_path.rglob("*")) == before
    pd.testing.assert_frame_equal(expected[0], found[0])
    pd.testing.assert_frame_equal(joined(expected[2]), joined(found[2]))
    assert (expected[1], *expected[3:]) == (found[1], *found[3:])


def test_a_table_that_was_written_and_cannot_be_read_is_made_again(tmp_path):
    """As large heads were: whole by their checksum, and refused by every reader."""
    folder = make_experiment(tmp_path, [metric("acc")])
    run = make_run(folder, 0, series(0, [1.0]))
    records(folder)
    beside = run.parquet_file.with_name("records.parquet.json")
    run.parquet_file.write_bytes(b"PAR1 not really")
    stamp = json.loads(beside.read_bytes())["made_from"]
    beside.write_bytes(msgspec.json.encode(Derived(made_from=stamp, content=file_sum(run.parquet_file))))
    assert records(folder)["value"].tolist() == [1.0]
    assert run.parquet_file.read_bytes() != b"PAR1 not really"


def test_a_project_with_a_quote_in_its_path_is_read(tmp_path):
    project = tmp_path / "it's [mine] *"
    project.mkdir()
    folder = make_experiment(project, [metric("acc")])
    make_run(folder, 0, series(0, [1.0]))
    assert records(folder)["value"].tolist() == [1.0]


@examples(10)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_aggregates_agree_with_numpy(tmp_path_factory, listed):
    reference = {"last": listed[-1], "mean": np.mean(listed), "max": np.max(listed), "min": np.min(listed)}
    folder = make_experiment(tmp_path_factory.mktemp("p"), [metric(name, name) for name in reference])
    make_run(folder, 0, [row for key in range(len(reference)) for row in series(key, listed)])
    table = samples(folder)
    found = dict(zip(table["metric"], table["value"], strict=True))
    for name, expected in reference.items():
        assert found[name] == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_area_is_the_mean_height_of_the_curve(tmp_path):
    """By SciPy's trapezoid over the last value of each iteration; gaps between iterations count by their width."""
    folder = make_experiment(tmp_path, [metric("acc")])
    make_run(folder, 0, [(0, 0, 0.1, 0.9), (0, 0, 0.2, 0.0), (0, 1, 1.0, 0.5), (0, 4, 2.0, 0.7)])
    make_run(folder, 1, [(0, 3, 0.1, 0.25)])
    make_run(folder, 2, [(0, 0, 0.1, 0.25), (0, 1, 0.2, NAN)])
    found = values(folder, "acc", {"acc": "area"})
    assert found[0] == pytest.approx(trapezoid([0.0, 0.5, 0.7], [0, 1, 4]) / 4, rel=1e-12)
    assert found[1] == 0.25
    assert math.isnan(found[2])


def test_a_setting_among_the_values_of_a_mapping_is_no_metric_where_it_is_the_same_in_all_runs(tmp_path):
    folder = make_experiment(tmp_path, [metric("results"), metric("weight")])
    folder.write_experiment(msgspec.structs.replace(folder.read_experiment(), command=["python", "a.py", "--top-k=20"]))
    named = ["results/acc", "results/config/size", "results/lr", "results/top_k", "results/limit", "results/items"]
    events = [{"event": "name", "id": 10**6 + k, "metric": 0, "name": name} for k, name in enumerate(named)]
    for index in range(2):
        numbers = [0.5, 64.0, 0.1, 20.0, float(index), 7.0]
        rows = [row for k, number in enumerate(numbers) for row in series(10**6 + k, [number, number])]
        make_run(folder, index, [*rows, *series(1, [0.5])], events=events)
    with open_tables(folder) as tables:
        assert tables.settings == {"results/config/size", "results/lr", "results/top_k"}
        assert {name for name, _ in tables.names} == {"results/acc", "results/items", "results/limit", "weight"}
        assert not {row.metric for row in tables.samples()} & tables.settings
        assert set(tables.records()["metric"]) == {*named, "weight"}
