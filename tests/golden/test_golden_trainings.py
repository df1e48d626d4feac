"""What the commands print that run a training: ``run``, ``audit`` and ``extract --verify``.

The training is a small one in plain Python and is run for real; how long it took, where, when and on which machine is
left out (`cli_output.plain_times`, `cli_output.plain_json`).
"""

import importlib
import os
import sys
from pathlib import Path

import pytest
import workspaces
from cli_output import deviate, page_text, plain_json, plain_times
from golden import check_golden

pytestmark = pytest.mark.slow

#: So that no line is wrapped at another word because a run took longer.
WIDE = 1000

RUN = ("run", "-n", "2", "--vary", "algo+impl", "--vary", "control", "--name", "real")

#: Experiments' commands build on one another: the second makes no run anew, the later ones read what is there.
RUNS = {
    "run/run.txt": (*RUN, "--", "python", "train.py", "3"),
    "run/run.json": (*RUN, "--json", "--", "python", "train.py", "3"),
    "run/failed.txt": ("run", "-n", "1", "--name", "bad", "--", "python", "fails.py"),
    "run/failed.json": ("run", "-n", "1", "--name", "bad", "--json", "--", "python", "fails.py"),
    "run/show.txt": ("show", "real"),
    "run/show.json": ("show", "real", "--json"),
    "run/logs.txt": ("logs", "real", "control-0"),
    "run/list.txt": ("list",),
}

TRIALS = {
    "verify/silent.txt": ("extract", "--verify", "--", "python", "train.py", "3"),
    "verify/silent.json": ("extract", "--verify", "--json", "--", "python", "train.py", "3"),
    "verify/all.txt": ("extract", "--verify", "--", "python", "train.py", "3", "0.5"),
    "verify/failed.txt": ("extract", "--verify", "--", "python", "fails.py"),
    "audit/audit.txt": ("audit", "--", "python", "train.py", "3"),
    "audit/audit.json": ("audit", "--json", "--", "python", "train.py", "3"),
    "audit/quick.txt": ("audit", "--quick", "--", "python", "train.py", "3"),
    "audit/quick.json": ("audit", "--quick", "--json", "--", "python", "train.py", "3"),
    "audit/audit.tex": ("audit", "-o", "audit.tex", "--", "python", "train.py", "3"),
    "audit/audit.md": ("audit", "-o", "audit.md", "--", "python", "train.py", "3"),
    "audit/quick.html.txt": ("audit", "--quick", "-o", "audit.html", "--", "python", "train.py", "3"),
    "audit/failed.md": ("audit", "-o", "audit.md", "--", "python", "fails.py"),
    "audit/failed.txt": ("audit", "--", "python", "fails.py"),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A project with a training only, and this Python as the one that `python` starts."""
    project = tmp_path_factory.mktemp("trained") / "project"
    workspaces.write_training(project)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        patch.delenv("PYTHONHASHSEED", raising=False)
        yield project


@pytest.fixture(scope="module")
def _audited_once():
    """Audit each command once, however many formats show it."""
    probes = importlib.import_module("deviate.probes.audit")
    audit, known = probes.audit, {}

    def once(request, *limits, announce, quick, **options):
        key = (*request.command, quick)
        if key not in known:
            said = []
            known[key] = (audit(request, *limits, announce=said.append, quick=quick, **options), said)
        facts, said = known[key]
        for name in said:
            announce(name)
        return facts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probes, "audit", once)
        yield


def test_run_says_what_it_said(trained):
    outputs = {name: deviate(trained, *words, width=WIDE) for name, words in RUNS.items()}
    for name, text in outputs.items():
        _check(name, text)


@pytest.mark.parametrize("name", TRIALS)
@pytest.mark.usefixtures("_audited_once")
def test_trial_says_what_it_said(trained, name):
    _check(name, deviate(trained, *TRIALS[name], width=WIDE))


def _check(name, text):
    text = page_text(text) if name.endswith(".html.txt") else text
    check_golden(name, plain_json(text) if name.endswith(".json") else plain_times(text))
