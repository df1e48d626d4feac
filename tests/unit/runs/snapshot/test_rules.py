"""What a snapshot leaves out by name."""

import pytest

from deviate.store.snapshot_rules import (
    file_reason,
    folder_reason,
    is_checkpoint_folder,
    is_checkpoint_like,
    is_output_name,
    matches,
    may_hold,
)


@pytest.mark.parametrize(
    "path",
    [
        "model.pt", "out/net.pth", "a/b/last.ckpt", "net.keras", "m.safetensors", "vgg.weights.h5", "ckpt.pth.tar",
        "best_model.h5", "model.pkl", "checkpoint_best.npz", "Weights.H5", "checkpoint", "model.ckpt-1000.index",
        "model.ckpt-1000.data-00000-of-00001", "cp-0001.ckpt.index", "checkpoints/state.json", "ckpts/3/rng.npy",
        "checkpoint-500/trainer_state.json",
    ],
)  # fmt: skip
def test_what_trainings_save_looks_like_a_checkpoint(path):
    assert is_checkpoint_like(path)


@pytest.mark.parametrize(
    "path",
    [
        "train.py", "model.py", "data.npz", "mnist.pkl", "train.h5", "data/processed/training.pt", "remodel.npz",
        "datasets/cora/data.pt", "pretrained/resnet.pth", "pretrained_models/bert/pytorch_model.bin", "checkpoint.py",
        "checkpoints/__init__.py", "checkpoints/.gitkeep", "index.faiss", "corpus.index", "tokens.bin", "traindata.pt",
        "valid_dataset.pth", "vocab.pt", "features.safetensors", "Data_raw/series_2870_samples.pt", "raw_data/x.pth",
    ],
)  # fmt: skip
def test_source_and_data_do_not(path):
    assert not is_checkpoint_like(path)


def test_the_nearest_telling_folder_decides():
    assert is_checkpoint_like("data/checkpoints/x.pt")
    assert not is_checkpoint_like("checkpoints/data/x.pt")


def test_folders_of_tools_and_trackers_are_left_out_with_a_reason():
    assert folder_reason(".git") == "version control"
    assert folder_reason("a/__pycache__") == "cache"
    assert folder_reason("wandb") == folder_reason("x/lightning_logs") == "output of former trainings"
    assert folder_reason("data") is None
    assert folder_reason(".deviate") == "workspace of Deviate"


def test_tensorboard_files_are_left_out():
    assert file_reason("runs/a/events.out.tfevents.1700.host") == "output of former trainings"
    assert file_reason("train.py") is None


def test_folders_of_one_checkpoint_each_are_known_by_name():
    assert is_checkpoint_folder("out/checkpoint-500")
    assert is_checkpoint_folder("global_step12")
    assert not is_checkpoint_folder("checkpoint")
    assert not is_checkpoint_folder("step-by-step")


def test_names_of_results_are_known_in_singular_and_plural():
    assert all(is_output_name(name) for name in ("results", "output", "Logs", "runs", "checkpoints", "wandb"))
    assert not any(is_output_name(name) for name in ("data", "src", "models", "lib"))


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("a/b.pt", "a/b.pt"), ("a/b.pt", "*.pt"), ("a/b.pt", "a/*.pt"), ("a/b.pt", "a"), ("a/b.pt", "./a/"),
        ("a/b.pt", "**/b.pt"), ("b.pt", "**/b.pt"), ("x/a/b.pt", "a"), ("x/weights/b.pt", "weights"),
    ],
)  # fmt: skip
def test_a_pattern_names_a_file_a_folder_or_a_name(path, pattern):
    assert matches(path, (pattern,))


def test_a_pattern_with_a_slash_is_relative_to_the_project():
    assert not matches("x/a/b.pt", ("a/b.pt",))
    assert not matches("ab/c", ("a",))


def test_a_pattern_may_name_something_below_a_folder():
    assert may_hold("wandb", ("wandb/keep.txt",))
    assert may_hold("wandb", ("./wandb/*/x",))
    assert not may_hold("wandb", ("*.txt",))
