"""A signal ends a command, at whatever moment: by the signal, with no traceback, and with nothing left behind."""

import os
import signal
import subprocess
import sys

import pytest
from compared_sides import write_experiment

#: On PYTHONPATH: sends a signal when a module is first imported, and swallows what comes of it, as libraries do.
HOOK = """
import importlib.abc, os, sys, time

class Press(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "{module}" and self in sys.meta_path:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), {number})
                time.sleep(0.01)
            except BaseException:
                pass

sys.meta_path.insert(0, Press())
"""


def ended(words, folder, **variables):
    """Run Python; return how it ended."""
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("module", ["click", "deviate.cli.list", "numpy"])
def test_while_it_imports(tmp_path, number, module):
    (tmp_path / "sitecustomize.py").write_text(HOOK.format(module=module, number=int(number)))
    words = ["audit", "--", "true"] if module == "numpy" else ["list", "--json"]
    done = ended(["-m", "deviate", *words], tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (-number, "", "")
    assert [path.name for path in tmp_path.iterdir()] in (["sitecustomize.py"], ["sitecustomize.py", "__pycache__"])


def test_what_is_ignored_stays_ignored(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HOOK.format(module="click", number=int(signal.SIGINT)))
    command = f"trap '' INT; exec {sys.executable} -m deviate --version"
    done = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_worker_while_it_imports(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HOOK.format(module="msgspec", number=int(signal.SIGINT)))
    program = "from deviate.__main__ import worker; worker()"
    done = ended(["-c", program, "none-0"], tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


@pytest.mark.parametrize(
    ("words", "status"),
    [(["list"], 0), (["check", "b", "--against", "a", "--metric", "test acc", "--max-drop", "0.5"], 1)],
)
def test_who_reads_goes_away(tmp_path, words, status):
    write_experiment(tmp_path, "a", {"test acc": [90.0, 91.0, 92.0, 90.5]})
    write_experiment(tmp_path, "b", {"test acc": [50.0, 51.0, 52.0, 50.5]})
    reads, writes = os.pipe()
    os.close(reads)
    for form in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "deviate", *words, *form], cwd=tmp_path, stdout=writes, stderr=subprocess.PIPE
        )
        # The answer of a gate is its status, whoever reads the rest.
        assert (done.returncode, done.stderr) == (status, b"")
    os.close(writes)


def test_an_audit_that_is_stopped_before_its_first_probe_derives_nothing(tmp_path, monkeypatch):
    from deviate.probes import audit as probes
    from deviate.probes import trial
    from deviate.runs.request import Request

    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("for epoch in range(3):\n    print('loss', 1 / (1 + epoch))\n")
    prepare = trial.Trials.prepare

    def stopped(trials, *given, **options):
        trials.stop.ask(signal.SIGTERM)
        return prepare(trials, *given, **options)

    monkeypatch.setattr(trial.Trials, "prepare", stopped)
    with pytest.raises(KeyboardInterrupt):
        probes.audit(Request(command=[sys.executable, "train.py"]))
    assert not list((tmp_path / ".deviate").glob("**/audit*"))
