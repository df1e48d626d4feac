"""``deviate certify``: honest repeats verify, single changes do not, and a resumed training is compared.

Each program of ``resumed/`` restores all that it needs; ``# restores KIND NAME`` stands on lines without which
something is lost, and that is to be named.
"""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from cli_tool import TRAIN, deviate

from deviate.api import certify

RESUMED = Path(__file__).parent / "resumed"

#: Sums in as many parts as there are threads, reads a setting, a module, two data files, and a library.
PROGRAM = """\
import json, os, random, sys
import timm
from rates import RATE

random.seed(int(os.environ.get("TRAINING_SEED", "0")))
data = [float(line) for name in ("data.txt", "../far/more.txt") for line in open(name)]
data += [float(line) for line in sys.stdin]
settings = json.load(open("settings.json"))
parts = int(os.environ["OMP_NUM_THREADS"])
step = 2.0 if os.environ.get("JAX_ENABLE_X64") else 1.0
workers = int(os.environ.get("WORKERS", "1"))
epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
weight = random.gauss(0, 1)
for epoch in range(epochs):
    random.shuffle(data)
    sums = [sum((weight * x - 3 * x) * x for x in data[part::parts]) for part in range(parts)]
    weight -= RATE * settings["scale"] * step * (sum(sums) + timm.SHIFT) / (10 * workers)
    loss = sum((weight * x - 3 * x) ** 2 for x in data)
    print(f"epoch {epoch} train loss {loss:.4f}")
"""


def write_library(folder, version, shift):
    (folder / "timm").mkdir(parents=True, exist_ok=True)
    (folder / "timm" / "__init__.py").write_text(f"__version__ = '{version}'\nSHIFT = {shift}\n")


@pytest.fixture
def project(tmp_path, monkeypatch):
    place, far = tmp_path / "project", tmp_path / "far"
    place.mkdir()
    far.mkdir()
    (place / "train.py").write_text(PROGRAM)
    (place / "rates.py").write_text("RATE = 0.3\n")
    (place / "settings.json").write_text('{"scale": 1.0}')
    (place / "data.txt").write_text("".join(f"{number / 10}\n" for number in range(20)))
    (far / "more.txt").write_text("0.7\n0.1\n")
    write_library(tmp_path / "libraries", "1.7.0", 0.0)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "libraries"))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.chdir(place)
    return place


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def certified(*command):
    done = deviate("certify", "-o", "c.json", "--", sys.executable, "train.py", *command)
    assert done.status == 0, done.out + done.err
    return json.loads(Path("c.json").read_text())


# A library gets another length: Python takes what it compiled in the same second for that of a file as long.
#: What is changed, and the beginning of the name of what is another; None: nothing that is known.
CHANGES = {
    "source line": (lambda place, env: edit(place / "train.py", "3 * x) * x", "3.001 * x) * x"), "source train.py"),
    "last bit": (lambda place, env: edit(place / "train.py", "3 * x) * x", "3.0000000000000004 * x) * x"), "source"),
    "imported module": (lambda place, env: edit(place / "rates.py", "0.3", "0.31"), "source rates.py"),
    "setting": (lambda place, env: edit(place / "settings.json", "1.0", "1.1"), "source settings.json"),
    "byte of data": (lambda place, env: edit(place / "data.txt", "0.4", "0.5"), "source data.txt"),
    "byte outside": (lambda place, env: edit(place.parent / "far/more.txt", "7", "8"), "data "),
    "library": (lambda place, env: write_library(place.parent / "libraries", "1.8.0", 0.25), "libraries.timm"),
    "threads": (lambda place, env: env("OMP_NUM_THREADS", "3"), "threads"),
    "precision": (lambda place, env: env("JAX_ENABLE_X64", "1"), "variables.JAX_ENABLE_X64"),
    "seed": (lambda place, env: env("TRAINING_SEED", "1"), None),
    "workers": (lambda place, env: env("WORKERS", "2"), None),
    "library of one version": (lambda place, env: write_library(place.parent / "libraries", "1.7.0", 0.25), None),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_single_change_is_found_and_named(project, monkeypatch, name):
    certified()
    change, first = CHANGES[name]
    change(project, monkeypatch.setenv)
    done = deviate("certify", "--verify", "c.json", "--json")
    assert done.status == 1, done.out + done.err
    other = [*done.json["training"], *done.json["environment"]]
    assert other[0]["name"].startswith(first) if first else not other
    assert done.json["parting"]["metric"] == "train loss"
    assert done.json["parting"]["iteration"] == 0


def test_another_command_is_another_training(project):
    certified()
    longer = deviate("certify", "--verify", "c.json", "--json", "--", sys.executable, "train.py", "4")
    assert (longer.status, longer.json["likeness"]) == (1, "other")
    assert longer.json["parting"]["ended"]
    assert longer.json["training"][0]["name"] == "command"


def test_honest_repeats_verify_here_and_in_a_clone(project, tmp_path, monkeypatch):
    certificate = certified()
    assert certificate["schema"] == 1
    assert list(certificate["files"]) == ["data.txt", "rates.py", "settings.json", "train.py"]
    assert certificate["environment"]["libraries.timm"] == "1.7.0"
    assert {"files", "weights"} & set(certificate["unobserved"]) == {"weights"}
    for _ in range(2):
        done = deviate("certify", "--verify", "c.json")
        assert done.status == 0, done.out + done.err
        assert done.out.startswith("Equal bit by bit: 3 values of 1 metric.")
    # What decides no value may be another.
    (project / "README.md").write_text("notes\n")
    edit(project / "train.py", "import json", "import  json")
    done = deviate("certify", "--verify", "c.json", "--json")
    assert (done.status, done.json["likeness"]) == (0, "equal")
    assert [each["name"] for each in done.json["training"]] == ["source train.py"]
    edit(project / "train.py", "import  json", "import json")
    clone = tmp_path / "clone"
    shutil.copytree(project, clone, ignore=shutil.ignore_patterns(".deviate"))
    monkeypatch.chdir(clone)
    done = deviate("certify", "--verify", "c.json", "--json", "--", sys.executable, "train.py")
    assert done.status == 0, done.out + done.err


def test_a_training_that_does_not_repeat_gets_no_certificate(project):
    edit(project / "train.py", "/ (10 * workers)", "/ (10 * workers) + 1e-3 * (os.getpid() % 1000)")
    before = sorted(project.glob("[!.]*"))
    done = deviate("certify", "--", sys.executable, "train.py")
    assert done.status == 1
    assert "It does not repeat" in done.out
    assert "deviate diverge -- python train.py" in done.err
    assert "train loss in the 1st epoch" in done.out
    assert sorted(project.glob("[!.]*")) == before


def test_the_search_for_the_operation_is_named_where_there_is_one(project, monkeypatch):
    monkeypatch.setattr("deviate.cli.main.COMMANDS", ("certify", "diverge"))
    edit(project / "train.py", "/ (10 * workers)", "/ (10 * workers) + 1e-3 * (os.getpid() % 1000)")
    done = deviate("certify", "--", "python", "train.py")
    assert done.err.endswith("where in the program: deviate diverge -- python train.py\n")


def test_nothing_is_written_of_a_training_that_fails_and_no_certificate_is_replaced_unasked(project):
    edit(project / "train.py", "for epoch", "raise SystemExit(3)\nfor epoch")
    done = deviate("certify", "--", sys.executable, "train.py")
    assert done.status == 1
    assert "No certificate" in done.out
    assert not Path("certificate.json").exists()
    assert deviate("certify").err.startswith("error: no command to certify")
    Path("certificate.json").write_text("{}")
    assert deviate("certify", "--", sys.executable, "train.py").status == 2
    for words in ([], ["-n", "1", "--", "python", "train.py"], ["--verify", "certificate.json"],
                  ["--resume-with", "python train.py", "--", "python", "train.py"],
                  ["--resume-at", "0", "-o", "c.json", "--", "python", "train.py"]):  # fmt: skip
        assert deviate("certify", "-o", "c.json", *words).status == 2


def test_two_certificates_are_compared_and_one_is_a_page(project, monkeypatch):
    certified()
    shutil.move("c.json", "first.json")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    certified()
    assert deviate("certify", "first.json", "first.json").status == 0
    done = deviate("certify", "c.json", "first.json")
    assert done.status == 1
    assert "Different in another environment: threads." in done.out
    page = deviate("certify", "first.json", "-o", "page.md")
    assert page.status == 0
    assert "Switches in force" in Path("page.md").read_text()


# Switches that are tried, and their price

#: Sums numbers in an order that something decides, which one switch mends, or none.
SUMMED = """\
import os, random, threading, time
{before}
weight = 0.0
for epoch in range(2):
    for place, number in enumerate({order}):
        weight += 0.1 * (float(number) - weight) / (1 + place)
    print(f"epoch {{epoch}} train loss {{weight:.6f}}")
"""

RACE = """\
def race(count):
    seen = []
    def work(number):
        time.sleep(0.03 * int.from_bytes(os.urandom(1), "little") / 255)
        seen.append(number)
    threads = [threading.Thread(target=work, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen
"""

CUSTOM = """\
import torch
def custom(numbers):
    return numbers if torch.are_deterministic_algorithms_enabled() else sorted(numbers, key=lambda n: os.urandom(2))
"""

UNSTABLE = {
    "hash order": ("", "set(str(n) for n in range(30))", "PYTHONHASHSEED=0"),
    "threads": (RACE, "race(int(os.environ.get('OMP_NUM_THREADS', '6')))", "OMP_NUM_THREADS=1"),
    "clock seed": ("random.seed(time.time_ns())", "[random.random() for n in range(6)]", None),
    "custom operation": (CUSTOM, "custom(range(30))", "torch.use_deterministic_algorithms(True)"),
}
SLOW = {"custom operation": [pytest.mark.slow, pytest.mark.nightly]}


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, [])) for name in UNSTABLE])
def test_the_switch_that_makes_a_program_repeat_is_named(tmp_path, monkeypatch, name):
    before, order, switch = UNSTABLE[name]
    (tmp_path / "train.py").write_text(SUMMED.format(before=before, order=order))
    monkeypatch.chdir(tmp_path)
    for variable in ("OMP_NUM_THREADS", "PYTHONHASHSEED"):
        monkeypatch.delenv(variable, raising=False)
    done = deviate("certify", "--fix", "--json", "--", sys.executable, "train.py")
    assert done.status == (0 if switch else 1), done.out + done.err
    assert [each["switches"] for each in done.json["mended"]] == ([[switch]] if switch else [])
    assert done.json["held"] == (None if switch else True)


def test_the_price_is_of_pairs_made_in_turn(project):
    (project / "train.py").write_text(TRAIN)
    done = deviate("certify", "--price", "-n", "2", "--json", "--", sys.executable, "train.py")
    assert done.status == 0, done.out + done.err
    assert {"time per run", "processor time", "peak memory"} <= {each["metric"] for each in done.json["prices"]}
    assert all(each["pairs"] == 2 and each["ratio"] > 0 for each in done.json["prices"])
    assert (done.json["may_vary"], done.json["free_repeats"]) == (False, True)
    assert deviate("certify", "--price", "--fix", "--", "python", "train.py").status == 2


def test_a_notebook_gets_the_certificate_or_where_the_runs_part(project):
    assert certify([sys.executable, "train.py"]).certificate.runs == 2
    edit(project / "train.py", "/ (10 * workers)", "/ (10 * workers) + 1e-3 * (os.getpid() % 1000)")
    parted = certify(f"{sys.executable} train.py")
    assert (parted.certificate, parted.parting.metric) == (None, "train loss")


# Resumed trainings


def programs():
    for path in sorted(RESUMED.glob("*.py")):
        lines = path.read_text().splitlines()
        marked = [number for number, line in enumerate(lines) if "# restores" in line]
        marks = [pytest.mark.slow, pytest.mark.nightly] if path.stem.startswith(("jax", "keras", "torch")) else []
        for left_out in [None, *marked]:
            name = "whole" if left_out is None else lines[left_out].split("# restores ")[1]
            yield pytest.param(path, left_out, id=f"{path.stem}-{name}", marks=marks)


def resumed(path, left_out, project, *options):
    lines = path.read_text().splitlines()
    if left_out is not None:
        lines[left_out] = re.match(" *", lines[left_out])[0] + "pass"
    (project / "train.py").write_text("\n".join(lines) + "\n")
    resumer = re.search("# resume with: (.+)", "\n".join(lines))
    more = ["--resume-with", resumer[1].replace("python", sys.executable, 1)] if resumer else []
    return deviate("certify", "--resume-at", "3", *more, *options, "--", sys.executable, "train.py")


@pytest.mark.parametrize(("path", "left_out"), list(programs()))
def test_what_is_not_restored_is_named(tmp_path, monkeypatch, path, left_out):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    for name in ("torch", "lightning", "accelerate", "transformers", "keras", "jax", "optax"):
        if re.search(rf"^(import|from) {name}\b", path.read_text(), re.M):
            pytest.importorskip(name)
    done = resumed(path, left_out, tmp_path, "--json")
    if left_out is None:
        assert (done.status, done.json["lost"]) == (0, []), done.out + done.err
        assert done.json["values"] > 0
        return
    kind, name = path.read_text().splitlines()[left_out].split("# restores ")[1].split()
    assert done.status == 1, done.out + done.err
    assert done.json["parting"] or done.json["weights_differ"]
    assert [(each["kind"], each["name"]) for each in done.json["lost"]] == [(kind, name)]


@pytest.mark.slow
@pytest.mark.nightly
def test_lightning_restores_no_generator(tmp_path, monkeypatch):
    pytest.importorskip("lightning")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    path = tmp_path / "shuffled.py"
    path.write_text((RESUMED / "torch_lightning.py").read_text().replace("shuffle=False", "shuffle=True"))
    done = resumed(path, None, tmp_path, "--json")
    assert done.status == 1
    assert [(each["kind"], each["name"]) for each in done.json["lost"]] == [("generator", "torch")]


def test_what_is_no_resumption_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    words = ["--", sys.executable, "train.py"]
    anew = deviate("certify", "--resume-at", "2", *words)
    assert anew.status == 1
    assert "Not resumed: the command began again at the first epoch." in anew.out
    short = deviate("certify", "--resume-at", "9", *words)
    assert short.status == 1
    assert "its main loop went through 3 epochs" in short.out
    lacking = deviate(
        "certify", "--resume-at", "2", "--resume-with", f"{sys.executable} train.py {{checkpoint}}", *words
    )
    assert lacking.status == 1
    assert "it left no file that looks like a checkpoint" in " ".join(lacking.out.split())


def test_a_program_that_ignores_the_signal_is_not_compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (RESUMED / "seeded_epochs.py").read_text()
    path = tmp_path / "ignoring.py"
    path.write_text(
        text.replace("import random\n", "import random\nimport signal\n\nsignal.signal(15, lambda *_: None)\n")
    )
    done = resumed(path, None, tmp_path)
    assert done.status == 1
    assert "went through in spite of SIGTERM" in " ".join(done.out.split())


def test_the_answer_names_what_was_not_restored_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = RESUMED / "seeded_epochs.py"
    line = next(number for number, text in enumerate(path.read_text().splitlines()) if "restores" in text)
    done = resumed(path, line, tmp_path)
    assert done.status == 1
    assert "Resumed at the 4th epoch, it differs from a training that was not interrupted." in " ".join(
        done.out.split()
    )
    assert "Not restored: variable velocity." in " ".join(done.out.split())
