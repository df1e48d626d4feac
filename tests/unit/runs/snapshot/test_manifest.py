"""What becomes of each file of a project in a snapshot."""

import os
import shutil
import socket
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deviate.runs.snapshot import survey as survey_module
from deviate.runs.snapshot.manifest import changes, describe, read_snapshot, take
from deviate.store.folders import Workspace
from deviate.store.snapshot_rules import SnapshotRules


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text("print(1)\n")
    return folder


def kinds(snapshot):
    return {item.path: item.kind for item in snapshot.items}


def reasons(snapshot):
    return {item.path: item.reason for item in snapshot.left_out}


def taken(project, rules=None):
    workspace = Workspace(project)
    workspace.prepare()
    folder = workspace.experiment("e")
    folder.path.mkdir()
    take(describe(project, rules), folder)
    return folder


def test_source_is_copied_and_junk_is_left_out_with_its_reason(project):
    for name in (".git/HEAD", "__pycache__/train.pyc", ".deviate/lock", "wandb/run/x", ".ipynb_checkpoints/a.ipynb"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("")
    snapshot = describe(project)
    assert kinds(snapshot)["train.py"] == "copy"
    assert set(reasons(snapshot)) == {".git", "__pycache__", ".deviate", "wandb", ".ipynb_checkpoints"}


def test_a_checkpoint_that_git_does_not_track_is_left_out_and_said(project):
    (project / "model.pt").write_bytes(b"old")
    assert reasons(describe(project)) == {"model.pt": survey_module.CHECKPOINT}


def test_a_pretrained_model_is_an_input_and_what_a_training_saved_of_it_is_none(project):
    (project / "tiny").mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (project / "tiny" / name).write_text("")
    assert reasons(describe(project)) == {}
    (project / "tiny" / "training_args.bin").write_text("")
    assert reasons(describe(project)) == {"tiny/model.safetensors": survey_module.CHECKPOINT}


def test_include_keeps_it_and_exclude_wins_over_include(project):
    (project / "model.pt").write_bytes(b"old")
    assert kinds(describe(project, SnapshotRules(include=("*.pt",))))["model.pt"] == "copy"
    both = SnapshotRules(include=("*.pt",), exclude=("model.pt",))
    assert reasons(describe(project, both)) == {"model.pt": survey_module.EXCLUDED}


def test_include_brings_one_file_out_of_a_folder_that_is_left_out(project):
    (project / "wandb").mkdir()
    (project / "wandb" / "keep.txt").write_text("")
    (project / "wandb" / "drop.txt").write_text("")
    snapshot = describe(project, SnapshotRules(include=("wandb/keep.txt",)))
    assert kinds(snapshot)["wandb/keep.txt"] == "copy"
    assert reasons(snapshot) == {"wandb/drop.txt": "output of former trainings"}


def test_a_checkpoint_that_git_tracks_is_an_input(project):
    (project / "pre.pt").write_bytes(b"weights")
    (project / "checkpoint-5").mkdir()
    (project / "checkpoint-5" / "state.json").write_text("{}")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    subprocess.run(["git", "-C", str(project), "add", "pre.pt", "checkpoint-5"], check=True)
    (project / "new.pt").write_bytes(b"old")
    snapshot = describe(project)
    assert kinds(snapshot)["pre.pt"] == kinds(snapshot)["checkpoint-5/state.json"] == "copy"
    assert kinds(snapshot)["new.pt"] == "left out"


def test_a_large_file_is_linked_to_the_original(project):
    (project / "data.bin").write_bytes(bytes(survey_module.COPY_LIMIT + 1))
    folder = taken(project)
    assert os.readlink(folder.snapshot / "data.bin") == str(project / "data.bin")
    assert not (folder.snapshot / "train.py").is_symlink()


def test_the_lowest_folder_with_too_many_files_is_linked_whole(project, monkeypatch):
    monkeypatch.setattr(survey_module, "FILES_LIMIT", 5)
    for number in range(8):
        path = project / "data" / f"class{number % 4}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text("")
    found = kinds(describe(project))
    assert found["data"] == "link"
    assert found["src/a.py"] == "copy"
    assert not any(path.startswith("data/") for path in found)


def test_link_patterns_link_what_is_small(project):
    (project / "cache").mkdir()
    (project / "cache" / "x").write_text("")
    assert kinds(describe(project, SnapshotRules(link=("cache",))))["cache"] == "link"


def test_symbolic_links_keep_their_meaning(project, tmp_path):
    (tmp_path / "outside").mkdir()
    (project / "sub").mkdir()
    (project / "sub" / "inside").symlink_to("../train.py")
    (project / "absolute").symlink_to(project / "train.py")
    (project / "out").symlink_to("../outside")
    folder = taken(project)
    assert os.readlink(folder.snapshot / "sub" / "inside") == "../train.py"
    assert os.readlink(folder.snapshot / "absolute") == "train.py"
    assert os.readlink(folder.snapshot / "out") == str(tmp_path / "outside")


def test_a_virtual_environment_is_linked_not_copied(project):
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "pyvenv.cfg").write_text("")
    folder = taken(project)
    assert os.readlink(folder.snapshot / ".venv") == str(project / ".venv")
    assert [item.path for item in read_snapshot(folder).environments] == [".venv"]


def test_sockets_and_fifos_are_left_out(project):
    os.mkfifo(project / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(project)
        server.bind("sock")
        os.chdir(here)
        assert reasons(describe(project)) == {"fifo": survey_module.SPECIAL, "sock": survey_module.SPECIAL}


def test_an_unreadable_file_is_left_out_and_said(project, monkeypatch):
    (project / "secret").write_text("")
    can = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("secret") and can(path, mode))
    assert reasons(describe(project)) == {"secret": survey_module.UNREADABLE}


def test_the_digest_follows_content_not_time_or_place(project, tmp_path):
    before = describe(project)
    os.utime(project / "train.py", (1, 1))
    shutil.copytree(project, tmp_path / "elsewhere")
    assert describe(project).source == describe(tmp_path / "elsewhere").source == before.source
    (project / "train.py").write_text("print(2)\n")
    after = describe(project)
    assert after.source != before.source
    assert [change.text for change in changes(before, after)] == ["train.py (edited)"]


def test_the_tools_own_settings_are_not_part_of_the_source(project):
    before = describe(project)
    (project / "deviate.toml").write_text("")
    assert describe(project).source == before.source
    assert changes(before, describe(project)) == []


def test_a_snapshot_is_what_was_described_and_keeps_executable_bits(project):
    script = project / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    described = describe(project)
    folder = taken(project)
    assert read_snapshot(folder).source == described.source
    assert os.access(folder.snapshot / "run.sh", os.X_OK)


def test_an_interrupted_snapshot_is_taken_again(project):
    folder = taken(project)
    (folder.path / ".snapshot.1.partial").mkdir()
    take(describe(project), folder)
    assert sorted(path.name for path in folder.path.iterdir()) == ["snapshot", "snapshot.json"]


names = st.text("abcxyz", min_size=1, max_size=3)
trees = st.dictionaries(st.tuples(names, names), st.binary(max_size=20), max_size=6)


@settings(max_examples=30, deadline=None)
@given(trees, st.randoms(use_true_random=False))
def test_the_digest_does_not_depend_on_the_order_files_were_made_in(tmp_path_factory, tree, random):
    places = []
    for _ in range(2):
        place = tmp_path_factory.mktemp("tree")
        shuffled = list(tree.items())
        random.shuffle(shuffled)
        for (folder, name), data in shuffled:
            (place / f"d{folder}").mkdir(exist_ok=True)
            (place / f"d{folder}" / name).write_bytes(data)
        places.append(place)
    assert describe(places[0]).source == describe(places[1]).source


@settings(max_examples=30, deadline=None)
@given(trees.filter(bool), st.data())
def test_any_changed_byte_changes_the_digest(tmp_path_factory, tree, data):
    place = tmp_path_factory.mktemp("tree")
    for (folder, name), content in tree.items():
        (place / f"d{folder}").mkdir(exist_ok=True)
        (place / f"d{folder}" / name).write_bytes(content)
    before = describe(place).source
    folder, name = data.draw(st.sampled_from(sorted(tree)))
    (place / f"d{folder}" / name).write_bytes(tree[folder, name] + b"!")
    assert describe(place).source != before
