"""Groups of examples: read from tables, and matched with the evaluated examples by proof only."""

import numpy as np
import pandas as pd
import pytest

from deviate.observe.examples import GroupTable, match_groups, read_group_table
from deviate.observe.matching import Predictions, Withheld, match_passes
from deviate.observe.predictions import UnreadableError, digest_of, read_table

SEX = np.array(["m", "f", "f", "m"], dtype=object)


def predicted(**changes):
    fields = {
        "runs": ("r-0",), "by": "index", "targets": np.zeros(4, int), "labels": np.zeros((1, 4), int), "values": None,
        "top": None, "scores": None, "keys": np.arange(4), "classes": None, **changes,
    }  # fmt: skip
    return Predictions(**fields)


def table(ids=None, **columns):
    return GroupTable("groups.csv", columns or {"sex": SEX}, None if ids is None else np.asarray(ids))


def names(groups):
    (grouping,) = groups.groupings
    return [grouping.groups[member] for member in grouping.members]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "npz"])
def test_a_table_has_ids_and_columns_of_groups(tmp_path, suffix):
    frame = pd.DataFrame({"image_id": ["a", "b"], "sex": ["m", "f"], "old": [0, 1]})
    path = tmp_path / f"groups.{suffix}"
    match suffix:
        case "npz":
            np.savez(path, **{name: frame[name].to_numpy(dtype=str) for name in frame})
        case "jsonl":
            frame.to_json(path, orient="records", lines=True)
        case "parquet":
            frame.to_parquet(path)
        case _:
            frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    read = read_group_table(path)
    assert read.ids.tolist() == ["a", "b"]
    assert {name: column.astype(str).tolist() for name, column in read.columns.items()} == {
        "sex": ["m", "f"],
        "old": ["0", "1"],
    }


def test_columns_of_an_array_are_numbered_after_the_first(tmp_path):
    np.save(tmp_path / "one.npy", np.array([1, 2]))
    np.save(tmp_path / "two.npy", np.array([[1, 3], [2, 4]]))
    assert read_group_table(tmp_path / "one.npy").columns.keys() == {""}
    assert {name: column.tolist() for name, column in read_group_table(tmp_path / "two.npy").columns.items()} == {
        "": [1, 2],
        "1": [3, 4],
    }


def test_the_index_that_pandas_writes_is_one_of_ids(tmp_path):
    pd.DataFrame({"sex": SEX}).to_csv(tmp_path / "groups.csv")
    assert read_group_table(tmp_path / "groups.csv").ids.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("name", "content"), [("g.csv", b""), ("g.csv", b"id\n1\n"), ("g.npy", b"\x93NUMPY")])
def test_a_file_without_groups_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableError, match=rf"^{name} "):
        read_group_table(tmp_path / name)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UnreadableError, match=r"none\.csv cannot be read"):
        read_group_table(tmp_path / "none.csv")


def test_arrays_of_different_lengths_are_refused(tmp_path):
    np.savez(tmp_path / "g.npz", sex=np.zeros(3), old=np.zeros(4))
    with pytest.raises(UnreadableError, match="other lengths"):
        read_group_table(tmp_path / "g.npz")


# Matching


def test_rows_are_matched_by_the_index_of_the_examples():
    groups = match_groups(
        table(ids=[7, 5, 6, 9, 8], sex=np.array(list("abcde"))), predicted(keys=np.array([5, 6, 7, 8]))
    )
    assert groups.by == "index"
    assert names(groups) == ["b", "c", "a", "e"]


def test_rows_are_matched_by_the_ids_that_runs_wrote(tmp_path):
    for run, order in enumerate(([0, 1, 2, 3], [3, 1, 0, 2])):
        ids = [f"case {place}" for place in order]
        pd.DataFrame({"id": ids, "pred": order, "true": order}).to_csv(tmp_path / f"{run}.csv", index=False)
    matched = match_passes(["r-0", "r-1"], [read_table(tmp_path / f"{run}.csv") for run in (0, 1)])
    groups = match_groups(table(ids=["case 3", "case 2", "case 1", "case 0"]), matched)
    assert groups.by == "digest"
    by_target = dict(zip(matched.targets.tolist(), names(groups), strict=True))
    assert by_target == {3: "m", 2: "f", 1: "f", 0: "m"}


def test_without_ids_rows_are_those_of_the_whole_data_set_in_its_order():
    groups = match_groups(table(), predicted())
    assert groups.by == "position"
    assert names(groups) == ["m", "f", "f", "m"]


def test_examples_known_by_their_inputs_are_matched_by_the_order_that_all_runs_share():
    keys = np.sort(digest_of(SEX + np.array(list("0123"), dtype=object)))
    shared = predicted(by="digest", keys=keys, places=np.array([2, 0, 3, 1]), in_one_order=True)
    assert names(match_groups(table(sex=np.array(list("abcd"))), shared)) == ["c", "a", "d", "b"]
    assert names(match_groups(table([3, 2, 1, 0], sex=np.array(list("abcd"))), shared)) == ["b", "d", "a", "c"]
    assert "another order" in match_groups(table(), predicted(by="digest", keys=keys)).reason


@pytest.mark.parametrize(
    ("rows", "examples", "reason"),
    [
        (table(ids=[0, 1, 2, 9]), predicted(), "has no row for 1 of the 4 examples"),
        (table(ids=[0, 1, 2, 2]), predicted(), "has several rows for one example"),
        (table(sex=SEX[:3]), predicted(), "has 3 rows, but 4 examples"),
        (table(), predicted(left_out=1), "has 4 rows, but 5 examples"),
        (table(ids=list("abcd"), sex=np.arange(4)), predicted(keys=np.arange(1, 5)), "another order in each run"),
        (table(ids=["a", "b", "c"], sex=SEX[:3]), predicted(), "its ids are not what examples are known by"),
    ],
)
def test_what_proves_no_match_is_withheld(rows, examples, reason):
    matched = match_groups(rows, examples)
    assert isinstance(matched, Withheld)
    assert reason in matched.reason


def test_a_column_with_a_value_for_each_example_holds_no_groups():
    many = predicted(keys=np.arange(101), labels=np.zeros((1, 101), int), targets=np.zeros(101, int))
    assert "more than 100 different values" in match_groups(table(age=np.arange(101) / 7), many).reason
    lists = np.array([["m"], ["f"], ["f"], ["m"], None], dtype=object)[:4]
    assert "or no plain ones" in match_groups(table(sex=lists), predicted()).reason


def test_groups_are_in_their_order_and_have_readable_names():
    assert match_groups(table(age=np.array([10.0, 9.0, 10.0, 9.5])), predicted()).groupings[0].groups == (
        "9",
        "9.5",
        "10",
    )
    missing = match_groups(table(sex=np.array(["m", None, "f", "m"], dtype=object)), predicted())
    assert missing.groupings[0].groups == ("f", "m", "(none)")
    assert names(missing) == ["m", "(none)", "f", "m"]
    assert match_groups(table(old=np.array([True, False, True, True])), predicted()).groupings[0].groups == (
        "False",
        "True",
    )
