"""What every writer owes: it knows every kind of block, says all of it, and no text breaks it."""

import ast
import re
from pathlib import Path

import block_pages as pages
import jinja2
import pytest

from deviate.report import writers
from deviate.report.page import Page, Section
from deviate.report.writers.html import every_block, render_html
from deviate.report.writers.latex import render_latex
from deviate.report.writers.markdown import render_markdown
from deviate.report.writers.notebook import render_notebook
from deviate.report.writers.terminal import render_terminal

WRITERS = {
    "terminal": render_terminal,
    "markdown": render_markdown,
    "latex": render_latex,
    "html": render_html,
    "notebook": render_notebook,
}

EVERY = pytest.mark.parametrize("render", WRITERS.values(), ids=WRITERS)

#: What a summary in a notebook leaves out.
IN_FULL = pytest.mark.parametrize(
    "render",
    [render for name, render in WRITERS.items() if name != "notebook"],
    ids=[name for name in WRITERS if name != "notebook"],
)


def test_the_page_of_these_tests_has_every_kind_of_block():
    found = {type(block).__name__ for section in pages.page().sections for block in every_block(section.blocks)}
    assert found == pages.KINDS


@EVERY
def test_no_writer_takes_what_is_no_block(render):
    with pytest.raises((TypeError, jinja2.UndefinedError)):
        render(Page(title="x", reader="full", sections=[Section(slug="x", blocks=[object()])]))


@EVERY
@pytest.mark.parametrize("block", pages.blocks(), ids=lambda block: type(block).__name__)
def test_every_block_can_stand_alone(render, block):
    text = render(Page(title="x", reader="full", sections=[Section(slug="x", blocks=[block])]))
    assert text


@EVERY
def test_a_page_of_nothing_is_a_page(render):
    assert render(Page(title="", reader="brief", sections=[])) is not None
    assert "Nothing" not in render(
        Page(title="x", reader="brief", sections=[Section(slug="x", title="Nothing", blocks=[])])
    )


@IN_FULL
def test_every_number_and_sentence_is_in_every_format(render):
    text = re.sub(r"<[^>]*>|[{}$*]", "", render(pages.page()).replace("--", "–"))
    for each in ("96.94", "0.34–1.05", "0.086", "Second follows from it.", "and more", "boom", "By the way.", "Beware"):
        assert each in text
    assert text.index("96.94") < text.index("Second follows") < text.index("By the way.") < text.index("0.34–1.05")


def test_a_notebook_has_answers_and_tables_and_counts_the_remarks():
    text = render_notebook(pages.page())
    for each in (
        "96.94",
        "0.34–1.05",
        "0.086",
        "Second follows from it.",
        "1 warning and 1 note: deviate report digits",
    ):
        assert each in text
    assert "boom" not in text
    assert "Beware" not in text


@EVERY
def test_texts_of_users_break_nothing(render):
    text = render(pages.page(pages.HOSTILE))
    text.encode("utf-8")
    assert not re.search("[\x00\x1b\u2028\u202e\u202c\udc80-\udcff]", text)


@EVERY
def test_a_name_of_sixty_characters_is_whole(render):
    name = pages.LONG
    text = re.sub(r"<[^>]*>|\\|\s", "", render(pages.page(name)))
    assert name in text


#: What writers may use of the rest: the page, text and pictures; nothing of what a page is about.
TEXTS = ("drawing", "escape", "figures", "numbers", "page", "strips", "words")
USED = ("core.errors", "store.files", "report.writers", *(f"report.{name}" for name in TEXTS))

#: They write facts, and so know them.
FACTS = re.compile(r"contracts|tables_csv|gate_junit|tracked")


def test_no_writer_knows_what_a_page_is_about():
    folder = Path(writers.__file__).parent
    for path in [path for path in folder.rglob("*.py") if not FACTS.fullmatch(path.stem)]:
        modules = [node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        ours = [module.removeprefix("deviate.") for module in modules if module.startswith("deviate.")]
        strangers = [each for each in ours if not each.startswith(USED)]
        assert not strangers, path
