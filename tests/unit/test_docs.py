"""The docs say what the program does: commands, configuration keys, files and links.

After an intended change of the command line: ``DEVIATE_DOCS=write pytest tests/unit/test_docs.py``.
"""

import os
import re
from pathlib import Path

import click
import pytest

from deviate.cli.main import COMMANDS, group
from deviate.config import Config, LoopEntry, MetricEntry, SnapshotEntry
from deviate.factors import VARIANTS
from deviate.report.writers.registry import WRITERS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]


def command_page():
    """Return ``docs/commands.md`` as the command line's own help has it."""
    settings = {**group.context_settings, "terminal_width": 100, "max_content_width": 100}
    context = click.Context(group, info_name="deviate", **settings)
    parts = ["# Commands\n", "What `--help` says.\n", block("deviate", group, context)]
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


@pytest.mark.parametrize("struct", [Config, MetricEntry, LoopEntry, SnapshotEntry])
def test_every_configuration_key_is_documented(struct):
    text = (ROOT / "docs" / "configuration.md").read_text()
    missing = [key for key in struct.__struct_fields__ if not re.search(rf"\b{key}\b\]* ?(=|$|\])", text, re.M)]
    assert not missing


def test_every_variant_and_format_is_documented():
    text = (ROOT / "docs" / "how-it-works.md").read_text() + (ROOT / "docs" / "commands.md").read_text()
    assert not [name for name in (*VARIANTS, *WRITERS) if name not in text]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())
    assert not [target for target in targets if not (page.parent / target).exists()]


def test_every_make_target_of_the_readme_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"\bmake ([a-z]+)", (ROOT / "README.md").read_text())) <= targets
