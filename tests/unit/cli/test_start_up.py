"""Commands that compute nothing import nothing that computes: they answer at once."""

import json
import subprocess
import sys

import pytest
from compared_sides import write_experiment

from deviate.cli.main import GARBAGE, run_command_line
from deviate.runs.snapshot.manifest import describe, take

#: Each takes a tenth of a second or more to import.
HEAVY = (
    *("altair", "duckdb", "jinja2", "numpy", "numpy.f2py", "pandas", "psutil", "pyarrow", "scipy", "scipy.optimize"),
    *("scipy.special", "scipy.stats", "statsmodels", "vl_convert"),
)

#: Runs one command and prints which of the heavy libraries it imported.
PROGRAM = """
import contextlib, io, json, sys
from deviate.cli.main import group
words, heavy = json.loads(sys.argv[1])
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
    status = group.main(words, standalone_mode=False)
print(json.dumps([status, [name for name in heavy if name in sys.modules]]))
"""


#: Runs a command and prints which of the heavy libraries there were when the first run started.
BEFORE_RUNS = """
import contextlib, io, json, sys
from deviate.cli import progress
from deviate.cli.main import group
words, heavy = json.loads(sys.argv[1])
told, observe = [], progress.Progress.observe
def noting(self, event):
    if type(event).__name__ == "RunStarted":
        told.append([name for name in heavy if name in sys.modules])
    observe(self, event)
progress.Progress.observe = noting
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
    status = group.main(words, standalone_mode=False)
print(json.dumps([status, told[0]]))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    experiment = write_experiment(folder, "train", {"acc": [90.0, 91.0, 92.0]})
    for run in experiment.runs():
        run.stdout_file.write_text("acc 90\n")
    (folder / "train.py").write_text("")
    take(describe(folder), experiment)
    for name in ("other", "third"):
        write_experiment(folder, name, {"acc": [90.0, 91.5, 92.5]})
    # The tables that `deviate run` leaves are there, and what `list` shows of them.
    imported(folder, "show", "train")
    imported(folder, "list")
    return folder


def imported(project, *words, program=PROGRAM):
    """Return the status of a command in a process of its own, and the heavy libraries it imported."""
    command = [sys.executable, "-c", program, json.dumps([words, HEAVY])]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "words",
    [["--help"], ["run", "--help"], ["report", "--help"], ["list"], ["list", "--json"], ["logs", "train", "0"]],
    ids=" ".join,
)
def test_nothing_heavy_is_imported(project, words):
    # What a list shows of an experiment is computed once, and kept.
    imported(project, "list")
    status, heavy = imported(project, *words)
    assert not status
    assert heavy == []


@pytest.mark.parametrize("words", [["show", "train"], ["show", "train", "--json"]], ids=" ".join)
def test_what_compares_values_imports_no_more_than_it_takes_to_read_them(project, words):
    status, heavy = imported(project, *words)
    assert not status
    assert set(heavy) <= {"duckdb", "numpy"}


@pytest.mark.parametrize("words", [["report", "train"], ["plan", "train"], ["compare", "train", "other"]], ids=" ".join)
def test_what_computes_imports_no_more_than_what_it_computes_with(project, words):
    status, heavy = imported(project, *words)
    assert not status
    assert set(heavy) <= {"duckdb", "numpy", "numpy.f2py", "scipy", "scipy.special"}


def test_a_value_that_is_typed_is_judged_with_the_numbers_alone(tmp_path):
    imported(tmp_path, "baseline", "--metric", "acc", *[word for k in range(10) for word in ("--value", str(k))])
    status, heavy = imported(tmp_path, "judge", "--value", "20")
    assert (status, heavy) == (3, ["numpy"])


#: Runs one command where libraries of which Deviate once used a little are not installed.
WITHOUT_REFERENCES = (
    """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name in ("pyarrow", "statsmodels"):
            raise ModuleNotFoundError(f"No module named {name}", name=name)
sys.meta_path.insert(0, Missing)
"""
    + PROGRAM
)


@pytest.mark.parametrize("words", [["report", "train", "--format", "csv"], ["compare", "train", "other", "third"]])
def test_no_command_needs_what_only_tests_use(project, words):
    status, _ = imported(project, *words, program=WITHOUT_REFERENCES)
    assert not status


def test_before_the_first_run_starts_no_more_is_imported_than_it_takes_to_start_it(tmp_path):
    (tmp_path / "train.py").write_text(
        "import random\nfor epoch in range(2):\n    acc = random.random()\n    print(acc)\n"
    )
    words = ("run", "-n", "1", "--", sys.executable, "train.py")
    status, heavy = imported(tmp_path, *words, program=BEFORE_RUNS)
    assert not status
    assert set(heavy) <= {"numpy", "psutil"}


def test_garbage_is_looked_for_seldom_and_the_signal_of_ctrl_c_has_its_default_action():
    program = """
import gc, signal, sys
from deviate.__main__ import command as main
sys.argv = ["deviate", "--version"]
try:
    main()
finally:
    print(gc.get_threshold()[0], signal.getsignal(signal.SIGINT).name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == [f"{GARBAGE} SIG_DFL"]


def test_numbers_too_large_to_compute_with_print_no_line_of_the_source(tmp_path, capsys, monkeypatch):
    for name, sign in (("up", 1), ("down", -1)):
        write_experiment(tmp_path, name, {"loss": [sign * value * 1e308 for value in (1.7, 1.6, 1.75, 1.7, 1.65)]})
    monkeypatch.setattr(sys, "argv", ["deviate", "compare", "up", "down"])
    monkeypatch.chdir(tmp_path)
    status = run_command_line()
    said = capsys.readouterr()
    assert (status, said.err) == (0, "")
    assert "up and down are not compared in loss: the difference is larger than a 64-bit float can hold." in " ".join(
        said.out.split()
    )
