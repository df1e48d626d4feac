"""Every line that says how to install can be typed: Deviate itself is on no index, so it comes from a clone."""

import ast
import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tracked import ROOT, tracked_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = [path for path in tracked_files("*.md") if path.name != "CHANGELOG.md"]

#: `pip install`, up to what ends a command in a page, a message or a workflow.
INSTALL = re.compile(r"pip install +((?:'[^'\n]*'|\"[^\"\n]*\"|[^\s`|&;#'\"]+| +(?=\S))+)")
#: Options whose value is the word behind them.
VALUED = ("-r", "--requirement", "-c", "--constraint", "--target")
REQUIREMENT = re.compile(r"(?P<name>[^\[\]<>=!~;]+)(?:\[(?P<extras>[^\]]*)\])?")


def install_lines(text):
    return [match[1].strip() for match in INSTALL.finditer(text)]


def wrong_words(line):
    """Return the words of an install line that cannot be installed, each with the reason."""
    words = shlex.split(line)
    options = [index for index, word in enumerate(words) if word.startswith("-")]
    values = {index + 1 for index in options if words[index] in VALUED}
    wanted = [word for index, word in enumerate(words) if index not in values and index not in options]
    return [f"{word}: {reason}" for word in wanted if (reason := wrong(word))]


def wrong(word):
    match = REQUIREMENT.match(word)
    extras = {extra.strip() for extra in (match["extras"] or "").split(",")} - {""}
    if re.sub(r"[-_.]+", "-", match["name"]).lower() == PROJECT["name"]:
        return "it is on no index"
    if not word.startswith((".", "/")):
        return ""
    # `./deviate` is a clone of this repository beside the project, as the page of the gate makes one.
    if match["name"] not in (".", "./deviate"):
        return "no clone is there"
    unknown = extras - PROJECT["optional-dependencies"].keys()
    return f"there is no extra {sorted(unknown)}" if unknown else ""


def messages():
    """Yield the texts of the package's modules, docstrings left out: hints are typed as well."""
    sources = ((path, path.read_text(encoding="utf-8")) for path in tracked_files("src/deviate/*.py"))
    # To parse all of them takes seconds.
    for path, source in ((path, source) for path, source in sources if "pip" in source and "install" in source):
        yield from (
            (path, node.value)
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "pip install" in node.value
        )


def test_the_readme_and_the_page_of_installing_say_how():
    for page in ("README.md", "docs/howto/install.md", "docs/tutorial.md"):
        assert any(shlex.split(line)[0].startswith(".") for line in install_lines((ROOT / page).read_text())), page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_install_lines_of_a_page_work_in_a_clone(page):
    assert [wrong_words(line) for line in install_lines(page.read_text(encoding="utf-8")) if wrong_words(line)] == []


def test_the_install_lines_of_messages_work_in_a_clone():
    found = [(path.name, line) for path, text in messages() for line in install_lines(text) if wrong_words(line)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("    pip install 'deviate-dl[all]'", True),
        ("`python -m pip install --upgrade Deviate_DL` into", True),
        ("    pip install '.[everything]'", True),
        ("- run: pip install ./elsewhere -r requirements.txt", True),
        ("    pip install '.[all]'       # in the folder", False),
        ("type git pull && pip install '.[all]'", False),
        ('    pip install -c constraints.txt -e ".[examples,frameworks]"        # above', False),
        ("- run: pip install ./deviate -r requirements.txt", False),
        ("by `pip install nvidia-ml-py` or", False),
    ],
)
def test_a_line_that_cannot_be_typed_is_found(text, wrong):
    (line,) = install_lines(text)
    assert bool(wrong_words(line)) == wrong


@pytest.mark.slow
def test_the_readmes_line_installs_deviate(tmp_path):
    """Without what Deviate needs, and built by what is here: no index is asked."""
    if not importlib.util.find_spec("hatchling"):
        pytest.skip("hatchling is not installed")
    line = next(one for one in install_lines((ROOT / "README.md").read_text()) if one.strip("'\"").startswith("."))
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(tmp_path)]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *alone, *shlex.split(line)]
    installed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    # Of an extra that there is not pip only warns.
    assert "does not provide the extra" not in installed.stdout + installed.stderr
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import deviate; print(deviate.__file__)"
    printed = subprocess.run([sys.executable, "-c", program], cwd="/", capture_output=True, text=True, check=True)
    assert Path(printed.stdout.strip()).is_relative_to(tmp_path)
