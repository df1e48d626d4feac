"""Rows of many numbers are data: matrices, weights, stored models. What is named like a metric stays one."""

from __future__ import annotations

import random

import pytest

from deviate.observe.output.files import read_data
from deviate.observe.output.judge import Judged, judge
from deviate.observe.output.slots import mine_log


def judged(texts: list[str], source: str = "stdout") -> list[Judged]:
    suffix = source[source.rfind(".") :] if "." in source else ""
    return judge({f"run-{k}": read_data(text.encode(), suffix, source).series for k, text in enumerate(texts)})


def kinds(*texts: str, source: str = "stdout") -> dict[str, str]:
    return {one.slot.name: one.kind for one in judged(list(texts), source)}


def trees(seed: int) -> str:
    """Write trees as a library for boosting stores them."""
    draw = random.Random(seed)
    lines = ["tree", "version=v4", "num_class=1"]
    for number in range(6):
        leaves = draw.randint(3, 9)
        lines += [f"Tree={number}", f"num_leaves={leaves}"]
        lines.append("threshold=" + " ".join(repr(draw.random()) for _ in range(leaves - 1)))
        lines.append("leaf_value=" + " ".join(repr(draw.gauss(0, 1)) for _ in range(leaves)))
    return "\n".join(lines) + "\n"


def test_a_stored_model_holds_no_metric_and_all_its_numbers_are_listed():
    found = judged([trees(1), trees(2)], "model.txt")
    assert [one.slot.name for one in found if one.kind == "metric"] == []
    assert {one.kind for one in found if one.varies} == {"data"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("[[50  2]\n [ 3 45]]", "[[49  3]\n [ 1 47]]", {"data"}),
        ("tensor([[0.1, 0.2],\n        [0.3, 0.4]])", "tensor([[0.5, 0.2],\n        [0.7, 0.4]])", {"data"}),
        ("[0.11 0.12 0.13\n 0.14 0.15 0.16\n 0.17]", "[0.21 0.22 0.23\n 0.24 0.25 0.26\n 0.27]", {"data"}),
        ("key=3 weight=0.25 bias: 0.5", "key=3 weight=0.75 bias: 0.1", {"constant", "data"}),
        ("theta: 1.5 2.5 3.5 4.5", "theta: 1.4 2.4 3.4 4.4", {"data"}),
        ("accuracy: 0.5 0.6 0.7 0.8", "accuracy: 0.4 0.6 0.7 0.9", {"metric"}),
        ("1 0.5 0.6 0.7 0.8", "2 0.4 0.6 0.7 0.9", {"metric"}),
        ("[0.5, 0.25]\n[0.4, 0.75]", "[0.6, 0.15]\n[0.3, 0.35]", {"metric"}),
        ("tensor([[0.25]])\nloss tensor(0.5)", "tensor([[0.75]])\nloss tensor(0.25)", {"data", "metric"}),
        ("rows\n[5.1 3.5 ... 1.4 0.2]", "rows\n[4.9 3.0 ... 1.3 0.3]", {"data"}),
        ("[[0.9 0.06 0.04]]", "[[0.8 0.15 0.05]]", {"data"}),
        ("per class: [0.5, 0.25, 0.5]", "per class: [0.6, 0.15, 0.75]", {"data"}),
    ],
)
def test_rows_of_matrices_and_under_one_name_are_data(first, second, expected):
    found = judged([first, second])
    assert {one.kind for one in found if one.varies or one.kind == "constant"} - {"constant"} == expected - {"constant"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("[1, 0, 2]", "[1, 2, 2]", {"data"}),
        ("Selected: [3 4 9]", "Selected: [3 5 9]", {"data"}),
        ("errors: [0.5, 0.25]", "errors: [0.25, 0.5]", {"data"}),
        ("loss [0.5]", "loss [0.4]", {"metric"}),
        ("[1, 20] loss: 0.5", "[1, 20] loss: 0.6", {"metric"}),
        ("loss [0.5]\nloss [0.5, 0.4]", "loss [0.6]\nloss [0.6, 0.3]", {"metric", "data"}),
    ],
)
def test_items_of_a_printed_list_are_data_whatever_the_name_in_front_of_it(first, second, expected):
    found = judge({f"run-{k}": mine_log(text.encode(), "stdout").series for k, text in enumerate((first, second))})
    assert {one.kind for one in found if one.varies} == expected


def test_a_log_with_a_matrix_in_it_keeps_its_metrics():
    log = "epoch 1 loss {}\n[[{} 2 3]\n [4 {} 6]\n [7 8 {}]]\n"
    found = kinds(log.format(0.5, 1, 5, 9), log.format(0.75, 2, 6, 10), source="train.log")
    assert found["loss"] == "metric"
    assert {found[name] for name in found if name.startswith("column")} == {"data"}


def test_matrices_in_json_are_data_and_lists_of_a_metric_are_not():
    text = '{{"coefs": [[{0}, 0.2], [0.3, {0}]], "history": {{"loss": [{0}, 0.1]}}}}'
    found = kinds(text.format(0.5), text.format(0.6), source="fit.json")
    assert found == {"coefs": "data", "history/loss": "metric"}


@pytest.mark.parametrize(("columns", "kind"), [(10, "metric"), (11, "data"), (20, "data")])
def test_rows_of_a_file_that_nothing_names_are_metrics_up_to_ten_numbers(columns, kind):
    draw = random.Random(1)
    files = ["\n".join(",".join(f"{draw.random():.4f}" for _ in range(columns)) for _ in range(30)) for _ in range(2)]
    assert set(kinds(*files, source="predict.csv").values()) == {kind}


def bins(counter: str, *errors: float) -> str:
    items = ", ".join(f'{{{counter}"low": {k}, "mae": {error}}}' for k, error in enumerate(errors))
    return f'{{"rmse": {errors[0] + 1}, "bins": [{items}]}}'


def test_items_of_a_list_are_no_course_of_time_unless_a_key_counts_them():
    parts = bins("", 37.7, 26.7), bins("", 38.1, 25.9)
    assert kinds(*parts, source="bins.json") == {"rmse": "metric", "bins/low": "data", "bins/mae": "data"}
    passes = bins('"epoch": 1, ', 37.7, 26.7), bins('"epoch": 1, ', 38.1, 25.9)
    assert kinds(*passes, source="history.json")["bins/mae"] == "metric"


def test_rows_of_a_table_that_nothing_counts_are_no_time_unless_all_are_named_like_metrics():
    tables = [f"actual,offset,loss\n1.5,{0.2 + k},{0.5 + k}\n2.5,{0.4 + k},{0.3 + k}\n" for k in (0.1, 0.2)]
    found = kinds(*tables, source="rows.csv")
    assert (found["offset"], found["loss"]) == ("data", "data")
    history = [f"lr,loss,acc\n0.1,{0.2 + k},{0.5 + k}\n0.01,{0.4 + k},{0.3 + k}\n" for k in (0.1, 0.2)]
    assert kinds(*history, source="rows.csv")["loss"] == "metric"
    classes = [f"label,recall,support\n0,{0.2 + k},12\n1,{0.4 + k},15\n" for k in (0.1, 0.2)]
    assert kinds(*classes, source="rows.csv")["recall"] == "data"
    counted = [f"epoch,offset\n1,{0.2 + k}\n2,{0.4 + k}\n" for k in (0.1, 0.2)]
    assert kinds(*counted, source="rows.csv")["offset"] == "metric"
