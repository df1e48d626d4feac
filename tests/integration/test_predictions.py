"""What models predict in evaluation is captured as the programs themselves compute it, and changes nothing they do."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from factor_runs import Zygote
from installed import require
from prediction_runs import Pass, Predicted, run_predicted

pytestmark = pytest.mark.slow

#: Times that the Trainer of Hugging Face prints.
TIMED = re.compile(r"'\w+_(?:runtime|per_second)': '[^']*'")


def run_both(parent: Zygote, folder: Path, program: str, *words: str, **config: object) -> Predicted:
    """Run a program with its predictions captured and without, and assert that it did the same."""
    on, off = run_predicted(parent, folder, program, words, ("labels", "none"), **config)
    assert TIMED.sub("", on.output) == TIMED.sub("", off.output)
    assert on.own.keys() == off.own.keys()
    for name, array in on.own.items():
        assert array.tobytes() == off.own[name].tobytes()
    assert not off.passes
    return on


def equals(own: dict[str, np.ndarray], each: Pass) -> bool:
    """Tell whether a pass holds exactly what a program computed itself."""
    kind = "label" if "label" in own else "value"
    if kind not in each.columns:
        return False
    columns = dict(each.columns)
    if each.header["classes"] is not None:
        names = np.array(each.header["classes"])
        columns = {name: names[column] if name in ("label", "target") else column for name, column in columns.items()}
    return all(np.array_equal(columns[name], own[name]) for name in (kind, "target"))


def captured(run: Predicted) -> Pass:
    """Return the last pass that is what the program computed last; it is the program's accuracy too."""
    assert [note for note in run.notes if note["slug"].startswith(("predictions", "library"))] == []
    same = [each for each in run.passes if each.header["kept"] == "last" and equals(run.own, each)]
    assert same, [(each.header, each.columns) for each in run.passes]
    found = same[-1]
    if "accuracy" in run.own:
        correct = float((found.columns["label"] == found.columns["target"]).mean())
        assert correct == pytest.approx(float(run.own["accuracy"]), abs=1e-6)
        assert found.header["goodness"] == correct
    return found


def test_a_loop_of_torch(torchs: Zygote, tmp_path: Path) -> None:
    run = run_both(torchs, tmp_path, "torch_loop.py")
    found = captured(run)
    assert found.columns["index"].tolist() == list(range(64))
    assert found.function == "test"
    assert [step["function"] for step in found.header["chain"][:2]] == ["test", "<module>"]
    assert (found.header["rows"], found.header["number"]) == (64, 2)
    printed = [float(text) for text in re.findall(r"accuracy ([\d.]+)", run.output)]
    (best,) = [each for each in run.passes if each.header["kept"] == "best"]
    assert best.header["goodness"] == max(printed) > printed[-1]
    assert best.header["iteration"] == printed.index(max(printed))


def test_every_pass_is_kept_where_it_is_asked_for(torchs: Zygote, tmp_path: Path) -> None:
    (run,) = run_predicted(torchs, tmp_path, "torch_loop.py", (), ("labels:every",))
    last = captured(run)
    (every,) = [each for each in run.every if each.header.site.function == "test"]
    printed = [float(text) for text in re.findall(r"accuracy ([\d.]+)", run.output)]
    right = every.columns["label"] == every.columns["target"][:, None]
    assert right.mean(axis=0).tolist() == pytest.approx(printed, abs=1e-6)
    assert every.numbers == every.iterations == (0, 1, 2)
    assert every.columns["label"][:, -1].tolist() == last.columns["label"].tolist()


def test_a_shuffled_loader_with_workers(torchs: Zygote, tmp_path: Path) -> None:
    run = run_both(torchs, tmp_path, "torch_shuffled.py")
    index = captured(run).columns["index"]
    assert index.tolist() == run.own["index"].tolist()
    assert sorted(index) == list(range(64)) != list(index)
    assert not run.every


def test_predictions_that_scikit_learn_reports_on(torchs: Zygote, tmp_path: Path) -> None:
    require("sklearn")
    run = run_both(torchs, tmp_path, "torch_sklearn.py")
    assert sorted(captured(run).columns["index"]) == list(range(64))
    assert {each.header["rows"] for each in run.passes} == {64}


def test_names_of_classes_that_scikit_learn_reports_on(torchs: Zygote, tmp_path: Path) -> None:
    require("sklearn")
    run = run_both(torchs, tmp_path, "sklearn_report.py")
    assert captured(run).header["classes"] == ["cat", "dog", "eel"]
    assert {each.header["rows"] for each in run.passes} == {75}


def test_a_regression(torchs: Zygote, tmp_path: Path) -> None:
    found = captured(run_both(torchs, tmp_path, "torch_regression.py"))
    assert found.columns["index"].tolist() == list(range(32))


def test_the_scores_of_a_ranking_are_values_without_a_label(torchs: Zygote, tmp_path: Path) -> None:
    run = run_both(torchs, tmp_path, "torch_ranked.py")
    (found,) = (each for each in run.last if "value" in each.columns)
    assert np.array_equal(found.columns["value"], run.own["value"])
    assert np.array_equal(found.columns["target"], run.own["target"])


@pytest.mark.parametrize("way", ["labels", "scores"])
def test_of_outputs_that_vary_what_the_program_measures_counts(torchs: Zygote, tmp_path: Path, way: str) -> None:
    run = run_both(torchs, tmp_path, "torch_stochastic.py", way)
    (found,) = (each for each in run.last if each.header["rows"] == 60)
    assert equals(run.own, found)
    assert "score" not in found.columns


@pytest.mark.parametrize("way", ["alone", "loader"])
def test_outputs_that_vary_are_not_captured_where_none_is_measured(torchs: Zygote, tmp_path: Path, way: str) -> None:
    run = run_both(torchs, tmp_path, "torch_stochastic.py", way)
    assert run.passes == []
    notes = [note["message"] for note in run.notes if note["slug"] == "predictions-unseen"]
    assert [message for message in notes if "returned other outputs" in message] == notes[: way == "loader"]


def test_outputs_that_do_not_vary_are_captured_though_a_model_is_called_again(torchs: Zygote, tmp_path: Path) -> None:
    run = run_both(torchs, tmp_path, "torch_stochastic.py", "eval")
    (found,) = run.last
    assert found.columns["value"] == pytest.approx(run.own["value"])


def test_the_tokens_of_a_language_model(torchs: Zygote, tmp_path: Path) -> None:
    found = captured(run_both(torchs, tmp_path, "torch_tokens.py"))
    assert len(set(found.columns["digest"].tolist())) == 240


@pytest.mark.parametrize("way", ["plain", "teacher", "autoencoder", "masks", "compiled", "transforms"])
def test_what_is_no_evaluation_is_left_out(torchs: Zygote, tmp_path: Path, way: str) -> None:
    run = run_both(torchs, tmp_path, "torch_traps.py", way)
    assert captured(run).columns["index"].tolist() == list(range(48))
    assert [each.function for each in run.last] == ["test"]


def test_scores_of_all_classes(torchs: Zygote, tmp_path: Path) -> None:
    (run,) = run_predicted(torchs, tmp_path, "torch_loop.py", (), ("scores",))
    scores = captured(run).columns["scores"]
    assert scores.shape == (64, 3)
    assert np.array_equal(scores.argmax(axis=1), run.own["label"])


def test_a_metric_of_torchmetrics(trainers: Zygote, tmp_path: Path) -> None:
    run = run_both(trainers, tmp_path, "torch_metrics.py")
    assert captured(run).columns["index"].tolist() == list(range(64))
    assert {each.header["rows"] for each in run.passes} == {64}


def test_lightning(trainers: Zygote, tmp_path: Path) -> None:
    run = run_both(trainers, tmp_path, "lightning_module.py")
    assert captured(run).function == "test_step"
    validated = next(each for each in run.last if each.function == "validation_step")
    assert repr(validated.header["goodness"])[:6] in run.output
    assert validated.columns["index"].tolist() == list(range(48))


def test_the_trainer_of_hugging_face(trainers: Zygote, tmp_path: Path) -> None:
    run = run_both(trainers, tmp_path, "hf_trainer.py")
    assert captured(run).columns["index"].tolist() == run.own["index"].tolist()


def test_accelerate(trainers: Zygote, tmp_path: Path) -> None:
    run = run_both(trainers, tmp_path, "accelerate_loop.py")
    assert captured(run).columns["index"].tolist() == run.own["index"].tolist()


@pytest.mark.parametrize(("words", "hold"), [((), True), pytest.param(("dataset",), False, marks=pytest.mark.nightly)])
def test_evaluate_of_keras(tensorflow: Zygote, tmp_path: Path, words: tuple[str, ...], hold: bool) -> None:
    run = run_both(tensorflow, tmp_path, "keras_evaluate.py", *words, hold_impl=hold)
    assert len(set(captured(run).columns["digest"].tolist())) == 72
    assert {each.header["rows"] for each in run.passes} == {72, 80}


@pytest.mark.nightly
def test_evaluate_of_keras_on_jax(jax: Zygote, tmp_path: Path) -> None:
    captured(run_both(jax, tmp_path, "keras_evaluate.py"))


def test_a_loop_of_keras(tensorflow: Zygote, tmp_path: Path) -> None:
    captured(run_both(tensorflow, tmp_path, "keras_loop.py"))


def test_compiled_steps_of_tensorflow(tensorflow: Zygote, tmp_path: Path) -> None:
    captured(run_both(tensorflow, tmp_path, "tf2_loop.py"))
