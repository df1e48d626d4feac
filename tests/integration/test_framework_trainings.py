"""Trainings in the styles of the frameworks, run for real: what is recorded is what the framework itself reports."""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from cli_tool import deviate
from installed import require

import deviate as package

pytestmark = pytest.mark.slow

TRAININGS = Path(__file__).parent / "framework_trainings"
RUNS = (0,)
NUMBER = r"(-?\d+\.\d+)"


@dataclass(frozen=True)
class Trained:
    """What two runs recorded and what they left behind."""

    records: pd.DataFrame
    folder: Path

    def values(self, run: int, name: str) -> list[float]:
        """Values of a metric in the order they were recorded; under the name its framework reports it, if any."""
        return list(self._of(run, name)["value"])

    def iterations(self, run: int, name: str) -> list[int]:
        """Iteration of the main loop each value was recorded in."""
        return list(self._of(run, name)["iteration"])

    def _of(self, run: int, name: str) -> pd.DataFrame:
        records = self.records[self.records["run"] == run]
        names = {f"fit:{name}", name} & set(records["metric"])
        return records[records["metric"] == min(names, default="")]

    def series(self, run: int) -> list[list[float]]:
        """The values of each metric."""
        return [list(group["value"]) for _, group in self.records[self.records["run"] == run].groupby("metric")]

    def printed(self, run: int, pattern: str) -> list[float]:
        return [float(text) for text in re.findall(pattern, self.stdout(run))]

    def stdout(self, run: int) -> str:
        return (self.folder / f"algo+impl-{run}" / "stdout.log").read_text()

    def saved(self, run: int, name: str):
        (path,) = (self.folder / f"algo+impl-{run}" / "work").rglob(name)
        return json.loads(path.read_text())


@pytest.fixture
def train(tmp_path, monkeypatch):
    """Return a function that trains twice with a script of this folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("PYTHONPATH", "RANK", "LOCAL_RANK", "KERAS_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("OMP_NUM_THREADS", "1"), ("HF_HUB_OFFLINE", "1"), ("CUDA_VISIBLE_DEVICES", "")):
        monkeypatch.setenv(name, value)

    def run(script: str, *libraries: str, launcher: tuple[str, ...] = (sys.executable,)) -> Trained:
        require(*libraries)
        shutil.copy(TRAININGS / script, tmp_path / "train.py")
        done = deviate("run", "-n", len(RUNS), "--", *launcher, "train.py")
        assert done.status == 0, done.err
        return Trained(package.load("train").records(), tmp_path / ".deviate" / "experiments" / "train" / "runs")

    return run


@pytest.mark.nightly
def test_keras_fit_on_jax(train):
    trained = train("keras_fit.py", "keras", "jax")
    for run in RUNS:
        history = trained.saved(run, "history.json")
        assert history.keys() == {"loss", "accuracy", "val_loss", "val_accuracy"}
        assert {name: trained.values(run, name) for name in history} == history
        assert trained.iterations(run, "val_loss") == [0, 1, 2]
        (shown,) = re.findall(rf"accuracy: {NUMBER} - loss: {NUMBER}\n$", trained.stdout(run))
        evaluated = [trained.values(run, f"evaluate {name}") for name in ("accuracy", "loss")]
        assert [[round(value, 4) for value in values] for values in evaluated] == [[float(text)] for text in shown]
    assert trained.values(0, "loss") != trained.values(1, "loss")


@pytest.mark.nightly
def test_lightning_modules_that_log(train):
    trained = train("lightning_module.py", "lightning")
    for run in RUNS:
        epochs = [ast.literal_eval(line.partition(" ")[2]) for line in trained.stdout(run).splitlines()]
        assert len(epochs) == 3
        for name in ("train_loss", "val_loss", "val_mae", "val_worst"):
            assert trained.values(run, name) == [collected[name] for collected in epochs]
            assert trained.iterations(run, name) == [0, 1, 2]
    # The bar that Lightning draws shows the loss of a step besides.
    assert set(trained.records["metric"]) == {"train_loss", "val_loss", "val_mae", "val_worst", "train_loss_step"}


@pytest.mark.nightly
def test_the_hugging_face_trainer(train):
    trained = train("hf_trainer.py", "transformers", "accelerate")
    for run in RUNS:
        history = trained.saved(run, "trainer_state.json")["log_history"]
        for name in ("loss", "grad_norm", "eval_loss", "eval_accuracy", "train_loss"):
            logged = [entry[name] for entry in history if name in entry]
            assert logged, name
            assert trained.values(run, name) == logged
        assert trained.iterations(run, "eval_loss") == [0, 1]
    assert "fit:learning_rate" not in set(trained.records["metric"])


@pytest.mark.nightly
def test_an_algorithm_of_stable_baselines3(train):
    trained = train("sb3_learn.py", "stable_baselines3", "gymnasium")
    for run in RUNS:
        logged = trained.saved(run, "logged.json")
        assert len(logged) == 3
        for name in ("rollout/ep_rew_mean", "train/value_loss", "train/approx_kl"):
            values = [line[name] for line in logged if name in line]
            assert values, name
            assert trained.values(run, name) == values
        assert trained.iterations(run, "rollout/ep_rew_mean") == [0, 1, 2]
    recorded = set(trained.records["metric"])
    assert recorded.isdisjoint({"fit:train/n_updates", "fit:time/total_timesteps", "fit:train/learning_rate"})


@pytest.mark.nightly
def test_a_net_of_skorch(train):
    trained = train("skorch_net.py", "skorch", "sklearn")
    for run in RUNS:
        history = trained.saved(run, "history.json")
        for name in ("train_loss", "valid_loss", "valid_acc", "auc"):
            assert trained.values(run, name) == [row[name] for row in history]
            assert trained.iterations(run, name) == [0, 1, 2]


@pytest.mark.nightly
def test_an_accelerate_loop(train):
    trained = train("accelerate_loop.py", "accelerate")
    for run in RUNS:
        assert len(trained.printed(run, "'mae': " + NUMBER)) == 3
        assert trained.values(run, "mae") == trained.printed(run, "'mae': " + NUMBER)
        assert trained.values(run, "train loss") == pytest.approx(
            trained.printed(run, "train loss " + NUMBER), abs=1e-6
        )


@pytest.mark.nightly
def test_a_tensorflow_loop_with_a_compiled_step(train):
    trained = train("tf2_loop.py", "tensorflow")
    for run in RUNS:
        for name in ("Loss", "Accuracy", "Test Loss", "Test Accuracy"):
            printed = trained.printed(run, f", {name}: {NUMBER}")
            assert len(printed) == 3
            assert trained.iterations(run, name) == [0, 1, 2]
            assert trained.values(run, name) == pytest.approx(printed, abs=0.00501)


@pytest.mark.nightly
def test_a_flax_and_optax_loop(train):
    trained = train("flax_optax.py", "flax", "optax")
    for run in RUNS:
        for split in ("train", "test"):
            losses = trained.printed(run, rf"{split} epoch: \d, loss: {NUMBER}")
            assert len(losses) == 3
            assert pytest.approx(losses, abs=1e-6) in trained.series(run)


def test_two_processes_under_torchrun_count_once(train):
    torchrun = str(Path(sys.executable).with_name("torchrun"))
    trained = train("ddp_torchrun.py", "torch", launcher=(torchrun, "--standalone", "--nproc_per_node", "2"))
    for run in RUNS:
        first, other = (trained.printed(run, rf"\[rank {rank}\] epoch \d local loss {NUMBER}") for rank in (0, 1))
        assert len(first) == len(other) == 3
        assert first != other
        assert trained.iterations(run, "local loss") == [0, 1, 2]
        assert trained.values(run, "local loss") == pytest.approx(first, abs=1e-6)
        accuracies = trained.printed(run, rf"train accuracy {NUMBER}%")
        assert trained.values(run, "train accuracy") == pytest.approx(accuracies, abs=1e-3)
