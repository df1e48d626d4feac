"""The pictures and texts that a model is least certain of, as arrays and as tensors."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from installed import require
from programs import INJECTED

#: Certainties of 230 examples, and their pictures: the first value is the number of the example.
TOP = np.random.default_rng(0).permutation(230).astype(np.float32)
PICTURES = np.zeros((230, 4, 5, 3), np.uint8)
PICTURES[:, 0, 0, 0] = np.arange(230)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(INJECTED))
    names = "outputs", "passes", "texts", "capture"
    modules = [importlib.import_module(f"deviate_runtime.predictions.{name}") for name in names]
    return SimpleNamespace(**{key: value for module in modules for key, value in vars(module).items()})


def kept(runtime: Any, pictures: Any, top: Any, size: int = 10, order: Any = None) -> dict[str, np.ndarray]:
    """Keep pictures of an evaluation in batches, in an order."""
    known = runtime.Uncertain()
    order = np.arange(len(TOP)) if order is None else order
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        outputs = SimpleNamespace(columns={"top": top[rows], "log_sum": 0 * top[rows]})
        known.add(SimpleNamespace(size=len(rows), inputs=pictures[rows], outputs=outputs, index=rows, digest=None))
    return known.columns(np, {"index": order})


@pytest.mark.parametrize("size", [1, 10, 230])
def test_those_of_the_least_certain_examples_are_kept(runtime: Any, size: int) -> None:
    columns = kept(runtime, PICTURES, TOP, size)
    assert sorted(columns["picture_rows"]) == sorted(np.argsort(TOP)[:100])
    assert columns["pictures"][:, 0, 0, 0].tolist() == columns["picture_rows"].tolist()


def test_tensors_give_the_same(runtime: Any) -> None:
    require("torch")
    torch: Any = importlib.import_module("torch")
    order = np.random.default_rng(1).permutation(230)
    expected = kept(runtime, PICTURES, TOP, 100, order)
    columns = kept(runtime, torch.from_numpy(PICTURES), torch.from_numpy(TOP), 100, order)
    assert all(np.array_equal(columns[name], expected[name]) for name in expected)
    assert columns["pictures"][:, 0, 0, 0].tolist() == order[columns["picture_rows"]].tolist()


def test_large_pictures_are_made_small_and_few(runtime: Any) -> None:
    known = runtime.Uncertain()
    images = np.random.default_rng(2).random((200, 3, 200, 130))
    pictures = runtime.pictures_of(images, 200, 3)
    assert pictures.shape == (200, 50, 33, 3)
    outputs = SimpleNamespace(columns={"top": np.arange(200.0), "log_sum": np.zeros(200)})
    known.add(SimpleNamespace(size=200, inputs=pictures, outputs=outputs, index=None, digest=np.arange(200)))
    columns = known.columns(np, {"digest": np.arange(200)})
    assert columns["pictures"].size <= runtime.BYTES
    assert columns["picture_rows"].tolist() == list(range(runtime.BYTES // (50 * 33 * 3)))
    assert columns["pictures"].dtype == np.float64  # they are made smaller as they are written
    compact = runtime.bytes_of_pictures(np, columns["pictures"])
    first = np.rint(255 * images[0].transpose(1, 2, 0)[::4, ::4])
    assert np.array_equal(compact[0], first)


def test_channels_are_looked_for_where_the_library_has_them_first(runtime: Any) -> None:
    values = np.arange(8 * 1 * 2 * 3).reshape(8, 1, 2, 3)
    assert np.array_equal(runtime.pictures_of(values, 8, 1), values.reshape(8, 2, 3, 1))
    assert np.array_equal(runtime.pictures_of(values, 8, 3), values)


@pytest.mark.parametrize("shape", [(8, 6), (8, 5, 7), (8, 2, 9, 9), (7, 3, 9, 9)])
def test_other_inputs_are_no_pictures(runtime: Any, shape: tuple[int, ...]) -> None:
    assert runtime.pictures_of(np.zeros(shape), 8, 1) is None


def test_of_unknown_examples_and_of_values_none_is_kept(runtime: Any) -> None:
    for index, top in ((None, TOP), (np.arange(230), None)):
        known = runtime.Uncertain()
        outputs = SimpleNamespace(columns={} if top is None else {"top": top, "log_sum": 0 * top})
        known.add(SimpleNamespace(size=230, inputs=PICTURES, outputs=outputs, index=index, digest=None))
        assert known.columns(np, {"index": np.arange(230)}) == {}


TEXTS = [f"text {number} {'ä' * number}" for number in range(230)]


def test_the_beginnings_of_texts_are_kept_as_pictures_are(runtime: Any) -> None:
    texts = runtime.texts_of(TEXTS, 230)
    columns = kept(runtime, texts, TOP)
    assert sorted(columns["text_rows"]) == sorted(np.argsort(TOP)[:100])
    assert columns["texts"].tolist() == [TEXTS[row][:200] for row in columns["text_rows"]]
    codes = runtime.compact(np, columns, keep_scores=True)["texts"]
    assert codes.dtype == np.uint8
    assert ["".join(map(chr, row)).rstrip("\0") for row in codes.tolist()] == columns["texts"].tolist()


def test_texts_are_lists_and_arrays_of_them_of_one_an_example(runtime: Any) -> None:
    pair = ["who?", "why?"]
    for value in (pair, tuple(pair), np.array(pair), np.array(pair, dtype=object), np.array(pair)[:, None]):
        assert runtime.texts_of(value, 2).tolist() == pair
    for value in (pair[:1], ["who?", 3], "ab", np.array([1, 2]), np.array([b"a", b"b"]), None):
        assert runtime.texts_of(value, 2) is None


def test_several_texts_of_an_example_are_joined_with_their_names(runtime: Any) -> None:
    batch = {"question": ["who?", "why?"], "answer": ["I", "so"], "label": [0, 1], "length": np.array([1, 2])}
    named = runtime.texts_in(batch)
    assert runtime.joined_texts(named, 2).tolist() == ["question: who?; answer: I", "question: why?; answer: so"]
    assert runtime.joined_texts(runtime.texts_in((["a", "b"], np.array([0, 1]))), 2).tolist() == ["a", "b"]
    assert runtime.joined_texts(named, 3) is None


def test_digests_of_texts_are_of_all_their_characters(runtime: Any) -> None:
    digests = runtime.text_hashes(["a" * 500, "a" * 500 + "b", "a" * 500, "\udc80"])
    assert (digests[0] == digests[2], len(set(digests.tolist()))) == (True, 3)
