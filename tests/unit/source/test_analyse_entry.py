"""The entry script of the commands people type."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from deviate.core.errors import CommandNotFound, EntryNotFound, EntryNotPython, NoScript
from deviate.source.entry import find_entry, find_starts


@pytest.fixture
def folder(tmp_path):
    for name in ("train.py", "pkg/__init__.py", "pkg/mod.py", "pkg/__main__.py", "scripts/other.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    (tmp_path / "run.sh").write_text(
        "#!/bin/bash\nset -e\nexport A=1\nCUDA_VISIBLE_DEVICES=0 python -u \\\n  train.py --lr 0.1\n"
    )
    (tmp_path / "checked.sh").write_text("if python check.py; then :; fi\nnosuch9 python a.py\npython train.py\n")
    (tmp_path / "two.sh").write_text("python train.py\npython scripts/other.py\n")
    (tmp_path / "none.sh").write_text("python $SCRIPT\n")
    (tmp_path / "seeds.sh").write_text(
        "for seed in 1 2; do python train.py --seed $seed; done\ncd scripts && python other.py --fast\n"
    )
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\nprint()\n")
    (tmp_path / "notes.txt").write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python train.py --epochs 3", "train.py"),
        ("python3.11 -u -W ignore -X dev train.py", "train.py"),
        ("/usr/bin/python train.py", "train.py"),
        ("python -m pkg.mod --x 1", "pkg/mod.py"),
        ("python -um pkg.mod", "pkg/mod.py"),
        ("python -m pkg", "pkg/__main__.py"),
        ("torchrun --standalone --nproc_per_node 2 train.py --lr 1", "train.py"),
        ("torchrun --nproc_per_node=2 -m pkg.mod", "pkg/mod.py"),
        ("python -m torch.distributed.run --nnodes 1 --nproc_per_node 2 train.py", "train.py"),
        ("python -m torch.distributed.launch --use_env --nproc_per_node=4 train.py", "train.py"),
        ("accelerate launch --num_processes 2 --multi_gpu train.py", "train.py"),
        ("deepspeed --num_gpus 2 train.py --deepspeed c.json", "train.py"),
        ("horovodrun -np 2 python train.py", "train.py"),
        ("env A=b CUDA_VISIBLE_DEVICES=0 python train.py", "train.py"),
        ("A=b python train.py", "train.py"),
        ("uv run --with torch train.py", "train.py"),
        ("uv run python -m pkg.mod", "pkg/mod.py"),
        ("poetry run python train.py", "train.py"),
        ("conda run -n torch python train.py", "train.py"),
        ("nohup nice -n 5 python train.py", "train.py"),
        ("nohup setsid -w ionice -c 3 prlimit --nofile=64 python train.py", "train.py"),
        ("bash run.sh", "train.py"),
        ("./run.sh", "train.py"),
        ("bash checked.sh", "train.py"),
        ("./tool", "tool"),
        ("bash -c 'cd . && python train.py > log'", "train.py"),
    ],
)
def test_entry_follows_from_the_command(folder, command, expected):
    import shlex

    assert find_entry(shlex.split(command), folder) == (folder / expected).resolve()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("python missing.py", EntryNotFound),
        ("python -m no.such", EntryNotFound),
        ("python -c 'print(1)'", EntryNotFound),
        ("python", EntryNotFound),
        ("ls train", EntryNotFound),
        ("bash none.sh", EntryNotFound),
        ("python notes.txt", EntryNotPython),
        ("python scripts", EntryNotFound),
        ("", EntryNotFound),
    ],
)
def test_what_is_wrong_is_said_with_a_hint(folder, command, problem):
    import shlex

    with pytest.raises(problem) as caught:
        find_entry(shlex.split(command), folder)
    assert "expected" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("pyhton train.py", "did you mean python?"),
        ("nohup pyhton train.py", "did you mean python?"),
        ("torchrn train.py", "without a shell"),
        ("./trian.sh", "nothing is at "),
    ],
)
def test_a_missing_program_is_no_program_without_a_script(folder, monkeypatch, command, hint):
    program = folder / "bin" / "python"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    with pytest.raises(CommandNotFound, match="command not found: ") as caught:
        find_entry(command.split(), folder)
    assert hint in caught.value.hint


def test_entry_named_by_the_user_is_right_whatever_the_command(folder):
    assert find_entry(["make", "train"], folder, "train.py") == (folder / "train.py").resolve()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["bash", "two.sh"], {"train.py": "python train.py", "scripts/other.py": "python scripts/other.py"}),
        (
            ["sh", "-c", "python -m pkg && uv run train.py"],
            {"pkg/__main__.py": "python -m pkg", "train.py": "train.py"},
        ),
        (
            ["bash", "seeds.sh"],
            {"train.py": "python train.py --seed $seed", "scripts/other.py": "python other.py --fast"},
        ),
        (["sh", "-c", "python train.py --lr 1; python train.py --lr 2"], {"train.py": ""}),
    ],
)
def test_each_script_that_a_command_starts_has_the_words_that_start_it(folder, command, expected):
    found = find_starts(command, folder)
    assert {str(s.script.relative_to(folder.resolve())): " ".join(s.command) for s in found} == expected


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_says_itself_which_scripts_a_target_starts(folder):
    (folder / "Makefile").write_text(
        "PY = python\ntrain: data\n\t$(PY) train.py \\\n\t  --lr 1\ndata:\n\t@$(PY) scripts/other.py\n"
    )
    scripts = [start.script.name for start in find_starts(["make", "train"], folder)]
    assert scripts == ["other.py", "train.py"]


def test_a_shell_script_that_starts_python_in_a_way_that_cannot_be_read_says_so(folder):
    with pytest.raises(NoScript) as caught:
        find_starts(["bash", "none.sh"], folder)
    assert caught.value.starts_python


@pytest.mark.parametrize(("first", "starts"), [("#!/usr/bin/python3\n", True), ("#!/bin/cat\n", False)])
def test_an_installed_program_starts_python_where_its_first_line_says_so(folder, monkeypatch, first, starts):
    program = folder / "bin" / "conduct"
    program.parent.mkdir()
    program.write_text(first)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    with pytest.raises(NoScript) as caught:
        find_starts(["conduct", "train.ipynb"], folder)
    assert caught.value.starts_python is starts


def test_an_installed_module_is_started_and_not_read(folder):
    with pytest.raises(NoScript) as caught:
        find_starts([sys.executable, "-m", "pytest", "--version"], folder)
    assert caught.value.starts_python
    with pytest.raises(EntryNotFound) as caught:
        find_starts([sys.executable, "-m", "pytestt"], folder)
    assert not isinstance(caught.value, NoScript)


INSTALLED = {
    "pyproject.toml": '[project.scripts]\nkit-train = "kit.cli:train"\n',
    "poetry": '[tool.poetry.scripts]\nkit-train = "kit.cli:train"\n',
    "setup.cfg": "[options.entry_points]\nconsole_scripts =\n  kit-train = kit.cli:train\n  other = gone:main\n",
    "setup.py": "setup(entry_points={'console_scripts': ['kit-train = kit.cli:train']})\n",
}


@pytest.mark.parametrize("command", ["kit-train --lr 1", "uv run kit-train --lr 1", "poetry run kit-train"])
@pytest.mark.parametrize("declared", INSTALLED)
def test_a_program_that_the_project_installs_is_the_file_of_its_function(folder, command, declared):
    (folder / ("pyproject.toml" if declared == "poetry" else declared)).write_text(INSTALLED[declared])
    (folder / "src" / "kit").mkdir(parents=True)
    (folder / "src" / "kit" / "cli.py").write_text("def train(): ...")
    (start,) = find_starts(command.split(), folder)
    assert start.script == folder / "src" / "kit" / "cli.py"
    assert start.command == command.split()[command.split().index("kit-train") :]


@pytest.mark.parametrize(
    "text", ["not = [toml", '[project]\nscripts = "x"\n', '[project.scripts]\nkit-train = "gone:main"\n']
)
def test_a_program_that_no_file_declares_is_only_a_program(folder, text):
    (folder / "pyproject.toml").write_text(text)
    with pytest.raises(CommandNotFound):
        find_starts(["kit-train"], folder)
