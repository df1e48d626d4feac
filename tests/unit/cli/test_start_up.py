"""Commands that compute nothing import nothing that computes: they answer at once."""

import json
import subprocess
import sys

import pytest
from compared_sides import write_experiment

from deviate.replicate.snapshot.manifest import describe, take

#: Each takes a tenth of a second or more to import.
HEAVY = ("altair", "duckdb", "jinja2", "numpy", "pandas", "psutil", "pyarrow", "scipy", "statsmodels", "vl_convert")

#: Runs one command and prints which of the heavy libraries it imported.
PROGRAM = """
import contextlib, io, json, sys
from deviate.cli.main import group
words, heavy = json.loads(sys.argv[1])
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
    status = group.main(words, standalone_mode=False)
print(json.dumps([status, [name for name in heavy if name in sys.modules]]))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    experiment = write_experiment(folder, "train", {"acc": [90.0, 91.0, 92.0]})
    for run in experiment.runs():
        run.stdout_file.write_text("acc 90\n")
    (folder / "train.py").write_text("")
    take(describe(folder), experiment)
    # The tables that `deviate run` leaves are there.
    imported(folder, "show", "train")
    return folder


def imported(project, *words):
    """Return the status of a command in a process of its own, and the heavy libraries it imported."""
    command = [sys.executable, "-c", PROGRAM, json.dumps([words, HEAVY])]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "words",
    [["--help"], ["run", "--help"], ["report", "--help"], ["list"], ["list", "--json"], ["logs", "train", "0"]],
    ids=" ".join,
)
def test_nothing_heavy_is_imported(project, words):
    status, heavy = imported(project, *words)
    assert not status
    assert heavy == []


@pytest.mark.parametrize("words", [["show", "train"], ["show", "train", "--json"]], ids=" ".join)
def test_what_compares_values_imports_no_more_than_it_takes_to_read_them(project, words):
    status, heavy = imported(project, *words)
    assert not status
    assert set(heavy) <= {"numpy", "pyarrow"}
