"""Comparisons of predictions with targets, with their sides wrapped."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from deviate.source.analysis import analyse_project
from deviate.source.overlay import instrument_project, skipped_edits


def sides_wrapped(folder: Path, source: str, metrics: bool = False) -> str:
    """Analyse and instrument a file; return its text."""
    (folder / "train.py").write_text(source, encoding="utf-8")
    found = analyse_project(folder, Path("train.py"))
    selected = [metric for metric in found.metrics if metric.selected] if metrics else []
    result = instrument_project(folder, selected, None, [], found.comparisons)["train.py"]
    assert not result.skipped, result.skipped
    ast.parse(result.text, feature_version=(3, 7))
    return result.text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("c = (pred == y).sum()", "c = (__dv_side__(0, 0, pred) == __dv_side__(0, 1, y)).sum()"),
        ("c = pred.eq(y.view_as(pred))", "c = __dv_side__(0, 0, pred).eq(__dv_side__(0, 1, y.view_as(pred)))"),
        ("c = torch.eq(pred, y)", "c = torch.eq(__dv_side__(0, 0, pred), __dv_side__(0, 1, y))"),
        ("print(f'{(pred == y).mean()}')", "print(f'{(__dv_side__(0, 0, pred) == __dv_side__(0, 1, y)).mean()}')"),
        (
            "c = (out.topk(5)[1] == y[:, None]).any(1)",
            "c = (__dv_side__(0, 0, out.topk(5)[1]) == __dv_side__(0, 1, y[:, None])).any(1)",
        ),
        ("c = (preds == (a, y)[1])", "c = (__dv_side__(0, 0, preds) == __dv_side__(0, 1, (a, y)[1]))"),
        ("c = (lambda p: p)(pred) == y", "c = __dv_side__(0, 0, (lambda p: p)(pred)) == __dv_side__(0, 1, y)"),
    ],
)  # fmt: skip
def test_both_sides_are_wrapped(tmp_path: Path, before: str, after: str) -> None:
    assert sides_wrapped(tmp_path, before) == after


def test_a_comparison_in_a_value_that_is_recorded(tmp_path: Path) -> None:
    source = (
        "preds = f()\nfor epoch in range(3):\n    print('accuracy', (preds == y).mean(), 'loss', loss[preds == y])\n"
    )
    text = sides_wrapped(tmp_path, source, metrics=True)
    assert "__dv__(1, (__dv_side__(0, 0, preds) == __dv_side__(0, 1, y)).mean())" in text
    assert "__dv__(0, loss[__dv_side__(1, 0, preds) == __dv_side__(1, 1, y)])" in text


def test_what_a_wrapped_program_computes_is_the_same(tmp_path: Path) -> None:
    source = "pred = guess(3)\ncorrect = (pred == target).sum()\nshare = target.__eq__(pred).mean()\n"
    text = sides_wrapped(tmp_path, source)
    names = {"guess": lambda size: np.arange(size), "target": np.array([0, 2, 2])}
    seen: list[tuple[int, int]] = []

    def pass_side(comparison: int, side: int, value: object) -> object:
        seen.append((comparison, side))
        return value

    plain, wrapped = dict(names), {**names, "__dv_side__": pass_side}
    exec(source, plain)
    exec(text, wrapped)
    assert (plain["correct"], plain["share"]) == (wrapped["correct"], wrapped["share"]) == (2, 2 / 3)
    assert seen == [(0, 0), (0, 1)]


@pytest.mark.parametrize("decorator", ["torch.compile", "torch.jit.export", "numba.njit", "tf.function"])
def test_functions_that_are_compiled_from_their_source_stay_as_they_are(tmp_path: Path, decorator: str) -> None:
    source = f"@{decorator}\ndef step(pred, y):\n    return (pred == y).sum()\nprint(step(1, 2))\n"
    (tmp_path / "train.py").write_text(source, encoding="utf-8")
    found = analyse_project(tmp_path, Path("train.py"))
    results = instrument_project(tmp_path, [], None, [], found.comparisons)
    assert results["train.py"].text == source
    assert skipped_edits(results) == []


def test_a_function_that_is_traced_by_running_it_is_wrapped(tmp_path: Path) -> None:
    source = "x = 0\n@jax.jit\ndef step(pred, y):\n    return (pred == y).sum()\nprint(step(1, 2))\n"
    assert "__dv_side__(0, 0, pred) == __dv_side__(0, 1, y)" in sides_wrapped(tmp_path, source)
