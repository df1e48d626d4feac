"""Weights after iterations: written by the runtime, stored once, read back, compared."""

from __future__ import annotations

import hashlib
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from deviate.core.errors import BadOption
from deviate.core.experiment import Run
from deviate.facts.weights import RunWeights, weight_facts, weights_of, weights_table
from deviate.observe.weights import read_weights
from deviate.report.topics.stability import weight_sentences
from deviate.runs.kept import LIMIT, share_weights
from deviate.store.folders import ExperimentFolder, RunFolder
from deviate.store.integrity import DamagedError

INJECTED = Path(sys.modules["deviate"].__file__).parent / "runtime" / "injected"


@pytest.fixture
def runtime(monkeypatch):
    """The runtime's own module, as it is imported in a training."""
    monkeypatch.syspath_prepend(str(INJECTED))
    return importlib.import_module("deviate_runtime.weights")


def writer(runtime, folder, weights="every:2", limit=LIMIT):
    folder.mkdir(parents=True, exist_ok=True)
    notes = []
    events = SimpleNamespace(stem="7-8", note=lambda slug, message, subject: notes.append(slug))
    config = {"records": str(folder), "weights": weights, "weights_limit": limit}
    return runtime.Weights(SimpleNamespace(config=config, events=events)), notes


def tensors(runtime, **arrays):
    return [runtime.Tensor(name, str(a.dtype), a.shape, a.nbytes, a.tobytes) for name, a in arrays.items()]


def train(runtime, folder, *, first=0.0, weights="every:2", limit=LIMIT):
    """Write what a run of five iterations does in which one layer is frozen."""
    writing, notes = writer(runtime, folder, weights, limit)
    values = [0.0]

    def layers():
        return tensors(runtime, frozen=np.ones(64), net=np.full(3, values[-1]))

    writing.at_iteration.append(lambda iteration: writing.write("torch-1", layers(), iteration))
    for iteration in range(5):
        writing.tick(iteration - 1)
        values.append(iteration + first)
    writing.write("torch-1", layers())
    return notes


def run_of(folder, index=0):
    return SimpleNamespace(folder=RunFolder(folder, Run(variant="algo", index=index)), outcome=None)


def test_weights_are_read_back_as_they_were_after_each_iteration(runtime, tmp_path):
    assert train(runtime, tmp_path) == []
    kept = read_weights(run_of(tmp_path))
    assert list(kept.moments) == [1, 3]
    assert [kept.moments[at]["net"].tolist() for at in (1, 3)] == [[1.0] * 3, [3.0] * 3]
    assert kept.final["net"].tolist() == [4.0] * 3
    assert all(layers["frozen"].tolist() == [1.0] * 64 for layers in (*kept.moments.values(), kept.final))


def test_what_did_not_change_is_stored_once(runtime, tmp_path):
    train(runtime, tmp_path)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sizes["weights-torch-1-after1-7-8.safetensors"] > 64 * 8 > sizes["weights-torch-1-after3-7-8.safetensors"]
    (tmp_path / "weights-torch-1-after1-7-8.safetensors").unlink()
    with pytest.raises(DamagedError, match="weights of torch-1 after iteration 1 are missing"):
        read_weights(run_of(tmp_path))


def test_beyond_the_limit_final_weights_come_first_and_it_is_noted(runtime, tmp_path):
    whole = 67 * 8
    assert train(runtime, tmp_path / "room", limit=2 * whole + 200) == ["weights-left-out"]
    kept = read_weights(run_of(tmp_path / "room"))
    assert list(kept.moments) == [1]
    assert kept.final["net"].tolist() == [4.0] * 3
    assert set(train(runtime, tmp_path / "none", limit=whole - 1)) == {"weights-left-out"}
    assert not list((tmp_path / "none").iterdir())
    assert train(runtime, tmp_path / "digest", weights="digest") == []
    assert not list((tmp_path / "digest").iterdir())


def test_equal_files_of_runs_are_one_on_the_disk(runtime, tmp_path):
    experiment = ExperimentFolder(tmp_path)
    for index, first in enumerate((0.0, 0.5, 0.0)):
        folder = experiment.run(Run(variant="algo", index=index))
        train(runtime, folder.path, first=first)
        share_weights(experiment, folder)
    links = {path.parent.name: path.stat().st_nlink for path in tmp_path.rglob("weights-torch-1-7-8.safetensors")}
    assert links == {"algo-0": 2, "algo-1": 1, "algo-2": 2}
    assert not list(tmp_path.rglob("*.tmp"))


def test_where_weights_part_is_said(runtime, tmp_path):
    def facts(*moments):
        kept = [{at: {"w": np.array(each[run])} for at, each in moments} for run in range(2)]
        runs = {f"r-{run}": RunWeights(layers={"w": np.ones(2)}, moments=each) for run, each in enumerate(kept)}
        return weight_facts("algo", runs, 0.95)

    same, other = ([1.0, 2.0], [1.0, 2.0]), ([1.0, 0.0], [0.0, 1.0])
    parted = facts((4, same), (9, other))
    assert [(each.iteration, each.equal) for each in parted.moments] == [(4, True), (9, False)]
    assert parted.moments[1].distance.value == pytest.approx(np.sqrt(2))

    def said(facts):
        return weight_sentences(facts)[1]

    assert said(parted) == "Weights are equal in all runs up to iteration 4 and differ from iteration 9 on."
    assert said(facts((4, other))) == "Weights differ from the first that were kept, iteration 4."
    assert said(facts(("a.pt", same))) == "All weights that were kept on the way are equal in all runs."


def test_weights_that_are_no_numbers_are_not_compared():
    runs = {f"r-{run}": RunWeights(layers={"w": np.array([1.0, np.nan])}) for run in range(2)}
    assert weight_facts("algo", runs, 0.95).withheld == "some weights are infinite or no numbers"


def kept_runs(runtime, tmp_path):
    """Two runs of one variant that parted after the second iteration."""
    found = {}
    for index, first in enumerate((0.0, 0.5)):
        folder = tmp_path / f"algo-{index}"
        train(runtime, folder, first=first)
        read = read_weights(run_of(folder, index))
        found[f"algo-{index}"] = RunWeights(layers=read.final, moments=read.moments)
    return found


def test_the_table_has_a_row_for_each_tensor_and_moment(runtime, tmp_path):
    table = weights_table({"algo": kept_runs(runtime, tmp_path)})
    assert list(table.columns) == ["variant", "run", "iteration", "file", "tensor", "shape", "dtype", "digest"]
    assert len(table) == 2 * 3 * 2
    assert [None if at is pd.NA else at for at in table["iteration"][:6]] == [1, 1, 3, 3, None, None]
    frozen, net = table[table["tensor"] == "frozen"], table[table["tensor"] == "net"]
    assert frozen["digest"].nunique() == 1
    assert net["digest"].nunique() == 6
    assert net["digest"].iloc[0] == hashlib.sha256(np.full(3, 1.0).tobytes()).hexdigest()[:32]
    assert set(frozen["shape"]) == {(64,)}
    assert list(weights_table({}).columns) == list(table.columns)


def test_weights_of_a_run_are_loaded_by_iteration_and_what_is_not_there_is_said(runtime, tmp_path):
    runs = kept_runs(runtime, tmp_path)
    assert weights_of(runs, 1)["net"].tolist() == [4.5] * 3
    assert weights_of(runs, 1, 3)["net"].tolist() == [3.5] * 3
    with pytest.raises(BadOption, match="no weights of run 7 were kept") as refused:
        weights_of(runs, 7)
    assert refused.value.hint == "runs with weights: 0, 1"
    with pytest.raises(BadOption, match="run 0 kept no weights after 2"):
        weights_of(runs, 0, 2)
    with pytest.raises(BadOption, match="cannot be read: torn"):
        weights_of({"algo-0": RunWeights(reason="torn")}, 0)
