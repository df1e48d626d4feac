"""The examples, run as their authors would run them: each ends as its README says and prints its metrics."""

import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from factor_runs import Zygote, Zygotes
from tracked import tracked_files

from deviate.source.cells import read_cells

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted({path.relative_to(EXAMPLES).parts[0] for path in tracked_files("examples/*/*")})
NUMBER = r"(-?\d+(?:\.\d+)?|nan)"
RUN_LIMIT_S = 240

Finished = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Training:
    """Commands run one after the other in a fresh copy of an example's folder."""

    folder: str
    commands: tuple[str, ...]
    needs: tuple[str, ...]


TORCH = ("torch", "sklearn")
TRAININGS = {
    "mlp": Training("digits_mlp", ("train.py --epochs 6 --seed 3",), TORCH),
    "mlp every step": Training("digits_mlp", ("train.py --epochs 6 --seed 3 --log-every 1",), TORCH),
    "cnn, then resumed": Training("digits_cnn", ("main.py --epochs 3", "main.py --epochs 4"), TORCH),
    "keras": Training("keras_fit", ("train_keras.py --epochs 6",), ("keras", "jax", "sklearn")),
    "jax": Training("jax_loop", ("diabetes.py 20",), ("jax", "sklearn")),
    "gaussians in torch": Training("jean_paul", ("train_torch.py --epochs 3 --dimensions 5",), ("torch",)),
    "gaussians in keras": Training("jean_paul", ("train_keras.py --epochs 3",), ("keras", "jax")),
    "gaussians, evaluated elsewhere": Training(
        "jean_paul", ("train_saved.py --epochs 1", "evaluate_saved.py", "evaluate_saved.py --on old-cpu"), ("torch",)
    ),
    "numpy": Training("numpy_loop", ("spirals.py",), ("numpy",)),
    "fgsm on mlp": Training("adversarial_digits", ("train_adversarial.py --epochs 6 --test-attack pgd",), TORCH),
    "pgd on cnn": Training(
        "adversarial_digits", ("train_adversarial.py --network cnn --attack pgd --epochs 1",), TORCH
    ),
    "small cnns": Training(
        "arms", ("train_cnn.py --epochs 2 --batch-norm", "train_cnn.py --epochs 2 --full-batch"), TORCH
    ),
    "faces": Training("arms", ("train_faces.py --epochs 2",), ("torch",)),
    "snapshots": Training("sources", ("train.py --epochs 4 --cycles 2 --average 2",), TORCH),
    # Whether a run crashes hangs on its batch order alone, so a seed tells which on any machine.
    "unlucky seed": Training("crashes_sometimes", ("train_embedding.py --seed 0",), TORCH),
    "lucky seed": Training("crashes_sometimes", ("train_embedding.py --seed 3 --epochs 2",), TORCH),
    "nan": Training("loss_turns_nan", ("train.py 1 120",), TORCH),
}


#: Trainings run in forks of a process that has imported their framework; this one does so in a process of its own.
IN_A_PROCESS_OF_ITS_OWN = "mlp every step"
FRAMEWORKS = ("torch", "jax")


def copy_of(training: Training, parent: Path) -> Path:
    ignored = shutil.ignore_patterns("checkpoints", "__pycache__", ".deviate")
    return shutil.copytree(EXAMPLES / training.folder, parent / training.folder, ignore=ignored)


def run_training(name: str, parent: Path) -> dict[str, list[Finished]]:
    folder = copy_of(TRAININGS[name], parent)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    finished = [
        subprocess.run(
            [sys.executable, *command.split()],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT_S,
            check=False,
        )
        for command in TRAININGS[name].commands
    ]
    return {name: finished}


def run_forked(parent: Zygote, names: list[str], folders: list[Path]) -> dict[str, list[Finished]]:
    """Run each training in forks of `parent`; the first command of all of them, then the second."""
    copies = {name: copy_of(TRAININGS[name], folder) for name, folder in zip(names, folders, strict=True)}
    finished: dict[str, list[Finished]] = {name: [] for name in names}
    for number in range(max(len(TRAININGS[name].commands) for name in names)):
        jobs = {
            name: forked_job(copies[name], TRAININGS[name].commands[number], number)
            for name in names
            if number < len(TRAININGS[name].commands)
        }
        statuses = parent.run_jobs(list(jobs.values()))
        for (name, job), status in zip(jobs.items(), statuses, strict=True):
            output, errors = (Path(job[stream]).read_text() for stream in ("output", "errors"))
            finished[name].append(Finished([job["program"], *job["words"]], status, output, errors))
    return finished


def forked_job(folder: Path, command: str, number: int) -> dict[str, Any]:
    script, *words = command.split()
    output, errors = (str(folder.parent / f"{stream}-{number}") for stream in ("output", "errors"))
    program = str(folder / script)
    return {
        "runtime": None, "program": program, "words": words, "folder": str(folder), "output": output, "errors": errors,
        "variables": {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
    }  # fmt: skip


def missing(training: Training) -> list[str]:
    return [name for name in training.needs if importlib.util.find_spec(name) is None]


Started = dict[str, "Future[dict[str, list[Finished]]]"]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory, zygotes: Zygotes) -> Iterator[Started]:
    """All trainings, those of each framework one after the other, the frameworks side by side."""
    found = [name for name, training in TRAININGS.items() if not missing(training)]
    folders = {name: tmp_path_factory.mktemp("example") for name in found}
    futures: Started = {}
    with ThreadPoolExecutor(max_workers=2) as pool:
        for family in FRAMEWORKS:
            names = [name for name in found if family in TRAININGS[name].needs and name != IN_A_PROCESS_OF_ITS_OWN]
            if names:
                future = pool.submit(run_forked, zygotes[family], names, [folders[name] for name in names])
                futures.update(dict.fromkeys(names, future))
        alone = (name for name in found if name not in futures)
        yield futures | {name: pool.submit(run_training, name, folders[name]) for name in alone}
        pool.shutdown(cancel_futures=True)


def outcomes(started: Started, name: str) -> list[Finished]:
    if name not in started:
        pytest.skip(f"not installed: {', '.join(missing(TRAININGS[name]))}")
    return started[name].result()[name]


def completed(started: Started, name: str) -> list[str]:
    finished = outcomes(started, name)
    for run in finished:
        assert run.returncode == 0, run.stderr
    return [run.stdout for run in finished]


def values(label: str, output: str) -> list[float]:
    """Every number that follows `label` in the output."""
    return [float(text) for text in re.findall(rf"{label}\s*{NUMBER}", output)]


def assert_percent(numbers: list[float], count: int) -> None:
    assert len(numbers) == count
    assert all(0 <= number <= 100 for number in numbers)


def assert_falling_loss(numbers: list[float], count: int) -> None:
    assert len(numbers) == count
    assert all(math.isfinite(number) and number >= 0 for number in numbers)
    assert numbers[-1] < numbers[0]


@pytest.mark.slow
def test_digits_mlp_reports_losses_accuracies_and_time_per_epoch(started):
    (output,) = completed(started, "mlp")
    assert_falling_loss(values("train loss:", output), 6)
    assert_falling_loss(values("test loss:", output), 6)
    assert_percent(values("train acc:", output), 6)
    accuracies = values("test acc:", output)
    assert_percent(accuracies, 6)
    assert accuracies[-1] > 80
    assert len(values("time:", output)) == 6


@pytest.mark.slow
def test_digits_mlp_reports_every_step_on_demand_and_repeats_itself_under_one_seed(started):
    (plain,), (detailed,) = completed(started, "mlp"), completed(started, "mlp every step")
    assert_falling_loss(values("batch loss:", detailed), 6 * 22)
    epochs = [line.split("time:")[0] for line in detailed.splitlines() if line.startswith("Epoch")]
    assert epochs == [line.split("time:")[0] for line in plain.splitlines()]


@pytest.mark.slow
def test_digits_cnn_logs_each_step_and_epoch_and_resumes_from_its_checkpoint(started):
    first, second = completed(started, "cnn, then resumed")
    accuracies = values(r"val loss [\d.]+  val Acc@1", first)
    assert_percent(accuracies, 3)
    assert_percent(values("val Acc@3", first), 3)
    assert_falling_loss(values("train loss", first), 3)
    assert len(re.findall(r"Epoch: \[\d+\]\[\d+/21\]", first)) == 3 * 21
    assert values("done, best val Acc@1", first) == [max(accuracies)]
    assert max(accuracies) > 60
    assert "resumed from checkpoints/last.pt at epoch 3" in second
    assert re.findall(r"Epoch (\d+):", second) == ["3"]


@pytest.mark.slow
def test_keras_fit_reports_its_logs_per_epoch_and_the_test_accuracy(started):
    (output,) = completed(started, "keras")
    assert_falling_loss(values(" - loss:", output), 6)
    assert_falling_loss(values("val_loss:", output), 6)
    assert all(0 <= accuracy <= 1 for accuracy in values("val_accuracy:", output))
    (accuracy,) = values("test accuracy:", output)
    assert 80 < accuracy <= 100


@pytest.mark.slow
def test_jax_loop_reports_errors_and_r2_per_epoch(started):
    (output,) = completed(started, "jax")
    assert_falling_loss(values("train_loss=", output), 20)
    assert_falling_loss(values("test mse", output), 20)
    r2 = values("test R2", output)
    assert all(score <= 1 for score in r2)
    assert r2[-1] > 0.2


@pytest.mark.slow
def test_jean_paul_ends_near_the_lowest_error_there_is(started):
    """Two Gaussian classes two SDs apart: Phi(-1) = 15.87 % of all data of this kind cannot be told."""
    (torch_output,), (keras_output,) = (
        completed(started, "gaussians in torch"),
        completed(started, "gaussians in keras"),
    )
    assert_falling_loss(values("train loss", torch_output), 3)
    assert values("goes below", torch_output) == values("goes below", keras_output) == [15.87]
    errors = [values("test error", torch_output)[-1], *values("test error:", keras_output)]
    assert all(12 < error < 25 for error in errors)


@pytest.mark.slow
def test_jean_paul_evaluates_saved_weights_elsewhere(started):
    trained, here, elsewhere = completed(started, "gaussians, evaluated elsewhere")
    (error,) = values("error while training", trained)
    assert 5 < error < 60
    assert values("error", here) == values("error", elsewhere) == [error]
    assert values("margin", here) == pytest.approx(values("margin", elsewhere), rel=1e-6)


def test_the_cells_of_jean_paul_are_those_that_its_matrix_asks_for():
    names = {cell.name for cell in read_cells(EXAMPLES / "jean_paul")}
    assert len(names) == 12 + 3 + 6
    assert {"matrix@dimensions=2,framework=torch,on=cpu", "matrix-threads@dimensions=26",
            "matrix-gpu@dimensions=5,framework=keras"} <= names  # fmt: skip


@pytest.mark.slow
def test_numpy_loop_stops_by_itself_when_the_loss_stops_falling(started):
    (output,) = completed(started, "numpy")
    (epochs,) = values("converged after", output)
    assert 20 < epochs < 400
    assert_percent(values("test acc", output), int(epochs) // 10)
    assert_falling_loss(values("test loss", output), int(epochs) // 10)
    (accuracy,) = values("final test accuracy", output)
    assert 80 < accuracy <= 100


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epochs"), [("fgsm on mlp", 6), ("pgd on cnn", 1)])
def test_adversarial_digits_reports_natural_and_adversarial_accuracy(started, name, epochs):
    (output,) = completed(started, name)
    for part in ("training", "eval"):
        natural, adversarial = values(f"{part} nat accuracy:", output), values(f"{part} adv accuracy:", output)
        assert_percent(natural, epochs)
        assert_percent(adversarial, epochs)
        assert natural[-1] > adversarial[-1]


@pytest.mark.slow
def test_adversarial_digits_evaluates_under_another_attack_on_demand(started):
    (output,) = completed(started, "fgsm on mlp")
    own, other = values("eval adv accuracy:", output), values("eval other adv accuracy:", output)
    assert_percent(other, 6)
    assert other != own


@pytest.mark.slow
def test_arms_trains_in_small_batches_and_in_one(started):
    for output in completed(started, "small cnns"):
        assert_falling_loss(values("test loss", output), 2)
        assert_percent(values("test acc", output), 2)


@pytest.mark.slow
def test_arms_tells_blond_from_other_faces(started):
    (output,) = completed(started, "faces")
    accuracies = values("test acc", output)
    assert_percent(accuracies, 2)
    # 14.9 % are blond: less is no better than to call none so.
    assert accuracies[-1] > 90


@pytest.mark.slow
def test_sources_tests_snapshots_together_and_averaged_weights(started):
    (output,) = completed(started, "snapshots")
    assert_falling_loss(values("test loss", output), 4)
    for kind in ("ensemble", "averaged"):
        assert_percent(values(f"{kind} acc", output), 1)
        (loss,) = values(f"{kind} loss", output)
        assert 0 < loss < values("test loss", output)[0]


@pytest.mark.slow
def test_crashes_sometimes_crashes_under_one_seed_after_it_has_reported(started):
    (run,) = outcomes(started, "unlucky seed")
    assert run.returncode == 1
    assert "hardest_positive = distance[i][positive].max()" in run.stderr
    reported = values("1-NN accuracy", run.stdout)
    assert 1 <= len(reported) < 6
    assert_percent(reported, len(reported))


@pytest.mark.slow
def test_crashes_sometimes_completes_under_another_seed(started):
    (output,) = completed(started, "lucky seed")
    assert_percent(values("1-NN accuracy", output), 3)
    assert_falling_loss(values("triplet loss", output), 2)


@pytest.mark.slow
def test_loss_turns_nan_mid_way_and_training_goes_on(started):
    (output,) = completed(started, "nan")
    losses = values("train loss", output)
    assert len(losses) == 120
    first = next(epoch for epoch, loss in enumerate(losses) if math.isnan(loss))
    assert first >= 5
    assert all(math.isnan(loss) for loss in losses[first:])
    assert_percent(values("test accuracy", output), 120)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_table_of_examples_lists_every_folder(folder):
    assert f"[{folder}]({folder}/README.md)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_readme_of_an_example_gives_a_command_whose_script_exists(folder):
    text = (EXAMPLES / folder / "README.md").read_text(encoding="utf-8")
    scripts = re.findall(r"^    python (\S+\.py)", text, flags=re.MULTILINE)
    assert scripts
    assert all((EXAMPLES / folder / script).is_file() for script in scripts)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_example_knows_of_deviate(folder):
    # `study.py` and `matrix.py` are no trainings: they run some through Deviate.
    sources = tracked_files(f"examples/{folder}/*.py")
    for source in (path for path in sources if path.name not in ("study.py", "matrix.py")):
        assert "deviate" not in source.read_text(encoding="utf-8").lower(), source
