"""The labels of every pass, written by the runtime and read by the tool."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from programs import INJECTED

from deviate.observe.matching import Withheld, match_every
from deviate.observe.predictions import read_pass
from deviate.store.integrity import DamagedError

HEADER = {
    "site": {"file": "train.py", "line": 9, "function": "evaluate"},
    "chain": [{"file": "train.py", "line": 9, "function": "evaluate"}],
    "data": "", "rank": None, "goodness": 0.5, "classes": None,
}  # fmt: skip

TARGETS = np.arange(30) % 3


@pytest.fixture
def runtime(monkeypatch):
    monkeypatch.syspath_prepend(str(INJECTED))
    return importlib.import_module("deviate_runtime.predictions.capture")


def written(runtime, path, passes):
    """Write passes, each with its number, columns and perhaps classes, in two goes."""
    kept = runtime.Every()
    for number, (columns, classes) in enumerate(passes):
        header = {
            **HEADER,
            "number": number,
            "iteration": 2 * number,
            "rows": len(columns["target"]),
            "classes": classes,
        }
        kept.add(np, header, columns)
        if number % 2:
            flush(runtime, kept, path)
    flush(runtime, kept, path)
    return read_pass(path)


def flush(runtime, kept, path):
    waiting, kept.waiting = kept.waiting, []
    runtime.append_passes(
        str(path), [(dict(header, kept="every"), runtime.compact(np, columns, False)) for header, columns in waiting]
    )


def shuffled(rng, labels, **more):
    order = rng.permutation(len(TARGETS))
    return {"target": TARGETS[order], "label": labels[order], "index": order, **more}, None


def test_shuffled_passes_are_read_in_one_order(runtime, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=(5, 30))
    read = written(runtime, tmp_path / "p.bin", [shuffled(rng, each) for each in labels])
    assert read.columns["index"].tolist() == list(range(30))
    assert read.columns["target"].tolist() == TARGETS.tolist()
    assert read.columns["label"].T.tolist() == labels.tolist()
    assert read.numbers == (0, 1, 2, 3, 4)
    assert read.iterations == (0, 2, 4, 6, 8)


def test_a_pass_on_other_examples_is_left_out(runtime, tmp_path):
    rng = np.random.default_rng(0)
    other = {"target": TARGETS[:20], "label": TARGETS[:20], "index": np.arange(20)}, None
    read = written(runtime, tmp_path / "p.bin", [shuffled(rng, TARGETS), other, shuffled(rng, 2 - TARGETS)])
    assert read.numbers == (0, 2)
    assert read.columns["label"].T.tolist() == [TARGETS.tolist(), (2 - TARGETS).tolist()]


def test_names_of_classes_may_appear_later(runtime, tmp_path):
    target = np.array([0, 1] * 5)
    late = np.array([0, 1] * 4 + [0, 2])
    passes = [
        ({"target": target, "label": target}, ["b", "c"]),
        ({"target": target + 1, "label": late}, ["a", "b", "c"]),
    ]
    read = written(runtime, tmp_path / "p.bin", passes)
    assert read.header.classes == ["a", "b", "c"]
    assert read.columns["target"].tolist() == (target + 1).tolist()
    assert read.columns["label"][:, 1].tolist() == late.tolist()


def test_a_file_that_was_cut_is_damaged(runtime, tmp_path):
    path = tmp_path / "p.bin"
    rng = np.random.default_rng(0)
    written(runtime, path, [shuffled(rng, each) for each in rng.integers(3, size=(3, 30))])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DamagedError, match=r"p\.bin is damaged"):
        read_pass(path)


def test_labels_that_hardly_change_take_little(runtime, tmp_path):
    rng = np.random.default_rng(0)
    target = rng.integers(10, size=5000)
    labels = np.where(rng.random((20, 5000)) < 0.02, 9 - target, target)
    passes = [({"target": target, "label": each, "index": np.arange(5000)}, None) for each in labels]
    written(runtime, tmp_path / "p.bin", passes)
    assert (tmp_path / "p.bin").stat().st_size < 20 * 5000 / 4


def test_runs_are_compared_in_the_passes_that_all_made(runtime, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=(3, 30))
    reads = [
        written(runtime, tmp_path / f"{run}.bin", [shuffled(rng, each) for each in labels[: 3 - run]]) for run in (0, 1)
    ]
    every = match_every(["r-0", "r-1"], reads)
    assert every.predictions.labels.shape == (2, 30, 2)
    assert (every.predictions.labels[0] == every.predictions.labels[1]).all()
    assert (every.iterations, every.left_out, every.predictions.by) == ((0, 2), 1, "index")
    short = written(runtime, tmp_path / "short.bin", [({"target": TARGETS[:5], "label": TARGETS[:5]}, None)])
    assert isinstance(match_every(["r-0", "r-1"], [reads[0], short]), Withheld)


def test_answers_for_the_same_targets_are_of_another_pass(runtime):
    passes = importlib.import_module("deviate_runtime.predictions.passes")

    def measured(*targets):
        one = passes.Pass(passes.Point(0, (), ""), None, 0)
        for number, target in enumerate(targets):
            one.add(passes.Batch(len(target), target=target, label=np.full(len(target), number)))
        return one

    assert measured(TARGETS, TARGETS.copy()).rows == len(TARGETS)
    assert measured(TARGETS, TARGETS.copy()).batches[0].label[0] == 1
    # Other examples of the same number, few of them, and those of one class may be the rest of one pass.
    assert measured(TARGETS, TARGETS[::-1], TARGETS[:5], TARGETS[:5]).rows == 2 * len(TARGETS) + 10
    assert measured(0 * TARGETS, 0 * TARGETS).rows == 2 * len(TARGETS)
