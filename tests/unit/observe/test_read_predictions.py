"""Predictions of runs: files, their damage, ranks, and the matching of examples between runs."""

import numpy as np
import pandas as pd
import pytest
from made import make_experiment, make_run, metric, read, series, write_predictions
from numpy.testing import assert_array_equal

from deviate.facts.predictions import damage_notes
from deviate.observe import predictions as prediction_files
from deviate.observe.matching import Predictions, Withheld, match_passes, match_sides
from deviate.observe.predictions import UnreadableError, read_pass, read_prediction_file, read_predictions
from deviate.store.integrity import damage

TARGETS = np.arange(40) % 4


def one_run(tmp_path, index=0, rows=None):
    project = tmp_path / str(index)
    project.mkdir(parents=True)
    folder = make_experiment(project, [metric("acc")])
    return make_run(folder, index, series(0, [0.5]) if rows is None else rows)


def passes_of(tmp_path, *columns, **header):
    """Return one pass for each dictionary of columns, as of runs of their own."""
    return [
        read_pass(write_predictions(one_run(tmp_path, index), each, **header)) for index, each in enumerate(columns)
    ]


def matched(tmp_path, *columns, **header):
    passes = passes_of(tmp_path, *columns, **header)
    return match_passes([f"r{index}" for index in range(len(passes))], passes)


# Files


def test_a_file_is_read_as_its_header_says(tmp_path):
    columns = {"target": TARGETS, "label": TARGETS[::-1].copy(), "score": np.float16(TARGETS / 4), "index": TARGETS * 3}
    read_back = read_pass(write_predictions(one_run(tmp_path), columns, iteration=7))
    for name, column in columns.items():
        assert_array_equal(read_back.columns[name], column)
    assert read_back.header.iteration == 7
    assert read_back.header.site.function == "evaluate"


def test_scores_are_read_as_probabilities(tmp_path):
    logits = np.log(np.array([[0.2, 0.8], [0.5, 0.5]])) + 3
    read_back = read_pass(write_predictions(one_run(tmp_path), {"target": [0, 1], "label": [1, 0], "scores": logits}))
    np.testing.assert_allclose(read_back.columns["scores"], [[0.2, 0.8], [0.5, 0.5]])


@pytest.mark.parametrize("cut", [0, 1, 20, 200, -1])
def test_a_file_that_was_cut_is_named_and_its_run_keeps_its_metrics(tmp_path, cut):
    run = one_run(tmp_path)
    path = write_predictions(run, {"target": TARGETS, "label": TARGETS})
    path.write_bytes(path.read_bytes()[:cut])
    (files,) = read([run])
    predictions = read_predictions(files)
    assert not predictions.passes
    assert path.name in predictions.damaged[0]
    assert damage(run, run.read_outcome()) == ""
    assert files.completed


def test_a_flipped_byte_is_seen(tmp_path):
    run = one_run(tmp_path)
    path = write_predictions(run, {"target": TARGETS, "label": TARGETS})
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    predictions = read_predictions(read([run])[0])
    assert "was changed" in predictions.damaged[0]
    (note,) = damage_notes([predictions])
    assert (note.slug, note.runs) == ("predictions-damaged", ["control-0"])


def test_the_best_pass_counts_only_where_it_is_better_than_the_last(tmp_path):
    run = one_run(tmp_path)
    write_predictions(run, {"target": TARGETS, "label": TARGETS})
    write_predictions(run, {"target": TARGETS, "label": 0 * TARGETS}, kept="best")
    assert [kept for _, kept in read_predictions(read([run])[0]).passes] == ["last"]


def test_ranks_that_evaluated_parts_of_the_data_are_one_pass(tmp_path):
    run = one_run(tmp_path)
    for rank in (0, 1):
        index = np.arange(rank, 40, 2)
        if rank:  # a sampler repeats the first example to give all ranks as many
            index = np.r_[index, 0]
        write_predictions(run, {"target": TARGETS[index], "label": TARGETS[index], "index": index}, rank=rank)
    (read_back,) = read_predictions(read([run])[0]).passes.values()
    assert_array_equal(np.sort(read_back.columns["index"]), np.arange(40))
    assert read_back.header.rows == 40


# Matching


def test_examples_are_matched_by_their_index_whatever_their_order(tmp_path):
    order = np.random.default_rng(1).permutation(40)
    labels = np.arange(40)
    found = matched(
        tmp_path,
        {"target": TARGETS, "label": labels, "index": np.arange(40)},
        {"target": TARGETS[order], "label": labels[order], "index": order},
    )
    assert isinstance(found, Predictions)
    assert found.by == "index"
    assert_array_equal(found.labels, [labels, labels])
    assert_array_equal(found.targets, TARGETS)


def test_examples_are_matched_by_their_inputs_and_equal_inputs_by_their_turn(tmp_path):
    digests = np.uint64(1 << 50) * np.r_[np.arange(38), 5, 5].astype(np.uint64)
    order = np.r_[np.arange(20, 40), np.arange(20)]
    found = matched(
        tmp_path,
        {"target": 0 * TARGETS, "label": np.arange(40), "digest": digests},
        {"target": 0 * TARGETS, "label": np.arange(40)[order], "digest": digests[order]},
    )
    assert found.by == "digest"
    alone = np.isin(found.labels[0], [5, 38, 39], invert=True)
    assert_array_equal(found.labels[0][alone], found.labels[1][alone])
    assert sorted(found.labels[0]) == sorted(found.labels[1]) == list(range(40))


def test_without_either_equal_targets_in_equal_order_match_positions(tmp_path):
    columns = {"target": TARGETS, "label": TARGETS}
    assert matched(tmp_path, columns, columns).by == "position"


def test_examples_in_another_order_are_withheld(tmp_path):
    found = matched(tmp_path, {"target": TARGETS, "label": TARGETS}, {"target": TARGETS[::-1], "label": TARGETS})
    assert isinstance(found, Withheld)
    assert "another order" in found.reason


def test_few_examples_with_equal_targets_prove_nothing(tmp_path):
    columns = {"target": TARGETS[:10], "label": TARGETS[:10]}
    assert "10 examples" in matched(tmp_path, columns, columns).reason


def test_runs_on_other_examples_are_withheld(tmp_path):
    def half(start):
        index = np.arange(start, start + 30)
        return {"target": index % 4, "label": index % 4, "index": index}

    assert "20 of 30" in matched(tmp_path, half(0), half(10)).reason


def test_a_few_examples_that_one_run_left_out_are_left_out_of_all(tmp_path):
    columns = {"target": TARGETS, "label": TARGETS, "index": np.arange(40)}
    fewer = {name: column[:38] for name, column in columns.items()}
    found = matched(tmp_path, columns, fewer)
    assert found.left_out == 2
    assert found.labels.shape == (2, 38)


def test_names_of_classes_are_numbered_alike(tmp_path):
    a = {"target": np.array([0, 1] * 15), "label": np.array([0, 1] * 15), "index": np.arange(30)}
    b = {"target": np.array([0, 1] * 15), "label": np.array([0, 2] * 15), "index": np.arange(30)}
    first = read_pass(write_predictions(one_run(tmp_path, 0), a, classes=["cat", "dog"]))
    second = read_pass(write_predictions(one_run(tmp_path, 1), b, classes=["cat", "dog", "emu"]))
    found = match_passes(["r0", "r1"], [first, second])
    assert found.classes == ("cat", "dog", "emu")
    assert_array_equal(found.labels[1][:2], [0, 2])


def test_classes_and_values_are_not_compared(tmp_path):
    found = matched(tmp_path, {"target": TARGETS, "label": TARGETS}, {"target": TARGETS, "value": TARGETS / 2})
    assert "others values" in found.reason


def test_two_sides_are_matched_on_the_examples_of_both(tmp_path):
    columns = {"target": TARGETS, "label": TARGETS, "index": np.arange(40)}
    fewer = {name: column[2:] for name, column in columns.items()}
    a, b = matched(tmp_path / "a", columns, columns), matched(tmp_path / "b", fewer)
    first, second = match_sides(a, b)
    assert_array_equal(first.labels, [TARGETS[2:]] * 2)
    assert_array_equal(second.labels, [TARGETS[2:]])


def test_sides_with_other_targets_are_withheld(tmp_path):
    columns = {"target": TARGETS, "label": TARGETS, "index": np.arange(40)}
    a, b = matched(tmp_path / "a", columns), matched(tmp_path / "b", {**columns, "target": TARGETS[::-1]})
    assert "other targets" in match_sides(a, b).reason


# Files that programs write

TABLE = pd.DataFrame({"id": ["a", "b", "c"], "y_pred": [1, 0, 1], "label": [1, 1, 1], "score": [0.9, 0.6, 0.7]})


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "npz"])
def test_a_table_is_read_by_the_names_of_its_columns(tmp_path, suffix):
    path = tmp_path / f"preds.{suffix}"
    if suffix == "npz":
        np.savez(path, **{name: TABLE[name].to_numpy(dtype=str if name == "id" else None) for name in TABLE})
    elif suffix == "jsonl":
        TABLE.to_json(path, orient="records", lines=True)
    elif suffix == "parquet":
        TABLE.to_parquet(path)
    else:
        TABLE.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    columns = read_prediction_file(path)
    assert columns["label"].tolist() == [1, 0, 1]
    assert columns["target"].tolist() == [1, 1, 1]
    assert columns["id"].tolist() == ["a", "b", "c"]


def test_a_plain_array_holds_predictions_and_may_hold_targets(tmp_path):
    np.save(tmp_path / "one.npy", np.array([1, 2]))
    np.save(tmp_path / "two.npy", np.array([[1, 2], [3, 3]]))
    assert read_prediction_file(tmp_path / "one.npy").keys() == {"label"}
    assert read_prediction_file(tmp_path / "two.npy")["target"].tolist() == [2, 3]


def test_numbers_that_are_no_whole_ones_are_values(tmp_path):
    pd.DataFrame({"pred": [0.5, 1.5], "true": [1.0, 2.0]}).to_csv(tmp_path / "p.csv", index=False)
    assert read_prediction_file(tmp_path / "p.csv").keys() == {"value", "target"}


def test_nulls_bytes_and_the_index_of_a_parquet_file_are_read_as_pandas_has_them(tmp_path):
    path = tmp_path / "p.parquet"
    columns = {"pred": [1, None, 3], "score": [0.5, None, 0.25], "flag": [True, None, False], "id": [b"a", b"b", b"c"]}
    pd.DataFrame({name: pd.array(column) if name != "id" else column for name, column in columns.items()}).set_index(
        pd.Index(["x", "y", "z"], name="target")
    ).to_parquet(path)
    read = prediction_files.read_columns(path, names=())
    assert list(read) == list(columns)
    assert str(read["pred"].tolist()) == "[1.0, nan, 3.0]"
    assert str(read["score"].tolist()) == "[0.5, nan, 0.25]"
    assert read["flag"].tolist() == [True, None, False]
    assert read["id"].tolist() == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", b""),
        ("p.csv", b"epoch,loss\n1,2\n"),
        ("p.csv", b'"pred\n\xff'),
        ("p.npy", b"\x93NUMPY"),
        ("p.npz", b"PK\x03\x04"),
        ("p.parquet", b"PAR1"),
        ("p.jsonl", b"{"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableError, match=rf"^{name} "):
        read_prediction_file(tmp_path / name)


def test_objects_in_an_array_are_never_unpickled(tmp_path):
    np.save(tmp_path / "p.npy", np.array([{}], dtype=object))
    with pytest.raises(UnreadableError, match="allow_pickle"):
        read_prediction_file(tmp_path / "p.npy")


def test_files_that_claim_more_than_they_have_are_refused_before_anything_is_made(tmp_path, monkeypatch):
    pd.DataFrame({"prediction": np.zeros(1000, np.int64)}).to_parquet(tmp_path / "a.parquet")
    assert len(read_prediction_file(tmp_path / "a.parquet")["label"]) == 1000
    monkeypatch.setattr(prediction_files, "MOST_UNPACKED", 7999)
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<i8", "fortran_order": False, "shape": (10**12,)})
    for name, reason in (("a.parquet", "1,000 rows of 1 columns"), ("a.npy", "larger than the 0 bytes")):
        with pytest.raises(UnreadableError, match=reason):
            read_prediction_file(tmp_path / name)


def test_targets_that_number_the_rows_of_a_batch_match_nothing(tmp_path):
    places = np.r_[np.arange(32), np.arange(8)]
    found = matched(tmp_path, {"target": places, "label": places}, {"target": places, "label": places[::-1]})
    assert isinstance(found, Withheld)
    assert "number the rows of a batch" in found.reason


def test_of_processes_that_are_no_ranks_the_last_ones_predictions_are_read(tmp_path):
    run = one_run(tmp_path)
    columns = {"target": TARGETS, "label": TARGETS, "index": np.arange(40)}
    for name, share in (("11-1796000000002", 1), ("9-1796000000003", 3), ("7-1796000000001", 2)):
        path = write_predictions(run, {**columns, "label": TARGETS * share})
        path.rename(path.with_name(f"predictions-0-last-{name}.bin"))
    run.write_outcome(run.read_outcome())
    (files,) = read([run])
    (kept,) = read_predictions(files).passes.values()
    assert_array_equal(kept.columns["label"], TARGETS * 3)
