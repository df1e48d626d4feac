"""``deviate diverge`` on a program of NumPy: the line of a fault is named, and its clean twin is equal."""

import sys
from pathlib import Path

import pytest
from cli_tool import deviate

FAULTS = Path(__file__).parents[2] / "benchmarks" / "divergence" / "faults"

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", ["numpy_unseeded", "numpy_late"])
def test_the_line_of_a_fault_is_named_and_its_clean_twin_is_equal(project, case):
    fault = (FAULTS / case / "fault.py").read_text()
    (project / "train.py").write_text(fault)
    found = deviate("diverge", "--as-is", "--json", "--", sys.executable, "train.py")
    cause = found.json["cause"]
    assert (found.status, cause["kind"]) == (1, "line")
    assert "# here" in fault.splitlines()[cause["line"] - 1]
    (project / "train.py").write_text((FAULTS / case / "clean.py").read_text())
    equal = deviate("diverge", "--as-is", "--json", "--", sys.executable, "train.py")
    assert (equal.status, equal.json["parted"]) == (0, False)


DRAWN = """
import os, numpy as np
random = np.random.default_rng(0)
weights = random.normal(size=3)
for epoch in range(12):
    if epoch == 9:
        weights = weights + 1e-9 * int.from_bytes(os.urandom(2), "big")  # here
    weights = weights - 0.1 * weights
    print(f"epoch {epoch} loss {(weights ** 2).sum():.12f}")
"""


def test_two_runs_of_an_experiment_are_told_apart_by_their_draws_or_by_making_them_again(project):
    (project / "train.py").write_text(DRAWN)
    for vary in ("algo", "control"):
        assert deviate("run", "-n", "2", "--vary", vary, "--name", vary, "--", sys.executable, "train.py").status == 0
    found = deviate("diverge", "algo", "0", "1", "--json").json
    assert (found["parted"], found["replays"], found["runs"]) == (True, 0, ["algo-0", "algo-1"])
    assert [each["equal"] for each in found["recorded"]["draws"]] == [0]
    two = deviate("diverge", "algo", "control", "--json").json
    assert (two["parted"], two["replays"], two["runs"]) == (True, 0, ["algo/algo-0", "control/control-0"])
    again = deviate("diverge", "control", "0", "1", "--json")
    assert (again.status, again.json["recorded"]["draws"]) == (1, [])
    assert "# here" in DRAWN.splitlines()[again.json["cause"]["line"] - 1]


def test_without_steps_and_arrays_what_is_printed_tells_whether_runs_are_equal(project):
    for value, status in (("os.urandom(2)[0]", 1), ("7", 0)):
        (project / "train.py").write_text(f"import os\nprint('test acc:', {value})\n")
        found = deviate("diverge", "--as-is", "--json", "--", sys.executable, "train.py")
        assert (found.status, found.json["parted"]) == (status, bool(status))
        assert found.json["statements"] == 2


def test_no_command_is_bad_usage(project):
    refused = deviate("diverge")
    assert (refused.status, refused.out) == (2, "")
    assert "deviate diverge -- python train.py" in refused.err
