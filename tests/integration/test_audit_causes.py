"""``deviate audit`` on what no generator decides: each planted cause is named by its line, and nothing else is.

In each program of ``audited/causes``, ``# cause: KIND [FILES]`` stands on the lines where its only cause enters. Those
of ``audited/clean`` have none, though they look as if they had: ``# varies:`` and ``# pinned:`` list their factors.
"""

import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest
from cli_tool import deviate
from factor_runs import FULL

AUDITED = Path(__file__).parent / "audited"

#: Causes by which runs of the program do not differ here; and those that Deviate does not hold.
ELSEWHERE = {"files", "leftovers"}
NOT_HELD = {"clock", "entropy", "threads", "unknown"}

#: Programs of which another one shows as much.
NIGHTLY = {"file_order_path", "hash_of_text", "read_weights", "threads_pool"}

#: One that is only looked at as it is: nothing is drawn in it that could be held, and each probe imports PyTorch.
QUICK = {"constant_init"}


def programs(folder):
    for path in sorted((AUDITED / folder).glob("*.py")):
        torch = "import torch" in path.read_text()
        missing = torch and importlib.util.find_spec("torch") is None
        marks = [pytest.mark.slow] if torch else []
        marks += [pytest.mark.nightly] if path.stem in NIGHTLY else []
        marks += [pytest.mark.skip(reason="torch is not installed")] if missing else []
        yield pytest.param(path, id=path.stem, marks=marks)


@pytest.fixture
def project(tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in ("PYTHONPATH", "PYTHONHASHSEED"):
        monkeypatch.delenv(name, raising=False)
    return project


def audited(project, path, *options):
    shutil.copy(path, project / "train.py")
    return deviate("audit", "--json", *options, "--", sys.executable, "train.py")


def options_of(path):
    return ["--quick"] if path.stem in QUICK and not FULL else []


def planted(path):
    """Return the kind of a program's cause, the lines it enters at, and the files that have to do with it."""
    lines, kinds, files = [], set(), []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := re.search(r"# cause: (\w+) ?(.*)$", line):
            lines.append(number)
            kinds.add(found[1])
            files += found[2].split()
    (kind,) = kinds
    return kind, [] if kind == "unknown" else lines, files


@pytest.mark.parametrize("path", list(programs("causes")))
def test_a_cause_that_is_not_drawn_is_named_with_its_line(project, path):
    kind, lines, files = planted(path)
    done = audited(project, path)
    (cause,) = done.json["causes"]
    assert cause["kind"] == kind
    assert [line["line"] for line in cause["lines"]] == lines
    assert {line["file"] for line in cause["lines"]} <= {"train.py"}
    # What memory that was not filled holds is up to the machine: the runs may differ here, or only elsewhere.
    assert kind == "memory" or cause["here"] == (kind not in ELSEWHERE)
    assert cause["held"] == (kind not in NOT_HELD)
    assert (cause["difference"]["metric"], cause["files"]) == ("loss", files)
    assert done.status == int(kind in NOT_HELD)


@pytest.mark.parametrize("path", list(programs("clean")))
def test_nothing_is_wrong_with_a_program_that_only_looks_so(project, path):
    done = audited(project, path, *options_of(path))
    assert done.status == 0, done.out
    assert done.json["causes"] == []
    assert [factor for factor in done.json["factors"] if factor["leaks"] or factor["held"] is False] == []
    text = path.read_text()
    for verdict in ("varies", "pinned"):
        wanted = re.search(rf"^# {verdict}: (.+)$", text, re.M)
        found = {each["factor"] for each in done.json["factors"] if each["verdict"] == verdict}
        assert found == set(wanted[1].split() if wanted else ()), verdict


def test_without_more_probes_the_lines_are_suspected(project):
    done = audited(project, AUDITED / "causes" / "hash_order.py", "--quick")
    (cause,) = done.json["causes"]
    assert (cause["kind"], cause["tried"], [line["line"] for line in cause["lines"]]) == ("unknown", False, [7])
    assert len(done.json["probes"]) == 2


def test_a_seed_read_off_the_clock_is_named(project):
    done = audited(project, AUDITED / "clock_seed.py", "--quick")
    data = next(factor for factor in done.json["factors"] if factor["factor"] == "data")
    assert data["why"].startswith("numpy.random.default_rng at train.py:7 is given another seed in each run: ")


def test_the_page_says_what_values_differ_by(project):
    shutil.copy(AUDITED / "causes" / "clock_value.py", project / "train.py")
    deviate("audit", "-o", "audit.md", "--", sys.executable, "train.py")
    page = (project / "audit.md").read_text()
    assert "Values differ between runs by the time (`time.time()` at train.py:7)." in page
    assert "Deviate cannot hold, or cannot vary alone: the time (" in page


def test_values_that_are_not_recorded_are_not_compared_and_that_is_said(project):
    (project / "train.py").write_text("print('done')\n")
    done = deviate("audit", "--json", "--quick", "--", sys.executable, "train.py")
    assert (done.status, done.json["compared"]["equal"]) == (3, None)
    assert done.json["compared"]["why"] == "no metric was recorded"
