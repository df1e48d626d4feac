"""``--set same_hardware=true``: a run on another machine than the first one's is not started, and is said to be."""

import json
import re
import sys

import pytest
from cli_tool import deviate

from deviate.store.folders import Workspace

TRAIN = """
import random

open("started", "w").close()
for epoch in range(2):
    loss = random.random()
    print(f"loss {loss}")
"""


def words(runs, *options):
    return ("run", "-n", runs, "--vary", "other", *options, "--", sys.executable, "train.py")


@pytest.mark.parametrize("first", [("--set", "same_hardware=true"), ()], ids=["from the first run on", "later"])
def test_a_run_on_another_machine_is_not_started(first, tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    assert deviate(*words(1, *first)).status == 0
    place = Workspace(tmp_path).experiment("train")
    known = place.run(place.runs()[0].run)
    assert (place.path / "hardware.json").exists() == bool(first)
    # As if the first run had been made elsewhere.
    for path in (known.info_file, *place.path.glob("hardware.json")):
        stored = json.loads(path.read_text())
        path.write_text(
            json.dumps({**stored, "hardware": {**stored["hardware"], "cpu": "Z80", "gpus": ["NVIDIA H100"]}})
        )
    done = deviate(*words(2, "--set", "same_hardware=true"))
    assert done.status == 1
    refused = place.runs()[1]
    assert (refused.is_done, (refused.path / "work").exists()) == (False, True)
    assert not list(refused.work.rglob("started"))
    outcome = refused.read_outcome()
    assert re.fullmatch(
        r"not started: \S+ has processor .+, not Z80; GPUs none, not NVIDIA H100, as other-0 had on \S+", outcome.reason
    )
    assert "cancelled: not started: " in done.err
    assert outcome.reason in " ".join(deviate("show", "train").out.split())
    # It counts as no failure, and the same command makes it where it can.
    made = deviate(*words(2))
    assert made.status == 0
    assert refused.is_done
