"""Tables in Parquet files: what is written is what is read, by DuckDB and by pyarrow, and earlier files are read."""

import json

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import make_experiment, make_run, metric, records, samples, series
from profiles import examples

from deviate.observe.database import Table, connected, parquet_shape, read_parquet, write_parquet
from deviate.observe.derived import Derived
from deviate.store.files import file_sum

NOTES = {b"deviate slots": '["it\'s", "⟨n⟩", "a\\nb"]'.encode(), b"deviate lines left out": b"0"}


@given(st.lists(st.floats(width=64), max_size=50))
@examples(20)
def test_numbers_and_notes_come_back_bit_for_bit(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("table") / "it's [1] *.parquet"
    places = np.arange(len(values))
    table = Table({"offset": places, "precision": places.astype(np.int16), "value": np.array(values, float)}, {}, NOTES)
    write_parquet(path, table)
    read = read_parquet(path)
    assert (parquet_shape(path), dict(read.notes)) == ((len(values), 3), NOTES)
    assert {name: column.dtype for name, column in read.columns.items()} == {
        name: column.dtype for name, column in table.columns.items()
    }
    for name, column in table.columns.items():
        np.testing.assert_array_equal(read.columns[name], column)


def test_a_nan_has_the_bits_it_had(tmp_path):
    value = np.array([0.0, -0.0, np.inf, 0.0])
    value.view(np.uint64)[3] = 0xFFF8000000000123
    write_parquet(tmp_path / "a.parquet", Table({"value": value}))
    assert (
        read_parquet(tmp_path / "a.parquet").columns["value"].view(np.uint64).tolist() == value.view(np.uint64).tolist()
    )


def test_other_tools_read_what_a_run_recorded(tmp_path):
    folder = make_experiment(tmp_path, [metric("it's a loss"), metric("acc")])
    run = make_run(folder, 0, [*series(0, [2.0, np.nan, -0.0]), *series(1, [0.5])])
    records(folder)
    table = pq.read_table(run.parquet_file)
    assert [(each.name, each.type) for each in table.schema] == [
        ("metric", pa.string()), ("source", pa.int32()), ("iteration", pa.int32()), ("elapsed_s", pa.float64()),
        ("value", pa.float64()), ("process", pa.string()),
    ]  # fmt: skip
    assert table.column("metric").to_pylist() == ["it's a loss"] * 3 + ["acc"]
    assert set(table.column("process").to_pylist()) == {"1-1"}
    assert str(table.column("value").to_pylist()) == "[2.0, nan, -0.0, 0.5]"


def test_a_table_that_an_earlier_version_wrote_is_read(tmp_path):
    """It had words in dictionaries, as pyarrow writes them."""
    folder = make_experiment(tmp_path, [metric("acc")])
    run = make_run(folder, 0, series(0, [1.0, 2.0]))
    records(folder)
    words = pa.dictionary(pa.int32(), pa.string())
    # Another value tells which table was read.
    table = pa.table(
        {
            "metric": pa.array(["acc", "acc"]).cast(words), "source": np.zeros(2, np.int32),
            "iteration": np.arange(2, dtype=np.int32), "elapsed_s": [0.0, 1.0], "value": [1.0, 7.0],
            "process": pa.array(["1-1", "1-1"]).cast(words),
        }
    )  # fmt: skip
    pq.write_table(table, run.parquet_file, compression="zstd")
    beside = run.parquet_file.with_name("records.parquet.json")
    stamp = json.loads(beside.read_bytes())["made_from"]
    beside.write_bytes(msgspec.json.encode(Derived(made_from=stamp, content=file_sum(run.parquet_file))))
    assert records(folder)["value"].tolist() == [1.0, 7.0]
    assert samples(folder)["value"].tolist()[0] == 7.0


def test_what_cannot_be_read_or_written_is_an_error_of_the_file_and_the_next_is_read(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 not really")
    write_parquet(tmp_path / "b.parquet", Table({"value": np.arange(3)}))
    for wrong in (
        lambda: read_parquet(tmp_path / "a.parquet"),
        lambda: parquet_shape(tmp_path / "missing.parquet"),
        lambda: write_parquet(tmp_path / "none" / "a.parquet", Table({"value": np.arange(3)})),
    ):
        with pytest.raises(OSError, match="parquet"):
            wrong()
        assert read_parquet(tmp_path / "b.parquet").columns["value"].tolist() == [0, 1, 2]


def test_connections_share_no_view(tmp_path):
    with connected() as first, connected() as second:
        for connection, value in ((first, 1), (second, 2)):
            connection.execute(f"CREATE TEMP VIEW record AS SELECT {value} AS value")
        assert [each.execute("FROM record").fetchall() for each in (first, second)] == [[(1,)], [(2,)]]
