"""``warm``: what forked runs record is, to the bit, what started ones do; the report says which were forked."""

import json
import re
import struct
import sys

import pytest
from cli_tool import deviate
from installed import require

from deviate import load
from deviate.store.folders import Workspace
from deviate.store.run_files import read_records

TRAIN = """
'''Trains a weight.'''
import random
import sys

import numpy as np

from data import load


def train(epochs):
    random.seed(1)
    np.random.seed(2)
    numbers = load()
    weight = random.gauss(0, 1)
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(len(numbers))
        for number in numbers[order]:
            weight -= 0.02 * number * (weight - 3)
        loss = float((weight - 3) ** 2)
        name = sorted(("a", "b", "c"), key=hash)[0]
        print(f"epoch {epoch} test loss {loss:.6f} by {name} {np.random.rand():.9f}")


if __name__ == "__main__":
    train(int(sys.argv[1]))
"""

DATA = "import numpy as np\n\n\ndef load():\n    return abs(np.random.randn(20))\n"

#: What no two processes have in common.
OWN = {"pid", "ppid", "time"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    require("numpy")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "data.py").write_text(DATA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def recorded(run):
    """Return what a run recorded and noted, without times, and what it printed."""
    records = [
        (metric, iteration, struct.pack("<d", value))
        for path in run.record_files()
        for metric, iteration, _, value in read_records(path).tolist()
    ]
    events = [json.loads(line) for path in run.event_files() for line in path.read_text().splitlines()]
    noted = [{name: value for name, value in event.items() if name not in OWN} for event in events]
    return records, noted, run.stdout_file.read_bytes(), run.stderr_file.read_bytes()


def test_forked_runs_record_what_started_ones_do(project):
    words = ("--set", "share=none", "-n", 2, "--vary", "init", "--", sys.executable, "train.py", 3)
    cold, warm = (deviate("run", "--name", name, *option, *words) for name, option in
                  (("cold", ()), ("warm", ("--set", "warm=true"))))  # fmt: skip
    assert (cold.status, warm.status) == (0, 0)
    runs = {name: Workspace(project).experiment(name).runs() for name in ("cold", "warm")}
    assert [run.read_info().warm for run in runs["warm"]] == [["numpy"], ["numpy"]]
    for started, forked in zip(runs["cold"], runs["warm"], strict=True):
        assert recorded(started)[0]
        assert recorded(started) == recorded(forked)
    made = deviate("report", "warm", "--format", "json").json["variants"][0]["runs"]
    assert all(run["cpu_seconds"] > 0 and run["peak_memory"] > 1 << 20 for run in made)
    page = project / "page.html"
    deviate("report", "warm", "-o", page)
    assert all(name in page.read_text() for name in ("CPU time", "peak memory", " MiB"))
    printed = deviate("report", "warm", "-v").out
    assert "2 runs were forked" in printed
    assert re.search(r"A run took\s+CPU time .*, peak memory .* MiB \(medians\)", printed)
    frame = load("warm", project=project).frame(usage=True)
    assert (frame[["seconds", "cpu_seconds", "peak_memory"]] > 0).all(axis=None)
    assert frame["gpu_memory"].isna().all()
    # What cannot be forked is started, and says why.
    other = deviate("run", "--set", "warm=true", "-n", 1, "--", sys.executable, "train.py", 1)
    assert (other.status, "not forked (warm): the implementation varies" in other.err) == (0, True)
