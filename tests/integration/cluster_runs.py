"""What the tests of runs on clusters share: a training that notes its starts, and what is looked at afterwards."""

import json
import sys
import time

import forked_tool
from cli_tool import TRAIN, deviate

from deviate.store.folders import Workspace

#: Notes outside of its folder that it was started, and takes its time where it is told to.
NOTED = """\
import os, time
with open(os.environ["LOG"], "a") as log:
    log.write(os.path.basename(os.path.dirname(os.environ["DEVIATE_RUNTIME"])) + "\\n")
""" + TRAIN.replace("    loss = 0.0\n", "    loss = 0.0\n    time.sleep(float(os.environ.get('PAUSE', '0')))\n")

COMMAND = ["--", sys.executable, "train.py"]


def make_project(folder, monkeypatch):
    """Make the project in `folder`, and go there."""
    path = folder / "project"
    path.mkdir()
    (path / "train.py").write_text(NOTED)
    monkeypatch.chdir(path)
    monkeypatch.setenv("LOG", str(folder / "log"))
    return path


def started(project):
    log = project.parent / "log"
    return log.read_text().split() if log.exists() else []


def runs(project, name="e"):
    return Workspace(project).experiment(name).runs()


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def tool(*words):
    """Start the command line in a process of its own."""
    return forked_tool.start(*words, *COMMAND)


def facts(name):
    """Return what a report says, but for times and for what names the experiment."""
    stored = json.loads(deviate("report", name, "--format", "json").out)
    variant = stored["variants"][0]
    metrics = [metric for metric in variant["metrics"] if metric["kind"] not in ("speed", "resource")]
    prints = [run["fingerprints"] for run in variant["runs"]]
    assert metrics
    assert all(prints)
    return metrics, prints, [run["seeds"] for run in variant["runs"]], stored["warnings"]
