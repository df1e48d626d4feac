"""What enters the last linear layer is captured as the program itself sees it, of the same examples in every run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from factor_runs import Zygote
from prediction_runs import run_predicted

from deviate.observe.matching import Predictions, match_passes
from deviate.observe.predictions import EvaluationPass, read_pass
from deviate.stats.weights import mean_cka

pytestmark = pytest.mark.slow


def test_features_are_those_that_enter_the_last_layer(torchs: Zygote, tmp_path: Path) -> None:
    passes, own = [], []
    for seed in ("1", "2"):
        kinds = ("scores", "labels", "none")
        scores, labels, none = run_predicted(torchs, tmp_path / seed, "torch_features.py", [seed], kinds)
        assert scores.output == labels.output == none.output
        assert scores.own["features"].tobytes() == none.own["features"].tobytes()
        assert all({"features", "pictures"}.isdisjoint(each.columns) for each in labels.passes)
        file = next((tmp_path / seed / "scores" / "records").glob("predictions-*-last-*.bin"))
        passes.append(read_pass(file))
        own.append(scores.own)
    for known, seen in zip(passes, own, strict=True):
        assert known.features is not None
        assert known.feature_rows is not None
        assert known.features.shape == (1000, 5)
        numbers = known.columns["index"][known.feature_rows]
        expected = seen["features"][np.argsort(seen["order"])][numbers]
        assert known.features.tobytes() == expected.astype(np.float32).tobytes()
        check_pictures(known, seen)
    matched = match_passes(["a", "b"], passes)
    assert isinstance(matched, Predictions)
    assert matched.features is not None
    assert [len(each) for each in matched.features] == [1000, 1000]
    common = np.sort(passes[0].columns["index"][passes[0].feature_rows])
    whole = [each["features"][np.argsort(each["order"])][common] for each in own]
    assert mean_cka(matched.features).value == pytest.approx(mean_cka(whole).value, abs=1e-12)


def check_pictures(known: EvaluationPass, seen: Mapping[str, np.ndarray]) -> None:
    """Compare the pictures that are kept with the inputs of the 100 examples whose highest score is lowest."""
    assert known.inputs is not None
    assert known.input_rows is not None
    assert known.inputs.shape == (100, 2, 3, 1)
    numbers = known.columns["index"][known.input_rows]
    highest = seen["scores"].max(axis=1)[np.argsort(seen["order"])]
    assert highest[numbers].max() <= np.sort(highest)[99] + 1e-6
    inputs = seen["x"][numbers].astype(float)
    low, high = inputs.min(axis=1, keepdims=True), inputs.max(axis=1, keepdims=True)
    stretched = 255 * np.where(low < 0, (inputs - low) / (high - low), np.where(high > 1, inputs / 255, inputs))
    assert np.abs(known.inputs.reshape(100, 6) - stretched).max() <= 0.5 + 1e-6


@pytest.mark.parametrize("called_on", ["text", "tokens"])
def test_the_least_certain_texts_are_kept_of_calls_and_of_batches(
    torchs: Zygote, tmp_path: Path, called_on: str
) -> None:
    scores, labels, none = run_predicted(torchs, tmp_path, "torch_texts.py", [called_on], ("scores", "labels", "none"))
    assert scores.output == labels.output == none.output
    assert scores.own["scores"].tobytes() == none.own["scores"].tobytes()
    assert all("texts" not in each.columns for each in labels.passes)
    (file,) = (tmp_path / "scores" / "records").glob("predictions-*-last-*.bin")
    known = read_pass(file)
    assert known.inputs is not None
    assert known.input_rows is not None
    assert len(known.inputs) == 100
    numbers = known.columns["index"][known.input_rows]
    assert known.inputs.tolist() == scores.own["texts"][numbers].tolist()
    highest = scores.own["scores"].max(axis=1)
    assert highest[numbers].max() <= np.sort(highest)[99] + 1e-6


@pytest.mark.nightly
def test_the_least_certain_texts_of_keras_are_kept(tensorflow: Zygote, tmp_path: Path) -> None:
    scores, none = run_predicted(tensorflow, tmp_path, "keras_texts.py", (), ("scores", "none"))
    assert scores.output == none.output
    assert scores.own["scores"].tobytes() == none.own["scores"].tobytes()
    files = list((tmp_path / "scores" / "records").glob("predictions-*-last-*.bin"))
    assert len(files) == 2
    highest = dict(zip(scores.own["texts"].tolist(), scores.own["scores"].max(axis=1), strict=True))
    for known in map(read_pass, files):
        assert known.inputs is not None
        assert len(known.inputs) == 100
        assert max(highest[text] for text in known.inputs) <= np.sort(list(highest.values()))[99] + 1e-6


@pytest.mark.parametrize(
    ("backend", "way"),
    [
        ("tensorflow", "evaluate"),
        pytest.param("tensorflow", "loop", marks=pytest.mark.nightly),
        pytest.param("tensorflow", "predict", marks=pytest.mark.nightly),
        pytest.param("jax", "evaluate", marks=pytest.mark.nightly),
    ],
)
def test_features_of_keras_are_those_that_enter_the_last_dense_layer(
    request: pytest.FixtureRequest, tmp_path: Path, backend: str, way: str
) -> None:
    parent = request.getfixturevalue(backend)
    passes, own = [], []
    for seed in ("1", "2"):
        kinds = ("scores", "none") if seed == "1" else ("scores",)
        scores, *none = run_predicted(parent, tmp_path / seed, "keras_features.py", (way, seed), kinds)
        assert all(scores.output == each.output for each in none)
        assert all(scores.own["features"].tobytes() == each.own["features"].tobytes() for each in none)
        (file,) = (tmp_path / seed / "scores" / "records").glob("predictions-*-last-*.bin")
        passes.append(read_pass(file))
        own.append(scores.own["features"])
    kept = []
    for known, seen in zip(passes, own, strict=True):
        assert known.features is not None
        assert known.feature_rows is not None
        assert known.features.shape == (1000, 5)
        kept.append(known.feature_rows)
        assert known.features == pytest.approx(seen[known.feature_rows], abs=1e-6)
    assert sorted(kept[0]) == sorted(kept[1])
    matched = match_passes(["a", "b"], passes)
    assert isinstance(matched, Predictions)
    assert matched.features is not None
    common = np.sort(kept[0])
    expected = unbiased_cka(*(each[common] for each in own))
    assert mean_cka(matched.features).value == pytest.approx(expected, abs=1e-6)
    assert expected < 0.999


def unbiased_cka(x: np.ndarray, y: np.ndarray) -> float:
    """Compute linear CKA from whole matrices of products, as Song et al. (2012) write their HSIC_1."""

    def hsic(k: np.ndarray, m: np.ndarray) -> float:
        n, ones = len(k), np.ones(len(k))
        total = (ones @ k @ ones) * (ones @ m @ ones) / ((n - 1) * (n - 2))
        return float((np.trace(k @ m) + total - 2 / (n - 2) * (ones @ k @ m @ ones)) / (n * (n - 3)))

    k, m = (products - np.diag(np.diag(products)) for products in (each.astype(float) @ each.T for each in (x, y)))
    return hsic(k, m) / np.sqrt(hsic(k, k) * hsic(m, m))


@pytest.mark.parametrize("program", ["flax_loop.py", pytest.param("nnx_loop.py", marks=pytest.mark.nightly)])
def test_what_jax_compiles_is_evaluated_again_at_the_end(jax: Zygote, tmp_path: Path, program: str) -> None:
    """Labels and features are those that the program computes itself of its final weights; others are said to lack."""
    scores, labels, none = run_predicted(jax, tmp_path, program, (), ("scores", "labels", "none"))
    assert scores.output == labels.output == none.output
    assert all(array.tobytes() == none.own[name].tobytes() for name, array in scores.own.items())
    assert not labels.passes
    assert not none.passes
    (message,) = [note["message"] for note in labels.notes if note["slug"] == "predictions-unseen"]
    assert "JAX compiles" in message
    assert "--predictions FILE" in message
    (last,) = scores.passes
    assert last.columns["label"].tolist() == scores.own["label"].tolist()
    assert last.columns["target"].tolist() == scores.own["target"].tolist()
    assert np.mean(scores.own["label"] == scores.own["target"]) == pytest.approx(float(scores.own["accuracy"]))
    assert len(set(last.columns["digest"].tolist())) == 64
    rows = last.columns["feature_rows"]
    assert sorted(rows.tolist()) == list(range(64))
    assert last.columns["features"] == pytest.approx(scores.own["features"][rows], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("word", "reason"),
    [("prints", "it prints or calls back"), ("large", "its arguments take more than 256 MiB")],
)
def test_what_cannot_be_evaluated_again_is_stated(jax: Zygote, tmp_path: Path, word: str, reason: str) -> None:
    scores, none = run_predicted(jax, tmp_path, "flax_loop.py", [word], ("scores", "none"))
    assert scores.output == none.output
    assert not scores.passes
    (message,) = [note["message"] for note in scores.notes if note["slug"] == "predictions-unseen"]
    assert f"it is not evaluated again at the end: {reason};" in message
