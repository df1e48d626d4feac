"""Packages that stand above the project: the project itself, started from the folder above it, and its repository."""

from __future__ import annotations

import textwrap

import pytest
from analysed_projects import HEAD, STEP, analyse

TRAINS = (
    HEAD + "def train():\n    for epoch in range(3):\n        for x, y in loader:\n"
    + textwrap.indent(STEP.strip(), " " * 12) + "\n            print('loss', loss.item())\n"
)  # fmt: skip
ASSUMED = "that the entry reaches it is assumed"


@pytest.mark.parametrize("folder", ["kit", "owner+kit", "kit-main"])
def test_the_project_is_the_package_that_it_is_called_like(tmp_path, folder):
    files = {"jobs__train": "from kit.parts import work\nwork.train()\n", "parts__work": TRAINS}
    findings = analyse(tmp_path / folder, entry="jobs/train.py", **files)
    assert findings.main_loop.file == "parts/work.py"
    assert ASSUMED not in findings.main_loop.why
    assert [metric.name for metric in findings.metrics if metric.selected] == ["loss"]


def test_a_library_is_not_the_project_that_is_called_like_it(tmp_path):
    files = {"train": "from torch.parts import work\nfor epoch in range(3):\n    print(work.loss())\n"}
    findings = analyse(tmp_path / "torch", **files, parts__work=TRAINS)
    assert findings.files == ["train.py"]


def test_a_folder_of_a_package_is_read_as_a_part_of_it(tmp_path):
    findings = analyse(tmp_path / "kit" / "jobs", train="from kit.jobs.work import train\ntrain()\n", work=TRAINS)
    assert findings.main_loop.file == "work.py"


def test_where_nothing_trains_the_repository_is_searched(tmp_path):
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "kit").mkdir()
    work = tmp_path / "kit" / "work.py"
    work.write_text(TRAINS)
    findings = analyse(tmp_path / "run", train="from kit.work import train\ntrain()\n")
    assert findings.main_loop.file == work.as_posix()
    assert ASSUMED in findings.main_loop.why
    assert all(ASSUMED in metric.why and metric.confidence < 0.75 for metric in findings.metrics)


def test_where_nothing_trains_the_end_of_a_dotted_name_is_enough(tmp_path):
    files = {"train": "from company.kit.parts.work import train\ntrain()\n", "parts__work": TRAINS}
    findings = analyse(tmp_path, **files)
    assert (findings.main_loop.file, ASSUMED in findings.main_loop.why) == ("parts/work.py", True)


def test_what_trains_is_not_looked_for_again(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "further.py").write_text("def report(x):\n    print('accuracy', x.mean())\n")
    findings = analyse(tmp_path, train="from company.kit.parts.further import report\n" + TRAINS + "train()\n")
    assert findings.files == ["train.py"]


def test_where_nothing_trains_the_functions_of_the_entry_are_assumed_to_run(tmp_path):
    findings = analyse(tmp_path, train="from work import train\ndef main():\n    train()\n", work=TRAINS)
    assert (findings.main_loop.file, ASSUMED in findings.main_loop.why) == ("work.py", True)


def test_a_script_of_another_purpose_is_not_assumed_to_train(tmp_path):
    text = "import sys, work\nsys.modules['work'].train()\n"
    findings = analyse(tmp_path, entry="evaluate.py", evaluate=text, work=TRAINS)
    assert findings.main_loop is None


def test_where_nothing_trains_modules_that_do_are_assumed_to_run(tmp_path):
    findings = analyse(tmp_path, train="import sys, work\nsys.modules['work'].train()\n", work=TRAINS)
    assert (findings.main_loop.file, ASSUMED in findings.main_loop.why) == ("work.py", True)


def test_a_distribution_that_lies_in_the_project_is_read_where_it_is_installed(tmp_path):
    (tmp_path / "kit").mkdir()
    train = "from kit import work\nfor epoch in range(3):\n    work.train()\n"
    files = {"train": train, "kit__kit____init__": "", "kit__kit__work": TRAINS}
    assert analyse(tmp_path, **files).files == ["train.py"]
    (tmp_path / "kit" / "setup.py").write_text("")
    assert "kit/kit/work.py" in analyse(tmp_path, **files).files


def test_where_nothing_trains_folders_beside_that_of_the_entry_are_searched(tmp_path):
    files = {"src__bin__train": "from work import train\ntrain()\n", "src__work__work": TRAINS}
    assert analyse(tmp_path, entry="src/bin/train.py", **files).main_loop.file == "src/work/work.py"
    findings = analyse(tmp_path, entry="src/bin/train.py", **files, src__other__work=TRAINS)
    assert findings.main_loop is None


def test_the_package_that_the_repository_is_installed_as_is_read_where_the_project_is_a_folder_of_it(tmp_path):
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "__init__.py").write_text("")
    shown = "def report(loss):\n    gap = (loss * 2).item()\n    print('gap %.3f' % gap)\n"
    (tmp_path / "kit" / "shown.py").write_text(shown)
    train = HEAD + "from kit.shown import report\nfor epoch in range(3):\n    for x, y in loader:\n"
    train += textwrap.indent(STEP.strip(), " " * 8) + "\n        report(loss)\n"
    findings = analyse(tmp_path / "jobs", train=train)
    assert [metric.name for metric in findings.metrics if metric.selected] == ["gap"]


@pytest.mark.parametrize("home", ["$PWD/..", "${HERE}"])
def test_folders_that_a_script_puts_on_the_search_path_are_searched(tmp_path, home):
    files = {"bin__train": "from work import train\ntrain()\n", "parts__work__work": TRAINS, "parts__work__other": ""}
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "path.sh").write_text(f"HERE=$PWD/..\nexport PYTHONPATH={home}/parts/work:$PYTHONPATH\n")
    findings = analyse(tmp_path, entry="bin/train.py", **files)
    assert findings.main_loop.file == "parts/work/work.py"
    assert ASSUMED not in findings.main_loop.why


def test_where_nothing_trains_what_configurations_name_in_any_words_is_read(tmp_path):
    train = "import importlib\ndef start(path):\n    module, _, name = path.rpartition('.')\n"
    train += "    getattr(importlib.import_module(module), name)()\nstart(open('run.txt').read())\n"
    (tmp_path / "conf.yaml").write_text("run: solve parts.work.train\n")
    findings = analyse(tmp_path, train=train, parts__work=TRAINS)
    assert findings.main_loop.file == "parts/work.py"
