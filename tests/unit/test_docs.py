"""The docs say what the program does: commands, configuration keys, files and links.

After an intended change of the command line: ``DEVIATE_DOCS=write pytest tests/unit/test_docs.py``.
"""

import json
import os
import re
import runpy
import tomllib
from pathlib import Path
from typing import get_args

import click
import pytest
from tracked import tracked_files

from deviate.api.keywords import CheckKeywords, PlanKeywords, RunKeywords
from deviate.cli.main import COMMANDS, group
from deviate.cli.report import experiment_writers
from deviate.core.experiment import ObservedWish
from deviate.core.factors import FACTORS, VARIANTS
from deviate.source.config import Config, DrawEntry, EvaluateEntry, LoopEntry, MetricEntry, SnapshotEntry
from deviate.stats.contrast import Verdict

ROOT = Path(__file__).parents[2]
BESIDE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*BESIDE, *tracked_files("docs/*.md", "examples/*.md", "benchmarks/*.md")]


#: Above the texts of `--help`.
COMPLETION = """The texts of `--help`. To complete commands, options, names of experiments and metrics, and what
`--vary` takes with the tab key, put one line into the start-up file of your shell:

    eval "$(_DEVIATE_COMPLETE=bash_source deviate)"        # ~/.bashrc
    eval "$(_DEVIATE_COMPLETE=zsh_source deviate)"         # ~/.zshrc
    _DEVIATE_COMPLETE=fish_source deviate | source         # ~/.config/fish/completions/deviate.fish
"""


def command_page():
    """Return ``docs/commands.md`` as the command line's own help has it."""
    settings = {**group.context_settings, "terminal_width": 100, "max_content_width": 100}
    context = click.Context(group, info_name="deviate", **settings)
    parts = ["# Commands\n", COMPLETION, block("deviate", group, context)]
    for name in COMMANDS:
        command = group.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context, terminal_width=100, max_content_width=100)
        parts.append(block(f"deviate {name}", command, inner))
    return "\n".join(parts)


def block(title, command, context):
    return f"## {title}\n\n```\n{command.get_help(context)}\n```\n"


def test_the_page_of_commands_is_their_help():
    path = ROOT / "docs" / "commands.md"
    if os.environ.get("DEVIATE_DOCS") == "write":
        path.write_text(command_page())
    assert path.read_text() == command_page()


def test_every_option_has_help():
    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command.help
        without = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
        assert not without, name


@pytest.mark.parametrize(
    "struct", [Config, MetricEntry, DrawEntry, ObservedWish, LoopEntry, SnapshotEntry, EvaluateEntry]
)
def test_every_configuration_key_is_documented(struct):
    text = (ROOT / "docs" / "configuration.md").read_text()
    missing = [key for key in struct.__struct_fields__ if not re.search(rf"\b{key}\b\]* ?(=|$|\])", text, re.M)]
    assert not missing


def test_every_variant_and_format_is_documented():
    text = (ROOT / "docs" / "how-it-works.md").read_text() + (ROOT / "docs" / "commands.md").read_text()
    assert not [name for name in (*VARIANTS, *experiment_writers(())) if name not in text]


def test_the_glossary_is_sorted_and_names_every_factor_and_verdict():
    text = (ROOT / "docs" / "glossary.md").read_text()
    terms = re.findall(r"^([^\n#:]+)\n: ", text, re.M)
    assert terms == sorted(terms, key=str.lower)
    assert not [name for name in (*FACTORS, *get_args(Verdict)) if f"`{name}`" not in text]


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.search(rf"^version: {re.escape(version)}$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert re.search(rf"^## {re.escape(version)} - ", (ROOT / "CHANGELOG.md").read_text(), re.M)


def test_the_page_of_versions_has_the_table_of_the_last_matrix():
    matrix = ROOT / "benchmarks" / "versions"
    rows = json.loads((matrix / "results.json").read_text())["cells"]
    table = runpy.run_path(str(matrix / "table.py"))["table"](rows)
    path = ROOT / "docs" / "versions.md"
    page = re.sub(
        r"(?<=<!-- table -->\n).*(?=\n<!-- end of table -->)", lambda match: table, path.read_text(), flags=re.S
    )
    if os.environ.get("DEVIATE_DOCS") == "write":
        path.write_text(page)
    assert path.read_text() == page


def test_the_versions_of_python_that_are_claimed_were_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    claimed = {name.rpartition(" ")[2] for name in project["classifiers"] if re.search(r":: 3\.\d+$", name)}
    rows = json.loads((ROOT / "benchmarks" / "versions" / "results.json").read_text())["cells"]
    passed = {
        row["versions"]["python"].rpartition(".")[0]
        for row in rows
        if row["outcome"] == "passed" and row["part"] == "tool"
    }
    # All tests run on the oldest that is supported.
    assert claimed == passed | {project["requires-python"].removeprefix(">=")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())
    assert not [target for target in targets if not (page.parent / target).exists()]


def test_every_simulation_that_the_docs_name_has_its_table_and_script():
    simulations = ROOT / "benchmarks" / "statistics"
    tables = {path.stem: path.read_text(encoding="utf-8") for path in (simulations / "tables").glob("*.md")}
    assert all(f"benchmarks/statistics/{name}.py" in text and "|---" in text for name, text in tables.items())
    assert all((simulations / f"{name}.py").is_file() for name in tables)
    pages = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("statistics.md", "predictions.md"))
    assert not [name for name in tables if f"`{name}`" not in pages]


SHOWN = re.compile(r"<!-- screen: ([\w-]+) -->\n```text\n(.*?)```\n<!-- end of screen -->", re.DOTALL)


def test_pages_show_the_screens_that_were_made():
    shown = [found for page in PAGES for found in SHOWN.findall(page.read_text(encoding="utf-8"))]
    made = {path.stem: path.read_text(encoding="utf-8") for path in tracked_files("docs/screens/*.txt")}
    assert [name for name, text in shown if made.get(name) != text] == []
    assert made.keys() == {name for name, _ in shown}
    marked = [mark for page in PAGES for mark in re.findall("<!-- screen: ", page.read_text(encoding="utf-8"))]
    assert len(marked) == len(shown)


QUESTIONS = re.findall(
    r": (howto/.+)", re.search(r"- Questions:\n(.*?)\n  - ", (ROOT / "mkdocs.yml").read_text(), re.DOTALL)[1]
)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_page_of_a_question_begins_with_its_answer_in_three_lines_and_is_short(name):
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    title, answer, _ = page.split("\n\n", 2)
    assert title.startswith("# ")
    assert len(answer.splitlines()) == 3
    assert len(re.sub("<!-- screen: .*?<!-- end of screen -->", "", page, flags=re.DOTALL).split()) <= 700


def test_every_make_target_of_the_readme_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"\bmake ([a-z]+)", (ROOT / "README.md").read_text())) <= targets


@pytest.mark.parametrize("keywords", [RunKeywords, CheckKeywords, PlanKeywords])
def test_every_keyword_of_a_function_is_listed(keywords):
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    listed = {name for row in re.findall(r"^\| (`.+?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert not keywords.__annotations__.keys() - listed
