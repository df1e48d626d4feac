"""Which files a project's source leads to."""

import pytest

from deviate.runs.snapshot.manifest import unnamed_files

SOURCE = '''
"""Type: python train.py > notes.txt"""
import os
import helpers
from importlib import import_module

def load(k, split, name):
    open("labels.csv"), open(f"fold_{k}.csv"), open("part-%d.bin" % k), open(split + ".npy")
    for each in os.listdir("images"):
        yield each
    import_module("models." + name)
    SummaryWriter("logs/run")
'''


def left(project, files, roots=("train.py",), tracked=()):
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    return unnamed_files(project, list(files), frozenset(tracked), roots)


@pytest.mark.parametrize(
    "path",
    ["helpers.py", "labels.csv", "data/labels.csv", "fold_3.csv", "part-12.bin", "x.npy", "images/9.png", "models/a.py",
     "models/sub/b.py", ".env", "sitecustomize.py", "random.py", "args.json"],
)  # fmt: skip
def test_what_the_source_reads_or_may_read_is_named(tmp_path, path):
    source = SOURCE + "import random\n"
    assert left(tmp_path, {"train.py": source, path: ""}, ["train.py", "--config", "args.json"]) == []


@pytest.mark.parametrize(
    "path",
    ["notes.txt", "other.csv", "plot.py", "run.log", "slurm-12.out", "nohup.out", "train.o4711", "logs/slurm-1.out",
     "images/slurm-1.out", "results/table.txt", "a.png"],
)  # fmt: skip
def test_what_nothing_names_is_not(tmp_path, path):
    assert left(tmp_path, {"train.py": SOURCE, path: ""}) == [path]


def test_names_lead_on_through_settings_and_modules(tmp_path):
    files = {"train.py": "import yaml\nopen('conf/a.yaml')", "conf/a.yaml": "data: lists/b.json",
             "lists/b.json": '["c.npz"]', "c.npz": "", "d.npz": ""}  # fmt: skip
    assert left(tmp_path, files) == ["d.npz"]


def test_what_git_tracks_is_named(tmp_path):
    assert left(tmp_path, {"train.py": "", "a.md": "", "b.md": ""}, tracked=["a.md"]) == ["b.md"]


def test_a_file_of_another_python_still_names(tmp_path):
    assert left(tmp_path, {"train.py": "print 'x'\nopen('a.csv')", "a.csv": "", "b.csv": ""}) == ["b.csv"]
