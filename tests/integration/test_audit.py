"""``deviate audit`` on programs with planted causes: what varies, what is pinned, by which line or whose default.

Each program of ``audited/`` says what is to be found: ``# pins FACTORS`` stands on the line that pins them,
``# library: FACTOR FILE`` names the library whose default pins one, ``# varies:`` and ``# absent:`` list the others.
"""

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from cli_tool import deviate, tree

from deviate.core.factors import SEEDED

AUDITED = Path(__file__).parent / "audited"

#: Modules that take seconds to import.
HEAVY = {"torch", "keras", "jax", "lightning", "transformers"}

#: Programs with causes that other heavy ones show.
NIGHTLY = {
    "keras_dropout", "keras_initialiser", "keras_seed", "lightning_default", "sampler_default",
    "torch_manual_seed", "trainer_default", "workers_differ", "workers_repeat",
}  # fmt: skip


def programs():
    for path in sorted(AUDITED.glob("*.py")):
        heavy = set(re.findall(r"^(?:import|from) (\w+)", path.read_text(), re.M)) & HEAVY
        missing = [name for name in heavy if importlib.util.find_spec(name) is None]
        marks = [pytest.mark.slow] if heavy else []
        marks += [pytest.mark.nightly] if path.stem in NIGHTLY else []
        marks += [pytest.mark.skip(reason=f"{', '.join(missing)} not installed")] if missing else []
        yield pytest.param(path, id=path.stem, marks=marks)


class Expected:
    """What the comments of a program say."""

    def __init__(self, path):
        text = path.read_text()
        self.varying = self.listed(text, "varies")
        self.absent = self.listed(text, "absent")
        self.libraries = dict(re.findall(r"^# library: (\w+) (\S+)$", text, re.M))
        self.workers = re.search(r"^# workers: (\w+)$", text, re.M)
        self.lines = {}
        for number, line in enumerate(text.splitlines(), 1):
            if found := re.search(r"# pins (.+)$", line):
                for factor in found[1].split():
                    self.lines.setdefault(factor, set()).add(number)

    @staticmethod
    def listed(text, word):
        found = re.search(rf"^# {word}: (.+)$", text, re.M)
        return set(found[1].split()) if found else set()


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("KERAS_BACKEND", os.environ.get("KERAS_BACKEND", "torch"))
    return tmp_path


def audited(project, name, *options):
    shutil.copy(AUDITED / f"{name}.py", project / "train.py")
    return deviate("audit", "--json", *options, "--", sys.executable, "train.py")


def by_factor(done):
    return {each["factor"]: each for each in done.json["factors"]}


@pytest.mark.parametrize("path", list(programs()))
def test_the_planted_cause_is_named(project, path):
    expected = Expected(path)
    done = audited(project, path.stem, "--quick")
    assert done.status == 0, done.out + done.err
    found = by_factor(done)
    assert [each["factor"] for each in done.json["factors"]] == list(SEEDED)
    for factor in expected.varying:
        assert found[factor]["verdict"] == "varies", found[factor]
        assert len(set(found[factor]["fingerprints"])) == 2
    for factor in expected.absent:
        assert found[factor]["verdict"] == "absent", found[factor]
    for factor, lines in expected.lines.items():
        assert found[factor]["verdict"] == "pinned", found[factor]
        assert {(pin["file"], pin["line"], pin["library"]) for pin in found[factor]["pins"]} == {
            ("train.py", line, False) for line in lines
        }
    for factor, file in expected.libraries.items():
        assert found[factor]["verdict"] == "pinned", found[factor]
        assert [pin for pin in found[factor]["pins"] if pin["library"] and pin["file"].startswith(file)], found[factor]
    assert bool(done.json["workers"]) == (expected.workers is not None and expected.workers[1] == "repeat")


@pytest.mark.parametrize("name", ["numpy_seed", "random_state_order", "default_rng_zero", "data_seed"])
def test_every_factor_that_is_there_can_be_held_and_varied_alone(project, name):
    done = audited(project, name)
    assert done.status == 0, done.out + done.err
    for each in done.json["factors"]:
        if each["verdict"] == "absent":
            assert (each["held"], each["moved"], each["leaks"]) == (None, None, [])
        else:
            assert (each["held"], each["moved"], each["leaks"]) == (True, True, []), each
    present = [each["factor"] for each in done.json["factors"] if each["verdict"] != "absent"]
    assert [probe["name"] for probe in done.json["probes"]] == [
        *("as it is", "as it is", "control", "control"),
        *(f"{factor} varied" for factor in present),
    ]


def test_the_table_names_the_line_and_nothing_is_left_in_the_project(project):
    shutil.copy(AUDITED / "numpy_seed.py", project / "train.py")
    before = tree(project)
    done = deviate("audit", "--quick", "--", sys.executable, "train.py")
    assert "layers " not in done.out
    assert len([line for line in done.out.splitlines() if line]) <= 12
    done = deviate("audit", "-v", "--", sys.executable, "train.py")
    assert done.status == 0, done.err
    assert "by numpy.random.seed(7) at train.py:4" in done.out
    assert re.search(r"^initialisation +pinned +(\w{8}) = \1 +held, varied alone$", done.out, re.M)
    assert re.search(r"^stochastic layers +no draw counted$", done.out, re.M)
    assert "no implementation noise" in done.out
    assert max(map(len, done.out.splitlines()[2:])) <= 100
    left = {name: data for name, data in tree(project).items() if name != ".deviate/.gitignore"}
    assert {name: data for name, data in left.items() if not name.startswith(".deviate/lock")} == before


def test_a_program_that_fails_is_a_failed_audit_with_its_last_lines(project):
    (project / "train.py").write_text("import random\nrandom.random()\nraise SystemExit('no data here')\n")
    done = deviate("audit", "--json", "--", sys.executable, "train.py")
    assert done.status == 1
    assert [probe["ended"] for probe in done.json["probes"]] == ["failed", "failed"]
    assert "no data here" in done.json["probes"][0]["reason"]
    assert {each["verdict"] for each in done.json["factors"]} <= {"unknown", "varies"}


def test_a_long_program_is_ended_when_all_has_been_drawn_for(project):
    text = (AUDITED / "numpy_seed.py").read_text().replace("range(4)", "range(100000)")
    (project / "train.py").write_text(text.replace("    print(", "    import time; time.sleep(0.05)\n    print("))
    done = deviate("audit", "--json", "--quick", "--limit", "30", "--", sys.executable, "train.py")
    assert done.status == 0, done.out
    assert {probe["ended"] for probe in done.json["probes"]} == {"all seen"}
    assert by_factor(done)["init"]["verdict"] == "pinned"
    assert by_factor(done)["shuffle"]["verdict"] == "pinned"


INTERRUPTED = """import os, random, time
random.seed(3)
accuracy = random.random()
print("train accuracy:", accuracy)
try:
    time.sleep(60)
except KeyboardInterrupt:
    pass
accuracy = os.urandom(4)[0] / 7
print("test accuracy:", accuracy)
"""


def test_what_a_program_reports_once_a_probe_was_told_to_end_is_not_compared(project):
    (project / "train.py").write_text(INTERRUPTED)
    done = deviate("audit", "--json", "--quick", "--limit", "15", "--", sys.executable, "train.py")
    assert {probe["ended"] for probe in done.json["probes"]} <= {"limit", "all seen"}
    assert (done.json["compared"]["metrics"], done.json["compared"]["equal"]) == (["train accuracy"], True)


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf"])
def test_a_limit_that_is_no_time_is_refused(project, limit):
    (project / "train.py").write_text("")
    done = deviate("audit", f"--limit={limit}", "--", sys.executable, "train.py")
    assert done.status == 2
    assert "--limit" in done.err


def test_without_a_command_there_is_nothing_to_audit(project):
    done = deviate("audit")
    assert (done.status, done.out) == (2, "")
    assert "deviate audit -- python train.py" in done.err
