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


def test_no_command_is_bad_usage(project):
    refused = deviate("diverge")
    assert (refused.status, refused.out) == (2, "")
    assert "deviate diverge -- python train.py" in refused.err
